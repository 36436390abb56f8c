#include "logic/harden.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "espalier/netlist.hpp"

namespace espalier {

Gate likeliest_gate(std::span<const float, kGates> logits) {
  return static_cast<Gate>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<Gate> likeliest_gates(std::span<const float> logits) {
  std::vector<Gate> gates(logits.size() / kGates);
  for (std::size_t g = 0; g < gates.size(); ++g) gates[g] = likeliest_gate(logits.subspan(g * kGates).first<kGates>());
  return gates;
}

GateCounts count_gates(std::span<const float> logits) {
  if (logits.size() % kGates) fail("count gates", fmt::format("{} logits", logits.size()), "sixteen per gate");
  GateCounts counts;
  for (const Gate gate : likeliest_gates(logits)) {
    ++counts.raw;
    counts.active += !is_wire(gate);
    ++counts.histogram[static_cast<int>(gate)];
  }
  return counts;
}

FoldingBuilder::Value FoldingBuilder::add(Gate gate, Value a, Value b) {
  const auto f = [gate](Value va, Value vb) { return gate_value(gate, va, vb); };
  const auto constant = [](Value v) { return v <= kTrue; };  // then the value is its own bit
  if (constant(a) && constant(b)) return f(a, b);
  if (constant(a)) return unary(f(a, 0), f(a, 1), b);
  if (constant(b)) return unary(f(0, b), f(1, b), a);
  if (a == b) return unary(f(0, 0), f(1, 1), a);
  if (!reads_b(gate)) return unary(f(0, 0), f(1, 0), a);
  if (!reads_a(gate)) return unary(f(0, 0), f(0, 1), b);
  return push(gate, a, b);
}

FoldingBuilder::Value FoldingBuilder::unary(bool at_zero, bool at_one, Value v) {
  if (at_zero == at_one) return at_zero;
  return at_one ? v : push(Gate::kNotA, v, v);
}

FoldingBuilder::Value FoldingBuilder::push(Gate gate, Value a, Value b) {
  gates_.push_back({gate, a, b});
  return first_gate_ + static_cast<Value>(gates_.size()) - 1;
}

void FoldingBuilder::finish(std::span<const Value> outputs, const std::string& output_name, Netlist& netlist) const {
  std::vector<char> live(first_gate_ + gates_.size(), 0);
  for (const Value v : outputs) live[v] = 1;
  for (std::size_t i = gates_.size(); i-- > 0;)
    if (live[first_gate_ + i]) live[gates_[i].a] = live[gates_[i].b] = 1;
  std::vector<Net> net(live.size(), kNoNet);
  for (Value v = 2; v < first_gate_; ++v) net[v] = static_cast<Net>(v - 2);
  for (std::size_t i = 0; i < gates_.size(); ++i)
    if (live[first_gate_ + i])
      net[first_gate_ + i] = netlist.add_gate(gates_[i].gate, net[gates_[i].a], net[gates_[i].b]);
  for (const Value v : {kFalse, kTrue})
    if (live[v]) net[v] = netlist.add_constant(v == kTrue);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    netlist.add_output(fmt::format("{}{}", output_name, o), net[outputs[o]]);
}

}  // namespace espalier
