// Is what a rule leaves unexplained noise, or something that it does not see?
#pragma once

#include <string>
#include <vector>

#include "models/lattice/board_cases.hpp"

namespace espalier {

// How often cells fall under an entry of a rule's table, and how often their target is another one.
struct EntryNoise {
  double times = 0, wrong = 0;
  double rate() const { return times > 0 ? wrong / times : 0; }
  double variance() const { return rate() * (1 - rate()); }
};
// `entry[i]`: the entry of the rule's table that case i falls under; `wrong[i]`: whether its target is another one.
std::vector<EntryNoise> noise_of_entries(const BoardCases& cases, const std::vector<std::uint32_t>& entry,
                                         const std::vector<bool>& wrong);

struct NoiseVerdict {
  bool noise = false;
  std::string judged_by;  // in words
  std::string why_not;    // in words
};

// By what the nine cells tell.
NoiseVerdict judge_misfit(const BoardCases& cases, const std::vector<std::uint32_t>& entry,
                          const std::vector<bool>& wrong);

}  // namespace espalier
