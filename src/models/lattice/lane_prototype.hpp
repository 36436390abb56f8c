// The obvious fast automaton, as a yardstick for the kernels: cells in lanes of 64, four coefficients per gate,
// activations recomputed in the backward pass, loops over lanes left to the compiler. One thread, synchronous.
#pragma once

#include <span>
#include <vector>

#include "espalier/logic_automaton.hpp"

namespace espalier::reference {

class LanePrototype {
 public:
  // coefficients: [gates][4] in the order of the parameters.
  LanePrototype(const Automaton& automaton, const RolloutOptions& options, std::vector<float> coefficients);

  // One rollout and its back-propagation: returns the loss and adds to dc, [gates][4].
  //   initial: [batch][C][H][W]   target: [batch][loss_channels][H][W]
  double step(std::span<const float> initial, std::span<const float> target, int loss_channels, std::vector<float>& dc);

 private:
  struct Block;  // activations of 64 cells

  float* grid(int t) { return &grids_[static_cast<std::size_t>(t) * channels_ * cells_]; }
  void forward(const float* grid, int first, Block& block) const;
  void backward(int first, const float* dnext, Block& block, float* dgrid, float* dc) const;

  Automaton automaton_;
  RolloutOptions options_;
  std::vector<float> coefficients_;
  int channels_, cells_;
  std::vector<int> neighbour_;  // [9][cells], -1 outside
  std::vector<float> grids_;    // [T+1][C][cells]
};

}  // namespace espalier::reference
