// One layer of soft gates whose pins choose among candidates: a pin's value is the mean of its candidates' values by
// their weights. Forward the two means of a gate stay in registers; backward they are made again, the gradients of all
// pins are kept, and then input row after input row is given its own, by which it is replaced.
// Rows, vector widths and running sums as in gate_kernels.hpp. Weights and their gradients are in the order of
// WirePlan.
#pragma once

#include <cstddef>

#include "logic/layer_plan.hpp"

namespace espalier {

//   coefficients: [outputs][4]   weights: [plan.wires.weights]   in: [inputs][lanes]   out: [outputs][lanes]
void wire_layer_forward(const LayerPlan& plan, const float* coefficients, const float* weights, int lanes,
                        const float* in, float* out);

// Adds to dc as gate_layer_backward, and to dweights the sums of (gradient of the pin) x (value of the candidate).
// Writes the gradients of the inputs to din, which may be `in`; adds to what is there if `add`.
//   dout: [outputs][lanes]   pins: scratch, [2 outputs][lanes]
void wire_layer_backward(const LayerPlan& plan, const float* coefficients, const float* weights, int lanes,
                         const float* in, const float* dout, float* pins, float* din, bool add, float* dc,
                         float* dweights);

// x = e^x.
void exp_in_place(float* x, std::size_t count);

}  // namespace espalier
