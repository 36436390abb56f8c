// Two levels of gates over only two nets are one gate: (a AND NOT b) OR (NOT a AND b) is XOR, a AND (a OR b) is a.
#include <array>

#include "espalier/simplify.hpp"

namespace espalier {
namespace {

// An operand as a function of two nets u, v.
struct View {
  std::array<Net, 2> nets{kNoNet, kNoNet};
  int count = 0;
  bool add(Net net) {
    if (count > 0 && nets[0] == net) return true;
    if (count > 1 && nets[1] == net) return true;
    if (count == 2) return false;
    nets[static_cast<std::size_t>(count++)] = net;
    return true;
  }
};

}  // namespace

Netlist collapse_pairs(const Netlist& netlist) {
  Netlist result = netlist;  // gates keep their places; only what they read may change
  for (std::size_t g = 0; g < result.gates.size(); ++g) {
    NetlistGate& gate = result.gates[g];
    if (!reads_a(gate.gate) || !reads_b(gate.gate) || (result.is_input(gate.a) && result.is_input(gate.b))) continue;
    // Each operand is seen either as itself or through its own gate.
    for (int through = 1; through < 4; ++through) {
      View view;
      const auto open = [&](Net net, bool deep) {
        if (!deep) return view.add(net);
        if (result.is_input(net)) return false;
        const NetlistGate& inner = result.gate_of_net(net);
        return !is_constant(inner.gate) && view.add(inner.a) && view.add(inner.b);
      };
      const bool deep_a = through & 1, deep_b = through & 2;
      if (!open(gate.a, deep_a) || !open(gate.b, deep_b)) continue;
      const Net u = view.nets[0], v = view.count == 2 ? view.nets[1] : u;
      const auto value = [&](Net net, bool deep, bool at_u, bool at_v) {
        const auto leaf = [&](Net x) { return x == u ? at_u : at_v; };
        if (!deep) return leaf(net);
        const NetlistGate& inner = result.gate_of_net(net);
        return gate_value(inner.gate, leaf(inner.a), leaf(inner.b));
      };
      const auto whole = [&](bool at_u, bool at_v) {
        return gate_value(gate.gate, value(gate.a, deep_a, at_u, at_v), value(gate.b, deep_b, at_u, at_v));
      };
      Gate merged = gate_of_values(whole(false, false), whole(false, true), whole(true, false), whole(true, true));
      if (u == v) merged = merge_inputs(merged);
      gate = {merged, u, v};
      if (is_constant(merged)) gate.a = gate.b = 0;
      break;
    }
  }
  return result;
}

}  // namespace espalier
