// The boards of the lattice tasks: where they start and what they should become.
#pragma once

#include <cstdint>

#include "base/pattern.hpp"
#include "models/lattice/lattice_objective.hpp"

namespace espalier {

// All 512 boards of 3 x 3; the target is one step of Conway's rule.
LatticeData life_data(const RolloutOptions& rollout, std::uint64_t seed);
// Every channel of every cell a fair coin; the target is squares of 2 x 2 in channel 0.
LatticeData checkerboard_data(const RolloutOptions& rollout, int channels, std::uint64_t seed);
// One start: all 0, or all channels 1 in the cell at (seed_row, seed_column) when that is not negative.
LatticeData pattern_data(const RolloutOptions& rollout, int channels, const Pattern& target, int seed_row,
                         int seed_column);

// One step of Conway's rule on a periodic board.
bool conway(const BitBoards& boards, int sample, int y, int x);
inline bool checker(int y, int x) { return (y / 2 + x / 2) % 2 == 1; }

// The two published targets, as in data/targets.
const char* lizard_target();
const char* letter_target();

}  // namespace espalier
