#include "synth/aig.hpp"

#include <unordered_map>

namespace espalier {
namespace {

class Builder {
 public:
  explicit Builder(Aig& aig) : aig_(aig) {}

  std::uint32_t both(std::uint32_t x, std::uint32_t y) {
    if (x < y) std::swap(x, y);
    if (y == 0 || x == (y ^ 1)) return 0;
    if (y == 1 || x == y) return x;
    const auto [entry, fresh] = known_.try_emplace(std::uint64_t{x} << 32 | y, 0);
    if (fresh) {
      aig_.ands.push_back({x, y});
      entry->second = 2 * (aig_.inputs + static_cast<std::uint32_t>(aig_.ands.size()));
    }
    return entry->second;
  }

  std::uint32_t gate(Gate type, std::uint32_t a, std::uint32_t b) {
    const bool inverted = gate_value(type, false, false);  // brought to the polarity with f(0,0) = 0
    if (inverted) type = invert_output(type);
    const auto positive = [&]() -> std::uint32_t {
      switch (type) {
        case Gate::kFalse: return 0;
        case Gate::kAnd: return both(a, b);
        case Gate::kAAndNotB: return both(a, b ^ 1);
        case Gate::kA: return a;
        case Gate::kNotAAndB: return both(a ^ 1, b);
        case Gate::kB: return b;
        case Gate::kOr: return both(a ^ 1, b ^ 1) ^ 1;
        default: return both(both(a, b) ^ 1, both(a ^ 1, b ^ 1) ^ 1);  // XOR
      }
    };
    return positive() ^ (inverted ? 1u : 0u);
  }

 private:
  Aig& aig_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // looked up, never iterated over
};

}  // namespace

Aig aig_of(const Netlist& n) {
  Aig aig;
  aig.inputs = static_cast<std::uint32_t>(n.inputs.size());
  Builder builder(aig);
  std::vector<std::uint32_t> literal(n.nets() + 1);
  for (std::uint32_t i = 0; i < aig.inputs; ++i) literal[i] = 2 * (i + 1);
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    literal[n.net_of_gate(g)] =
        is_constant(gate) ? (gate == Gate::kTrue ? 1 : 0) : builder.gate(gate, literal[a], literal[b]);
  }
  for (const NetlistOutput& output : n.outputs) aig.outputs.push_back(literal[output.net]);
  return aig;
}

}  // namespace espalier
