// Hardening: every gate becomes the likeliest one, and reads the likeliest of its candidates.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "espalier/gate_network.hpp"
#include "espalier/netlist.hpp"

namespace espalier {

// The gate of every sixteen logits, or four.
std::vector<Gate> likeliest_gates(std::span<const float> logits,
                                  Parametrisation parametrisation = Parametrisation::kGates);
// The layers with fixed wires: of every pin the candidate with the largest logit, the first of equals. wires: the
// network's logits of wires.
std::vector<Wiring> likeliest_wiring(const GateNetwork& network, std::span<const float> wires);
// An Error unless they are so many, aligned as in an AlignedVector.
void check_logits(std::string_view op, std::span<const float> logits, int gates, Parametrisation parametrisation,
                  int wires = 0);

// Evaluates one copy of a network symbolically: add(gate, a, b) makes the value of a gate out of those it reads.
// gates: of all copies, in the order of the parameters. layers: with the wires that are chosen.
template <class Value, class Add>
std::vector<Value> append_gates(const GateNetwork& network, std::span<const Gate> gates, std::span<const Wiring> layers,
                                int copy, std::vector<Value> values, Add add) {
  for (int l = 0; l < static_cast<int>(layers.size()); ++l) {
    const Wiring& w = layers[static_cast<std::size_t>(l)];
    const Gate* gate = &gates[static_cast<std::size_t>(network.gate_number(copy, l, 0))];
    std::vector<Value> next(w.a.size());
    for (std::size_t g = 0; g < next.size(); ++g) next[g] = add(gate[g], values[w.a[g]], values[w.b[g]]);
    values = std::move(next);
  }
  return values;
}

}  // namespace espalier
