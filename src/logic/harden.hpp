// Hardening: every gate becomes the one with its largest logit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "espalier/gate_network.hpp"
#include "espalier/netlist.hpp"

namespace espalier {

// The gate of every sixteen logits.
std::vector<Gate> likeliest_gates(std::span<const float> logits);

// Evaluates one copy of a network symbolically: add(gate, a, b) makes the value of a gate out of those it reads.
// gates: of all copies, in the order of the parameters.
template <class Value, class Add>
std::vector<Value> append_gates(const GateNetwork& network, std::span<const Gate> gates, int copy,
                                std::vector<Value> values, Add add) {
  for (int l = 0; l < static_cast<int>(network.layers().size()); ++l) {
    const Wiring& w = network.layers()[l];
    const Gate* gate = &gates[static_cast<std::size_t>(network.gate_number(copy, l, 0))];
    std::vector<Value> next(w.a.size());
    for (std::size_t g = 0; g < next.size(); ++g) next[g] = add(gate[g], values[w.a[g]], values[w.b[g]]);
    values = std::move(next);
  }
  return values;
}

// Makes a netlist without its idle gates: wires are followed and constants folded as gates are added, gates that no
// output needs are left out at the end. Much quicker than simplification, and all that an evaluation while training
// needs.
class FoldingBuilder {
 public:
  // Constants, then inputs, then gates that are left.
  using Value = std::int32_t;
  static constexpr Value kFalse = 0, kTrue = 1;

  explicit FoldingBuilder(std::size_t inputs) : first_gate_(2 + static_cast<Value>(inputs)) {}

  static Value input(Net net) { return 2 + static_cast<Value>(net); }
  Value add(Gate gate, Value a, Value b);
  // Fills the netlist, which has its inputs but no gates, and adds an output per value, named by its number. Outputs
  // that are constant read a constant gate, the only kind of gate here that does nothing.
  void finish(std::span<const Value> outputs, const std::string& output_name, Netlist& netlist) const;

 private:
  Value unary(bool at_zero, bool at_one, Value v);
  Value push(Gate gate, Value a, Value b);

  struct FoldedGate {
    Gate gate;
    Value a, b;
  };
  Value first_gate_;
  std::vector<FoldedGate> gates_;  // value first_gate_ + i is the result of gates_[i]
};

}  // namespace espalier
