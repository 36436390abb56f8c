// One step of one block of 32 cells: forward, and the gradients of that step. Both are pure: they read coefficients
// and a grid and write only what they are handed, so calling them twice gives the same bits.
//
// Grids are planes [C][geometry.plane()]. The gradient of a block goes out as contributions to its patch places,
// planes [9][C][geometry.plane()]; whoever needs the gradient of a cell's state gathers the nine that it appears in, in
// ascending order, so that every value has one writer.
#pragma once

#include <span>

#include "espalier/logic_automaton.hpp"
#include "espalier/thread_pool.hpp"
#include "models/lattice/geometry.hpp"
#include "models/lattice/perception.hpp"

namespace espalier {

// Working memory of one block: the activations of its cells. Recomputed in the backward pass, never stored.
struct BlockScratch {
  explicit BlockScratch(const Automaton& automaton);
  int group_channels;              // channels perceived together, so that their rows stay in L1
  AlignedVector<float> patch;      // group by group: [9][channels][32]
  AlignedVector<float> perceived;  // group by group: room for all gates of all perception kernels
  AlignedVector<float> dpatch;     // of one group
  AlignedVector<float> update;     // [update inputs + all update gates][32]
  AlignedVector<float> work;       // scratch of the update network, or of the perception of a group
  AlignedVector<float> dout;       // [C][32], for the caller: what gather() fills
};

class BlockStep {
 public:
  BlockStep(const Automaton& automaton, const Geometry& geometry);

  // Coefficients and their gradients: [gates][4], those of perception first, each in evaluation order, then those of
  // wires.
  // next = step(grid) for the cells of a block.
  void forward(std::span<const float> coefficients, const Geometry::Block& cells, const float* grid, BlockScratch& s,
               float* next) const;
  // dout: [C][32], the gradient of the block's next state. Writes the block's dpatch contributions and adds to dc.
  void backward(std::span<const float> coefficients, const Geometry::Block& cells, const float* grid, const float* dout,
                BlockScratch& s, float* dpatch, std::span<float> dc) const;
  // Cells that do not fire: next = grid, and their gradient goes straight on.
  void forward_still(const Geometry::Block& cells, const float* grid, BlockScratch& s, float* next) const;
  void backward_still(const Geometry::Block& cells, const float* dout, float* dpatch) const;
  // dstate: [C][32] = sum over the nine places of the contributions to the block's cells; eight floats of padding
  // follow it.
  void gather(const Geometry::Block& cells, const float* dpatch, float* dstate) const;

 private:
  struct Group;  // of channels
  template <class Visit>
  void each_group(const BlockScratch& s, Visit visit) const;
  template <class Perceive>
  void perceive(const Geometry::Block& cells, const float* grid, BlockScratch& s, Perceive perceive) const;

  Automaton automaton_;
  const Geometry& geometry_;
  Perception perception_;
};

}  // namespace espalier
