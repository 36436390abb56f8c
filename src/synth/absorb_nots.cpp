// A NOT costs nothing where a gate reads it: the reader's type absorbs it. Where only outputs read it, the
// gate before it is turned over instead, and that gate's other readers absorb the change.
#include "espalier/simplify.hpp"

namespace espalier {
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

}  // namespace espalier
