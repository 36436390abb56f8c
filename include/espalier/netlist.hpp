// A combinational circuit of two-input gates, in topological order. A plain value: passes take one and
// return another.
//   Netlist half_adder;
//   const Net a = half_adder.add_input("a"), b = half_adder.add_input("b");
//   half_adder.add_output("sum", half_adder.add_gate(Gate::kXor, a, b));
//   half_adder.add_output("carry", half_adder.add_gate(Gate::kAnd, a, b));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "espalier/gates.hpp"

namespace espalier {

// Nets 0..I-1 are the inputs, net I+g is the output of gate g.
using Net = std::uint32_t;
inline constexpr Net kNoNet = 0xffffffff;

// Gates that ignore an input (constants, A, NOT A, ...) still name a net there: their other one, or 0.
struct NetlistGate {
  Gate gate = Gate::kFalse;
  Net a = 0, b = 0;
  bool operator==(const NetlistGate&) const = default;
};

struct NetlistOutput {
  std::string name;
  Net net = 0;
  bool operator==(const NetlistOutput&) const = default;
};

struct Netlist {
  std::string name = "circuit";
  std::vector<std::string> inputs;
  std::vector<NetlistGate> gates;
  std::vector<NetlistOutput> outputs;
  bool operator==(const Netlist&) const = default;

  std::size_t nets() const { return inputs.size() + gates.size(); }
  bool is_input(Net net) const { return net < inputs.size(); }
  Net net_of_gate(std::size_t gate) const { return static_cast<Net>(inputs.size() + gate); }
  const NetlistGate& gate_of_net(Net net) const { return gates[net - inputs.size()]; }

  // Inputs come before the first gate: a net's number never changes afterwards.
  Net add_input(std::string input_name);
  Net add_gate(Gate gate, Net a, Net b);
  Net add_constant(bool value) { return add_gate(value ? Gate::kTrue : Gate::kFalse, 0, 0); }
  void add_output(std::string output_name, Net net) { outputs.push_back({std::move(output_name), net}); }
};

// Same inputs and outputs names, no gates yet: where a pass begins. Outputs still point at old nets.
Netlist without_gates(const Netlist& netlist);

// An Error names the first gate or output that reads a net that is not there before it.
void check_netlist(const Netlist& netlist, const std::string& what);

// Gates in any order, reading any net: sorts them so that each comes after what it reads (gates that no output
// needs are dropped when `only_live`). `what` names the circuit in the Error for a cycle; `place(gate)` says where
// the file defines a gate.
Netlist sort_netlist(const Netlist& unsorted, const std::string& what, bool only_live,
                     const std::function<std::string(std::size_t gate)>& place = {});

struct NetlistCounts {
  std::size_t inputs = 0, outputs = 0;
  std::size_t raw = 0;          // all gates
  std::size_t active = 0;       // neither A nor B
  std::size_t depth = 0;        // most active gates on a path from an input to an output
  std::size_t live_inputs = 0;  // inputs that a path joins to an output
  std::array<std::size_t, kGates> histogram{};
};
NetlistCounts count_netlist(const Netlist& netlist);

// live[net]: some output depends on it structurally.
std::vector<bool> live_nets(const Netlist& netlist);

}  // namespace espalier
