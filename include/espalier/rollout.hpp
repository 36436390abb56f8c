// T steps of a batch of grids, and back-propagation through them. Memory grows with (steps x grid): only the
// grids are kept, activations are recomputed. Blocks of cells of all samples run in parallel; the gradients of
// the gates go into slots fixed by the problem and are summed in a fixed tree.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/scratch.hpp"
#include "base/wavefront.hpp"
#include "espalier/parameters.hpp"
#include "models/lattice/cell_block.hpp"

namespace espalier {

struct RolloutShape {
  int batch = 1, height = 1, width = 1, steps = 1;
  float fire_rate = 1;  // probability that a cell takes its new state in a step; 1 = synchronous
};

// Fails, with what is wrong, before anything is allocated or drawn.
void check_rollout(const RolloutShape& shape, int channels);

class Rollout {
 public:
  Rollout(const SoftGates& gates, const RolloutShape& shape);

  const RolloutShape& shape() const { return shape_; }
  const Geometry& geometry() const { return geometry_; }

  // initial: [batch][C][H][W]. `fire_seed` and `fire_step` key the asynchronous updates.
  void forward(std::span<const float> initial, std::uint64_t fire_seed, std::uint32_t fire_step,
               const ThreadPool& pool);
  // The state after step t (0 = initial), [batch][C][H][W].
  std::vector<float> state(int t) const;

  // Sum over batch, cells and the first `loss_channels` channels of (y - target)^2 at the last step;
  // target: [batch][loss_channels][H][W]. Fixed order. Keeps the gradient for backward().
  double loss(std::span<const float> target, int loss_channels, const ThreadPool& pool);
  // Adds the gradients of all gates over all steps to dc: [gates][4].
  void backward(std::span<float> dc, const ThreadPool& pool);
  // After backward(): gradient of the initial state, [batch][C][H][W].
  std::vector<float> initial_gradient() const;
  // Of grids, masks and gradients; the working memory of blocks comes on top, once for each worker.
  std::size_t bytes() const {
    return sizeof(float) * (states_.size() + fire_.size() + dfinal_.size() + dpatch_[0].size() + dpatch_[1].size());
  }

 private:
  std::size_t state_size() const { return static_cast<std::size_t>(channels_) * geometry_.plane(); }
  float* grid(int t) { return states_.data() + static_cast<std::size_t>(t) * state_size(); }
  const float* fire(int t, int block) const {
    return fire_.empty() ? nullptr : &fire_[(static_cast<std::size_t>(t) * geometry_.blocks() + block) * kBlockCells];
  }

  // visit(block) for the blocks of a chunk.
  template <class Visit>
  void each_block(std::size_t chunk, Visit visit) const;

  const SoftGates& gates_;
  RolloutShape shape_;
  int channels_;
  Geometry geometry_;
  double block_ns_;                 // rough cost of one block's step
  AlignedVector<float> states_;     // [T+1][C][plane]
  AlignedVector<float> fire_;       // [T][blocks][32], empty when synchronous
  AlignedVector<float> dfinal_;     // [C][plane]: gradient of the last state
  AlignedVector<float> dpatch_[2];  // [9][C][plane], of this step and the one after
  std::size_t blocks_per_slot_;
  Wavefront wavefront_;  // a chunk is the blocks of a slot
  GradientSlots slots_;
  ScratchPool<CellScratch> scratch_;
};

}  // namespace espalier
