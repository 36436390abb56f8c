// What the perception kernels see in the patches of some channels, layer by layer, forward and backward.
// (Forward, kernels of the usual shapes are trees, and faster so: perceive_tree.hpp.)
#pragma once

#include <cstddef>
#include <vector>

#include "espalier/lattice/automaton.hpp"
#include "espalier/logic/layer_plan.hpp"

namespace espalier {

struct PerceiveLayers {
  std::vector<LayerPlan> plans;
  int gates = 0;  // of one kernel

  int outputs() const { return plans.back().outputs; }
};

PerceiveLayers perceive_layers(const Automaton& automaton);

// Floats of working memory for so many channels at once.
std::size_t perceive_layers_scratch(const PerceiveLayers& layers, int channels);

// Cells in lanes, kBlockCells a channel; coefficients and dc in plan order, kernel by kernel.
//   patch: [9][channels][cells]   rows: [channels][outputs][kernels][cells]
void perceive_layers_forward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                             const float* patch, float* rows, float* scratch);
// Adds to dpatch and to dc: [kernels][gates][4].
void perceive_layers_backward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                              const float* patch, const float* drows, float* dpatch, float* dc, float* scratch);

}  // namespace espalier
