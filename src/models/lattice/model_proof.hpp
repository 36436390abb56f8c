// Claims about what a model has learned, put to the prover with the model's own circuit, boundary, start and target.
#pragma once

#include <string>

#include "models/lattice/lattice_model.hpp"
#include "synth/board_proof.hpp"
#include "synth/channels.hpp"

namespace espalier {

struct ModelClaim {
  enum class Kind { kConverges, kFixed, kPeriod, kEquals, kHeals };
  Kind kind = Kind::kConverges;
  int height = 0, width = 0;  // 0: the size on which the model is looked at; kFixed and kPeriod: every size
  int steps = 0;              // 0: those of the training
  int period = 1;
  std::string rule = {};                    // as "B3/S23"; empty: the one that was learned
  int damage_height = 4, damage_width = 4;  // kHeals
  bool asynchronous = false;                // under every schedule, also if it was not trained so
  int round = 2;                            // asynchronous: BoardSystem::round
};

// A synchronous model's circuit, boundary and shown channels; an asynchronous one's with the round, too.
BoardSystem board_system(const LatticeModel& model, int round);
Board start_board(const LatticeModel& model, int height, int width, std::uint64_t seed);

// What is left of the simplified cell when only what is shown counts: from every start, or with `from_start` also what
// holds from the task's start on (from noise: after the first step).
ChannelReport across_steps(const LatticeModel& model, const Netlist& simplified, bool from_start);

BoardProof prove(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options);

}  // namespace espalier
