// A gate A or B hands an input through: its readers may as well read that input.
#include "espalier/simplify.hpp"

namespace espalier {

Netlist bypass_wires(const Netlist& netlist) {
  Netlist result = without_gates(netlist);
  std::vector<Net> moved(netlist.nets() + 1);
  for (Net net = 0; net < netlist.inputs.size(); ++net) moved[net] = net;
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    moved[netlist.net_of_gate(g)] = gate == Gate::kA   ? moved[a]
                                    : gate == Gate::kB ? moved[b]
                                                       : result.add_gate(gate, moved[a], moved[b]);
  }
  for (NetlistOutput& output : result.outputs) output.net = moved[output.net];
  return result;
}

}  // namespace espalier
