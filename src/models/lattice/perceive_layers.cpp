#include "models/lattice/perceive_layers.hpp"

#include <algorithm>
#include <cstring>

#include "logic/gate_kernels.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;

// All layers of one kernel, one after the other in `values`; returns the rows of the last.
float* kernel_forward(const PerceiveLayers& layers, const float* coefficients, int lanes, const float* patch,
                      float* values) {
  const float* in = patch;
  for (const LayerPlan& plan : layers.plans) {
    gate_layer_forward(plan, coefficients, lanes, in, values);
    in = values;
    coefficients += 4 * static_cast<std::ptrdiff_t>(plan.outputs);
    values += static_cast<std::ptrdiff_t>(plan.outputs) * lanes;
  }
  return values - static_cast<std::ptrdiff_t>(layers.outputs()) * lanes;
}

// The values turn into gradients, down from those of the last layer, which are already there. The patch is left to the
// other kernels: its gradient is summed over all.
void kernel_backward(const PerceiveLayers& layers, const float* coefficients, int lanes, const float* patch,
                     float* values, float* spare, float* dpatch, float* dc) {
  std::ptrdiff_t gate = layers.gates;
  for (std::size_t l = layers.plans.size(); l-- > 0;) {
    const LayerPlan& plan = layers.plans[l];
    gate -= plan.outputs;
    const float* dout = values + gate * lanes;
    if (l == 0)
      gate_layer_backward_adding(plan, coefficients + 4 * gate, lanes, patch, dout, dpatch, dc + 4 * gate);
    else
      gate_layer_backward(plan, coefficients + 4 * gate, lanes, values + (gate - plan.inputs) * lanes, dout, spare,
                          dc + 4 * gate);
  }
}

// Calls visit(channel row of the kernel's last layer, row among all perceived).
template <class Visit>
void each_output(const PerceiveLayers& layers, int kernels, int kernel, int channels, Visit visit) {
  for (int c = 0; c < channels; ++c)
    for (int o = 0; o < layers.outputs(); ++o)
      visit(static_cast<std::ptrdiff_t>(o * channels + c) * L,
            static_cast<std::ptrdiff_t>((c * layers.outputs() + o) * kernels + kernel) * L);
}

}  // namespace

PerceiveLayers perceive_layers(const Automaton& automaton) {
  PerceiveLayers layers;
  for (const Wiring& wiring : automaton.perceive()) {
    layers.plans.push_back(plan_layer(wiring));
    layers.gates += wiring.outputs();
  }
  return layers;
}

void perceive_layers_forward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                             const float* patch, float* values, float* rows) {
  for (int k = 0; k < kernels; ++k) {
    const float* last = kernel_forward(layers, coefficients, channels * L, patch, values);
    each_output(layers, kernels, k, channels, [&](std::ptrdiff_t own, std::ptrdiff_t row) {
      std::memcpy(rows + row, last + own, sizeof(float) * L);
    });
    coefficients += 4 * static_cast<std::ptrdiff_t>(layers.gates);
    values += static_cast<std::ptrdiff_t>(layers.gates) * channels * L;
  }
}

void perceive_layers_backward(const PerceiveLayers& layers, int kernels, const float* coefficients, int channels,
                              const float* patch, float* values, const float* drows, float* spare, float* dpatch,
                              float* dc) {
  const int lanes = channels * L;
  for (int k = 0; k < kernels; ++k) {
    float* last = values + static_cast<std::ptrdiff_t>(layers.gates - layers.outputs()) * lanes;
    each_output(layers, kernels, k, channels, [&](std::ptrdiff_t own, std::ptrdiff_t row) {
      std::memcpy(last + own, drows + row, sizeof(float) * L);
    });
    kernel_backward(layers, coefficients, lanes, patch, values, spare, dpatch, dc);
    coefficients += 4 * static_cast<std::ptrdiff_t>(layers.gates);
    values += static_cast<std::ptrdiff_t>(layers.gates) * lanes;
    dc += 4 * static_cast<std::ptrdiff_t>(layers.gates);
  }
}

int perceive_spare_rows(const PerceiveLayers& layers) {
  std::size_t rows = 2;  // what a tree needs
  for (std::size_t l = 1; l < layers.plans.size(); ++l) rows = std::max(rows, layers.plans[l].shared_rows.size());
  return static_cast<int>(rows);
}

}  // namespace espalier
