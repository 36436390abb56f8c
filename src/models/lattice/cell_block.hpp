// One step of one block of 32 cells: forward, and the gradients of that step. Both are pure: they read the
// gates and a grid and write only what they are handed, so calling them twice gives the same bits.
//
// Grids are planes [C][geometry.plane()]. The gradient of a block goes out as contributions to its patch
// places, planes [9][C][geometry.plane()]; whoever needs the gradient of a cell's state gathers the nine that
// it appears in, in ascending order, so that every value has one writer.
#pragma once

#include "espalier/aligned.hpp"
#include "models/lattice/geometry.hpp"
#include "models/lattice/soft_gates.hpp"

namespace espalier {

// Working memory of one block: the activations of its cells. Recomputed in the backward pass, never stored.
struct CellScratch {
  CellScratch(const SoftGates& gates);
  int group_channels;              // channels perceived together, so that their rows stay in L1
  AlignedVector<float> patch;      // group by group: [9][channels][32]
  AlignedVector<float> perceived;  // group by group: room for all gates of all perception kernels
  AlignedVector<float> dpatch;     // of one group
  AlignedVector<float> update;     // [update inputs + all update gates][32]
  AlignedVector<float> spare[2];   // [widest update layer or input][32], or what the perception of a group needs
  AlignedVector<float> dout;       // [C][32], for the caller: what cell_block_gather fills
};

// next = step(grid) for the cells of `block`. fire: [32] of 0 or 1, or null when every cell fires.
void cell_block_forward(const SoftGates& gates, const Geometry& geometry, int block, const float* grid,
                        const float* fire, CellScratch& scratch, float* next);

// dout: [C][32], the gradient of the block's next state. Writes the block's dpatch contributions and adds to
// dc [gates][4].
void cell_block_backward(const SoftGates& gates, const Geometry& geometry, int block, const float* grid,
                         const float* fire, const float* dout, CellScratch& scratch, float* dpatch, float* dc);

// dstate: [C][32] = sum over the nine places of the contributions to the block's cells; eight spare floats follow it.
void cell_block_gather(const Geometry& geometry, int channels, int block, const float* dpatch, float* dstate);

}  // namespace espalier
