// One layer of soft gates over many lanes (cells, or cells x channels), forward and backward.
// Values are rows of `lanes` floats; coefficients and their gradients are in plan order.
// Highway chooses the vector width at run time; sums over lanes are made of eight running sums on every width,
// so all widths with fused multiply-add give the same bits.
#pragma once

#include "logic/layer_plan.hpp"

namespace espalier {

// Lanes come in whole multiples of this.
inline constexpr int kLaneGroup = 8;

// out[gate][lane] = c0 + c1 a + c2 b + c3 ab
//   coefficients: [outputs][4]   in: [inputs][lanes]   out: [outputs][lanes]
void gate_layer_forward(const LayerPlan& plan, const float* coefficients, int lanes, const float* in, float* out);

// Turns the values of the inputs into their gradients, row by row while they are at hand.
// dc += (sum g, sum ga, sum gb, sum gab).
//   values: [inputs][lanes]   dout: [outputs][lanes]   dc: [outputs][4]   scratch: [shared rows][lanes]
void gate_layer_backward(const LayerPlan& plan, const float* coefficients, int lanes, float* values, const float* dout,
                         float* scratch, float* dc);

// The same for inputs that others read as well: `in` stays, and din is added to.
void gate_layer_backward_adding(const LayerPlan& plan, const float* coefficients, int lanes, const float* in,
                                const float* dout, float* din, float* dc);

}  // namespace espalier
