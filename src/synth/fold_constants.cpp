// Constants flow forward: a gate that sees one shrinks to a function of its other input.
#include "espalier/simplify.hpp"

namespace espalier {

Netlist fold_constants(const Netlist& netlist) {
  Netlist result = without_gates(netlist);
  result.gates.reserve(netlist.gates.size());
  enum Known : std::uint8_t { kZero, kOne, kUnknown };
  std::vector<Known> known(netlist.nets(), kUnknown);
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    auto [gate, a, b] = netlist.gates[g];
    if (!is_constant(gate)) {
      if (known[a] != kUnknown) {
        gate = fix_a(gate, known[a] == kOne);
        a = b;
        if (known[b] != kUnknown) gate = fix_a(gate, known[b] == kOne);
      } else if (known[b] != kUnknown) {
        gate = fix_b(gate, known[b] == kOne);
      } else if (a == b) {
        gate = merge_inputs(gate);
      }
    }
    if (is_constant(gate)) known[netlist.net_of_gate(g)] = gate == Gate::kTrue ? kOne : kZero;
    result.add_gate(gate, a, b);
  }
  return result;
}

}  // namespace espalier
