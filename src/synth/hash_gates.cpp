// Structural hashing: the same function of the same two nets is computed once. Inputs are put in ascending
// order; a gate whose inverse is there already becomes a NOT of it, for absorb_nots to take away.
#include <unordered_map>

#include "espalier/simplify.hpp"

namespace espalier {
namespace {

struct Key {
  Net a, b;
  Gate gate;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t x = (std::uint64_t{k.a} << 32 | k.b) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 29) ^ gate_bits(k.gate)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 32);
  }
};

}  // namespace

Netlist hash_gates(const Netlist& netlist) {
  Netlist result = without_gates(netlist);
  result.gates.reserve(netlist.gates.size());
  std::vector<Net> moved(netlist.nets() + 1);
  for (Net net = 0; net < netlist.inputs.size(); ++net) moved[net] = net;
  std::unordered_map<Key, Net, KeyHash> first;  // looked up, never iterated over
  first.reserve(netlist.gates.size());
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const NetlistGate& old = netlist.gates[g];
    Gate gate = old.gate;
    Net a = moved[old.a], b = moved[old.b];
    if (is_constant(gate))
      a = b = 0;
    else if (!reads_a(gate))
      a = b;
    else if (!reads_b(gate))
      b = a;
    if (a > b) {
      std::swap(a, b);
      gate = swap_inputs(gate);
    }
    const auto [same, fresh] = first.try_emplace({a, b, gate}, static_cast<Net>(result.nets()));
    if (fresh) {
      const auto inverse = first.find({a, b, invert_output(gate)});
      if (inverse != first.end() && !is_not(gate) && !is_wire(gate) && !is_constant(gate))
        result.add_gate(Gate::kNotA, inverse->second, inverse->second);
      else
        result.add_gate(gate, a, b);
    }
    moved[netlist.net_of_gate(g)] = same->second;
  }
  for (NetlistOutput& output : result.outputs) output.net = moved[output.net];
  return result;
}

}  // namespace espalier
