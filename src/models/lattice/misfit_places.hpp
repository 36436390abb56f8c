// What the cells that a rule gets wrong have in common beyond the nine cells that it sees. Noise strikes each by
// itself, wherever it is and whatever lies further away.
#pragma once

#include <string>
#include <vector>

#include "models/lattice/board_cases.hpp"

namespace espalier {

// In words; empty when they look like noise. `entry` and `wrong` as for judge_misfit().
std::string misfit_depends_on(const IdentifyData& data, const BoardCases& cases,
                              const std::vector<std::uint32_t>& entry, const std::vector<bool>& wrong);

}  // namespace espalier
