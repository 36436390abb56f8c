// The wires of a training step out of their logits: the softmax over each pin's candidates, and back.
#pragma once

#include "espalier/thread_pool.hpp"
#include "logic/layer_plan.hpp"

namespace espalier {

// Of one layer; nothing where its wires are fixed. Arrays are those of the whole network: logits, probabilities and
// gradients of logits in the order of the parameters, weights and their gradients in that of the plans.
// p = softmax(logits / temperature); weights are p, or with `straight` 1 for the likeliest and 0 for all others.
void choose_wires(const WirePlan& plan, const float* logits, float inverse_temperature, bool straight, float* p,
                  float* weights, const ThreadPool& pool);
// dlogits += p (dw - sum p dw) / temperature.
void choose_wires_backward(const WirePlan& plan, const float* p, const float* dweights, float inverse_temperature,
                           float* dlogits, const ThreadPool& pool);

}  // namespace espalier
