#include "espalier/lattice/perceive_layers.hpp"

#include <cstring>

#include "espalier/lattice/geometry.hpp"
#include "espalier/logic/gate_kernels.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;

// The patch gradient of a channel is summed over kernels: the first layer adds to its input gradient.
LayerPlan accumulating(const LayerPlan& plan) {
  LayerPlan result;
  result.inputs = plan.inputs;
  result.outputs = plan.outputs;
  result.a = plan.a;
  result.b = plan.b;
  result.gate = plan.gate;
  return result;  // no chains, no pairs: all strays, no row is cleared
}

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

// dvalues: room like that of the values, with the gradient of the last layer in its place.
void kernel_backward(const PerceiveLayers& layers, const float* coefficients, int lanes, const float* patch,
                     const float* values, float* dvalues, float* dpatch, float* dc) {
  std::ptrdiff_t gate = layers.gates;
  for (std::size_t l = layers.plans.size(); l-- > 0;) {
    gate -= layers.plans[l].outputs;
    const std::ptrdiff_t below = l ? (gate - layers.plans[l - 1].outputs) * lanes : 0;
    gate_layer_backward(layers.plans[l], coefficients + 4 * gate, lanes, l ? values + below : patch,
                        dvalues + gate * lanes, l ? dvalues + below : dpatch, dc + 4 * gate);
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
    const LayerPlan plan = plan_layer(wiring);
    layers.plans.push_back(layers.plans.empty() ? accumulating(plan) : plan);
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
                              const float* patch, const float* values, const float* drows, float* dvalues,
                              float* dpatch, float* dc) {
  const int lanes = channels * L;
  float* dlast = dvalues + static_cast<std::ptrdiff_t>(layers.gates - layers.outputs()) * lanes;
  for (int k = 0; k < kernels; ++k) {
    each_output(layers, kernels, k, channels, [&](std::ptrdiff_t own, std::ptrdiff_t row) {
      std::memcpy(dlast + own, drows + row, sizeof(float) * L);
    });
    kernel_backward(layers, coefficients, lanes, patch, values, dvalues, dpatch, dc);
    coefficients += 4 * static_cast<std::ptrdiff_t>(layers.gates);
    values += static_cast<std::ptrdiff_t>(layers.gates) * lanes;
    dc += 4 * static_cast<std::ptrdiff_t>(layers.gates);
  }
}

}  // namespace espalier
