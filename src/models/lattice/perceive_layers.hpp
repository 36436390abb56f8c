// What the perception kernels see in the patches of some channels, layer by layer, forward and backward.
// (Kernels of the usual shapes are trees, and faster so: perceive_tree.hpp.)
#pragma once

#include <cstddef>
#include <vector>

#include "espalier/automaton.hpp"
#include "logic/layer_plan.hpp"

namespace espalier {

struct PerceiveLayers {
  std::vector<LayerPlan> plans;
  int gates = 0;  // of one kernel

  int outputs() const { return plans.back().outputs; }
};

PerceiveLayers perceive_layers(const Automaton& automaton);

// Cells in lanes, kBlockCells a channel; coefficients and dc in plan order, kernel by kernel.
//   patch: [9][channels][cells]   values: [kernels][gates][channels][cells]   rows: [channels][outputs][kernels][cells]
void perceive_layers_forward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                             const float* patch, float* values, float* rows);
// Adds to dpatch and to dc: [kernels][gates][4]; spoils the values. spare: [perceive_spare_rows][channels][cells], to
// work in.
void perceive_layers_backward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                              const float* patch, float* values, const float* drows, float* spare, float* dpatch,
                              float* dc);
int perceive_spare_rows(const PerceiveLayers& layers);

}  // namespace espalier
