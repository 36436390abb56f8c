// Keeps the gates that some output depends on, in their order.
#include "espalier/simplify.hpp"

namespace espalier {

Netlist remove_dead(const Netlist& netlist) {
  const std::vector<bool> live = live_nets(netlist);
  Netlist result = without_gates(netlist);
  std::vector<Net> moved(netlist.nets() + 1);
  for (Net net = 0; net < netlist.inputs.size(); ++net) moved[net] = net;
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const NetlistGate& gate = netlist.gates[g];
    const Net own = netlist.net_of_gate(g);
    if (live[own]) moved[own] = result.add_gate(gate.gate, moved[gate.a], moved[gate.b]);
  }
  for (NetlistOutput& output : result.outputs) output.net = moved[output.net];
  return result;
}

}  // namespace espalier
