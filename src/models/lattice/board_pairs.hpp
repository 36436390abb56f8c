// Pairs of boards in a NumPy .npz: what automata learn from, and are evaluated on.
#pragma once

#include <string>

#include "espalier/lattice_model.hpp"

namespace espalier {

// The arrays start and target, [N, H, W] or [N, H, W, C] of 0 and 1, as many and of the same size.
BoardPairs read_board_pairs(const std::string& path);

// How a model does on pairs of boards; the channels beyond those of the starts begin as 0. `steps`: of the rollout
// between them. Nothing is said of whether the boards are new to it.
struct PairScore {
  double score = 0, wrong_per_board = 0;
  std::size_t boards = 0, exact = 0;
};
PairScore score_pairs(const LatticeModel& model, const BoardPairs& pairs, int steps, const ThreadPool& pool);

}  // namespace espalier
