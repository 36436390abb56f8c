// Builds a netlist out of literals: nets with a polarity, or constants. Constants, equal inputs and inversions are
// folded as gates are added; equal gates are shared.
#pragma once

#include <unordered_map>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// net == kNoNet: the constant 0, or 1 when inverted.
struct Literal {
  Net net = kNoNet;
  bool inverted = false;
  bool constant() const { return net == kNoNet; }
  Literal operator^(bool flip) const { return {net, inverted != flip}; }
  bool operator==(const Literal&) const = default;
};

class LiteralBuilder {
 public:
  explicit LiteralBuilder(Netlist& target) : target_(target) {}

  // gate(a, b) as a literal; adds at most one gate. `fresh` tells whether it did.
  Literal gate(Gate type, Literal a, Literal b, bool* fresh = nullptr);
  // Adds a whole circuit that reads these inputs; its outputs.
  std::vector<Literal> copy(const Netlist& circuit, std::vector<Literal> inputs);
  // A net for a literal: a NOT or a constant gate is added where it must be, once for each literal.
  Net net(Literal literal);

 private:
  static constexpr std::size_t kMaxNets = std::size_t{1} << 30;
  void check_room() const;
  static std::uint64_t key(Gate type, Net a, Net b) {
    // Nets below 2^30 leave room for the four bits of a type.
    return (std::uint64_t{gate_bits(type)} << 60) | (std::uint64_t{a} << 30) | b;
  }
  Netlist& target_;
  std::unordered_map<std::uint64_t, Net> known_;  // looked up, never iterated over
};

}  // namespace espalier
