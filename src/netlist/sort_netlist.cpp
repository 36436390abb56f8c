// Depth-first topological sort with an explicit stack: circuits may be deeper than the machine's.
#include <fmt/format.h>

#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "netlist/gate_algebra.hpp"

namespace espalier {

Netlist sort_netlist(const Netlist& unsorted, const std::string& what, bool only_live,
                     const std::function<std::string(std::size_t gate)>& place) {
  Netlist sorted = without_gates(unsorted);
  enum State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(unsorted.nets(), kNew);
  std::vector<Net> moved(unsorted.nets() + 1), stack;
  for (Net net = 0; net < unsorted.inputs.size(); ++net) {
    moved[net] = net;
    state[net] = kDone;
  }
  const auto need = [&](Net reader, Net net) {
    if (state[net] == kNew) stack.push_back(net);
    if (state[net] == kOpen) {
      const std::size_t gate = reader - unsorted.inputs.size();
      fail(what, fmt::format("a cycle through {}", place ? place(gate) : fmt::format("gate {}", gate)),
           "a combinational circuit", "break the loop; latches are not supported");
    }
  };
  const auto finish = [&](Net root) {
    stack.assign(1, root);
    while (!stack.empty()) {
      const Net net = stack.back();
      if (state[net] == kDone) {
        stack.pop_back();
        continue;
      }
      const auto& [gate, a, b] = unsorted.gate_of_net(net);
      if (state[net] == kNew) {
        state[net] = kOpen;
        if (reads_b(gate)) need(net, b);
        if (reads_a(gate)) need(net, a);
      } else {
        state[net] = kDone;
        moved[net] = sorted.add_gate(gate, moved[a], moved[b]);
      }
    }
  };
  if (!only_live)
    for (std::size_t g = 0; g < unsorted.gates.size(); ++g) finish(unsorted.net_of_gate(g));
  for (NetlistOutput& output : sorted.outputs) {
    if (state[output.net] != kDone) finish(output.net);
    output.net = moved[output.net];
  }
  return sorted;
}

}  // namespace espalier
