// Is what a rule leaves unexplained noise, or something that it does not see?
#pragma once

#include <string>

#include "models/lattice/board_cases.hpp"

namespace espalier {

struct NoiseVerdict {
  bool noise = false;
  std::string judged_by;  // in words
  std::string why_not;    // in words
};

// `entry[i]`: the entry of the rule's table that case i falls under; `wrong[i]`: whether its target is another one.
NoiseVerdict judge_misfit(const BoardCases& cases, const std::vector<std::uint32_t>& entry,
                          const std::vector<bool>& wrong);

}  // namespace espalier
