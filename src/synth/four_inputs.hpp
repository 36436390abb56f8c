// The smallest circuits of all functions of four inputs, made once when first asked for: one entry for each of the 222
// classes that permuting and inverting inputs and inverting the output leave.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier {

// Gates AND or XOR of literals 2 * index + inverted: indices 0 to 3 are the inputs, 4 and on the gates.
struct SmallChain {
  struct Step {
    bool is_xor = false;
    std::uint8_t a = 0, b = 0;
    bool operator==(const Step&) const = default;
  };
  std::array<Step, 7> steps{};
  std::uint8_t size = 0;
  std::uint8_t result = 0;           // literal; kConstant + value for a constant
  std::uint8_t depth = 0, ands = 0;  // an XOR is three ANDs
  static constexpr std::uint8_t kConstant = 254;
  bool operator==(const SmallChain&) const = default;
};

enum class ChainCost { kGates, kAnds, kDepth };

class FourInputLibrary {
 public:
  static const FourInputLibrary& get();

  // How to read a function through its class: input i of the function, inverted if bit i of `inputs` is set, is input
  // place[i] of the class; and the output is inverted if `output`.
  struct Match {
    std::uint8_t form = 0;  // class
    std::array<std::uint8_t, 4> place{};
    std::uint8_t inputs = 0;
    bool output = false;
  };
  // Bit i of a function is its value for the inputs whose number is i.
  const Match& match(std::uint16_t function) const { return matches_[function]; }
  // Several of the cheapest; with kDepth the shallowest. With kGates each is proved smallest by exhaustion.
  std::span<const SmallChain> chains(std::uint8_t form, ChainCost cost) const {
    return chains_[static_cast<std::size_t>(cost)][form];
  }
  std::size_t forms() const { return representatives_.size(); }
  std::uint16_t representative(std::uint8_t form) const { return representatives_[form]; }

 private:
  FourInputLibrary();
  void find_forms();
  void enumerate();
  void combine();
  void offer(std::uint16_t function, const SmallChain& chain);
  static SmallChain renamed(const SmallChain& chain, const std::array<std::uint8_t, 4>& inputs, bool turn);

  std::vector<Match> matches_;  // [function]
  std::vector<std::uint16_t> representatives_;
  std::vector<std::vector<Match>> automorphisms_;               // [form]: how its representative is read as itself
  std::array<std::vector<std::vector<SmallChain>>, 3> chains_;  // [cost][form]
};

}  // namespace espalier
