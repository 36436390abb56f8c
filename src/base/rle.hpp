// Patterns of cellular automata in the run-length encoding that Golly and the LifeWiki use:
//   #N Glider
//   x = 3, y = 3, rule = B3/S23
//   bob$2bo$3o!
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct RlePattern {
  int height = 0, width = 0;        // at most kMaxPatternSide (base/pattern.hpp) each
  std::vector<std::uint8_t> cells;  // [row][column], 0 or 1
  std::string rule;                 // as in the file, e.g. "B3/S23"; empty if it names none

  bool operator==(const RlePattern&) const = default;
};

// Errors name `what` and the line. Size and rule come from the header line, which must be there; a living cell outside
// the size, a letter that is not a state, a state beyond 1 (there are rules of many) or a text without the closing ! is
// refused. Comments are skipped, but #r names the rule where the header does not.
RlePattern parse_rle(std::string_view text, std::string_view what);
// Whether the text begins as such a pattern does: comments, then a line "x = 3, ...".
bool is_rle(std::string_view text);

}  // namespace espalier
