// The structural passes: each looks at a gate and its neighbours only, and returns another netlist.
#include <array>
#include <unordered_map>

#include "synth/passes.hpp"

namespace espalier {

// Constants flow forward: a gate that sees one shrinks to a function of its other input.
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

// A gate A or B hands an input through: its readers may as well read that input.
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

// A NOT costs nothing where a gate reads it: the reader's type absorbs it. Where only outputs read it, the gate before
// it is turned over instead, and that gate's other readers absorb the change.
namespace {

struct Literal {
  Net net = 0;
  bool inverted = false;
};

// The net a NOT reads, through chains of NOTs, and the parity of the chain.
std::vector<Literal> see_through_nots(const Netlist& netlist) {
  std::vector<Literal> seen(netlist.nets() + 1);
  for (Net net = 0; net < netlist.inputs.size(); ++net) seen[net] = {net, false};
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    const Net own = netlist.net_of_gate(g);
    if (is_not(gate)) {
      const Literal source = seen[gate == Gate::kNotA ? a : b];
      seen[own] = {source.net, !source.inverted};
    } else {
      seen[own] = {own, false};
    }
  }
  return seen;
}

}  // namespace

Netlist absorb_nots(const Netlist& netlist) {
  const std::vector<Literal> seen = see_through_nots(netlist);

  // Gates that outputs read only inverted are turned over.
  std::vector<bool> plain(netlist.nets()), inverted(netlist.nets());
  for (const NetlistOutput& output : netlist.outputs)
    (seen[output.net].inverted ? inverted : plain)[seen[output.net].net] = true;

  Netlist result = without_gates(netlist);
  std::vector<Literal> now(netlist.nets() + 1);  // every old net as a literal of the new netlist
  for (Net net = 0; net < netlist.inputs.size(); ++net) now[net] = {net, false};
  const auto resolve = [&](Net net) {
    const Literal direct = seen[net];
    return Literal{now[direct.net].net, now[direct.net].inverted != direct.inverted};
  };
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    auto [gate, a, b] = netlist.gates[g];
    const Net own = netlist.net_of_gate(g);
    if (is_not(gate)) continue;
    const Literal x = resolve(a), y = resolve(b);
    if (x.inverted) gate = invert_a(gate);
    if (y.inverted) gate = invert_b(gate);
    const bool turn = inverted[own] && !plain[own];
    if (turn) gate = invert_output(gate);
    now[own] = {result.add_gate(gate, x.net, y.net), turn};
  }
  std::vector<Net> not_of(result.nets(), kNoNet);  // NOTs that outputs still need, one for each net
  for (NetlistOutput& output : result.outputs) {
    const Literal source = resolve(output.net);
    if (!source.inverted) {
      output.net = source.net;
    } else {
      Net& shared = not_of[source.net];
      if (shared == kNoNet) shared = result.add_gate(Gate::kNotA, source.net, source.net);
      output.net = shared;
    }
  }
  return result;
}

// Structural hashing: the same function of the same two nets is computed once. Inputs are put in ascending order; a
// gate whose inverse is there already becomes a NOT of it, for absorb_nots to take away.
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

// Two levels of gates over only two nets are one gate: (a AND NOT b) OR (NOT a AND b) is XOR, a AND (a OR b) is a.
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

// Keeps the gates that some output depends on, in their order.
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
