// Claims about what a model has learned, put to the prover with the model's own circuit, boundary, start and target.
#pragma once

#include <string>

#include "models/lattice/lattice_model.hpp"
#include "synth/board_proof.hpp"

namespace espalier {

struct ModelClaim {
  enum class Kind { kConverges, kFixed, kPeriod, kEquals, kHeals };
  Kind kind = Kind::kConverges;
  int height = 0, width = 0;  // 0: the size on which the model is looked at; kFixed and kPeriod: every size
  int steps = 0;              // 0: those of the training
  int period = 1;
  std::string rule = {};                    // as "B3/S23"; empty: the one that was learned
  int damage_height = 4, damage_width = 4;  // kHeals
  int round = 2;                            // of asynchronous models: BoardSystem::round
};

// A synchronous model's circuit, boundary and shown channels; an asynchronous one's with the round, too.
BoardSystem board_system(const LatticeModel& model, int round);
Board start_board(const LatticeModel& model, int height, int width, std::uint64_t seed);

BoardProof prove(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options);

}  // namespace espalier
