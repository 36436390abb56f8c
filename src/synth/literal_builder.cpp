#include "synth/literal_builder.hpp"

#include <fmt/format.h>

#include <utility>

#include "espalier/error.hpp"

namespace espalier {
namespace {

Literal of_unary(Gate unary, Literal input) {
  switch (unary) {
    case Gate::kFalse: return {kNoNet, false};
    case Gate::kTrue: return {kNoNet, true};
    case Gate::kA: return input;
    default: return input ^ true;
  }
}

}  // namespace

Literal LiteralBuilder::gate(Gate type, Literal a, Literal b, bool* fresh) {
  if (fresh) *fresh = false;
  if (!a.constant() && a.inverted) type = invert_a(type);
  if (!b.constant() && b.inverted) type = invert_b(type);
  const Literal x{a.net, false}, y{b.net, false};
  if (a.constant() && b.constant()) return {kNoNet, gate_value(type, a.inverted, b.inverted)};
  if (a.constant()) return of_unary(fix_a(type, a.inverted), y);
  if (b.constant()) return of_unary(fix_b(type, b.inverted), x);
  if (a.net == b.net) return of_unary(merge_inputs(type), x);
  if (!reads_b(type)) return of_unary(fix_b(type, false), x);
  if (!reads_a(type)) return of_unary(fix_a(type, false), y);
  Net first = a.net, second = b.net;
  if (first > second) {
    std::swap(first, second);
    type = swap_inputs(type);
  }
  check_room();
  // Kept in the polarity with f(0,0) = 0, so that a gate and its inverse are one.
  const bool inverted = gate_value(type, false, false);
  if (inverted) type = invert_output(type);
  const auto [entry, added] = known_.try_emplace(key(type, first, second), static_cast<Net>(target_.nets()));
  if (added) target_.add_gate(type, first, second);
  if (fresh) *fresh = added;
  return {entry->second, inverted};
}

void LiteralBuilder::check_room() const {
  if (target_.nets() >= kMaxNets) fail("netlist", fmt::format("{} nets", target_.nets()), "below 2^30");
}

std::vector<Literal> LiteralBuilder::copy(const Netlist& circuit, std::vector<Literal> nets) {
  nets.resize(circuit.nets() + 1);  // one to spare: constants may name net 0 of none
  for (std::size_t g = 0; g < circuit.gates.size(); ++g) {
    const auto& [type, a, b] = circuit.gates[g];
    nets[circuit.net_of_gate(g)] =
        is_constant(type) ? Literal{kNoNet, type == Gate::kTrue} : gate(type, nets[a], nets[b]);
  }
  std::vector<Literal> outputs;
  for (const NetlistOutput& output : circuit.outputs) outputs.push_back(nets[output.net]);
  return outputs;
}

Net LiteralBuilder::net(Literal literal) {
  if (!literal.constant() && !literal.inverted) return literal.net;
  const Gate type = literal.constant() ? (literal.inverted ? Gate::kTrue : Gate::kFalse) : Gate::kNotA;
  const Net source = literal.constant() ? 0 : literal.net;
  check_room();
  const auto [entry, added] = known_.try_emplace(key(type, source, source), static_cast<Net>(target_.nets()));
  if (added) target_.add_gate(type, source, source);
  return entry->second;
}

}  // namespace espalier
