#include "espalier/netlist.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "netlist/gate_algebra.hpp"
#include "synth/export_names.hpp"

namespace espalier {

Net Netlist::add_input(std::string input_name) {
  if (!gates.empty()) fail("netlist", "input \"" + input_name + "\" after a gate", "all inputs before the first gate");
  inputs.push_back(std::move(input_name));
  return static_cast<Net>(inputs.size() - 1);
}

Net Netlist::add_gate(Gate gate, Net a, Net b) {
  const Net net = static_cast<Net>(nets());
  if (is_constant(gate))
    a = b = 0;
  else if (!reads_a(gate))
    a = b;
  else if (!reads_b(gate))
    b = a;
  gates.push_back({gate, a, b});
  return net;
}

Netlist without_gates(const Netlist& netlist) {
  Netlist copy;
  copy.name = netlist.name;
  copy.inputs = netlist.inputs;
  copy.outputs = netlist.outputs;
  return copy;
}

void check_netlist(const Netlist& netlist, const std::string& what) {
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const NetlistGate& gate = netlist.gates[g];
    const Net own = netlist.net_of_gate(g);
    if (gate_bits(gate.gate) >= kGates)
      fail(what, fmt::format("gate {} of type {}", g, gate_bits(gate.gate)), "a type from 0 to 15");
    if (is_constant(gate.gate)) continue;
    if (gate.a >= own || gate.b >= own)
      fail(what, fmt::format("gate {} (net {}) reading net {}", g, own, std::max(gate.a, gate.b)),
           "an input or the output of an earlier gate", "list gates in topological order, without cycles");
  }
  for (const NetlistOutput& output : netlist.outputs)
    if (output.net >= netlist.nets())
      fail(what, fmt::format("output \"{}\" from net {}", shown_name(output.name), output.net),
           fmt::format("a net below {}", netlist.nets()));
}

std::vector<bool> live_nets(const Netlist& netlist) {
  std::vector<bool> live(netlist.nets());
  for (const NetlistOutput& output : netlist.outputs) live[output.net] = true;
  for (std::size_t g = netlist.gates.size(); g-- > 0;) {
    if (!live[netlist.net_of_gate(g)]) continue;
    const NetlistGate& gate = netlist.gates[g];
    if (reads_a(gate.gate)) live[gate.a] = true;
    if (reads_b(gate.gate)) live[gate.b] = true;
  }
  return live;
}

NetlistCounts count_netlist(const Netlist& netlist) {
  NetlistCounts counts;
  counts.inputs = netlist.inputs.size();
  counts.outputs = netlist.outputs.size();
  counts.raw = netlist.gates.size();
  std::vector<std::size_t> depth(netlist.nets());
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    ++counts.histogram[gate_bits(gate)];
    counts.active += !is_wire(gate);
    const std::size_t below = std::max(reads_a(gate) ? depth[a] : 0, reads_b(gate) ? depth[b] : 0);
    depth[netlist.net_of_gate(g)] = below + (is_wire(gate) || is_constant(gate) ? 0 : 1);
  }
  for (const NetlistOutput& output : netlist.outputs) counts.depth = std::max(counts.depth, depth[output.net]);
  const std::vector<bool> live = live_nets(netlist);
  counts.live_inputs = static_cast<std::size_t>(
      std::count(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(netlist.inputs.size()), true));
  return counts;
}

}  // namespace espalier
