// The sixteen two-input gates. Their numbers are part of every file, export and table.
// Each is bilinear in its inputs: c0 + c1 a + c2 b + c3 a b.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier {

inline constexpr int kGates = 16;

enum class Gate : std::uint8_t {
  kFalse,
  kAnd,
  kAAndNotB,
  kA,
  kNotAAndB,
  kB,
  kXor,
  kOr,
  kNor,
  kXnor,
  kNotB,
  kAOrNotB,
  kNotA,
  kNotAOrB,
  kNand,
  kTrue,
};

// Row i: the coefficients c0 c1 c2 c3 of gate i.
inline constexpr std::array<std::array<float, 4>, kGates> kGateCoefficients{{
    {0, 0, 0, 0},
    {0, 0, 0, 1},
    {0, 1, 0, -1},
    {0, 1, 0, 0},
    {0, 0, 1, -1},
    {0, 0, 1, 0},
    {0, 1, 1, -2},
    {0, 1, 1, -1},
    {1, -1, -1, 1},
    {1, -1, -1, 2},
    {1, 0, -1, 0},
    {1, 0, -1, 1},
    {1, -1, 0, 0},
    {1, -1, 0, 1},
    {1, 0, 0, -1},
    {1, 0, 0, 0},
}};

inline constexpr std::array<std::string_view, kGates> kGateNames{
    "FALSE", "AND", "A&~B", "A", "~A&B", "B", "XOR", "OR", "NOR", "XNOR", "~B", "A|~B", "~A", "~A|B", "NAND", "TRUE"};

// Bit (2a + b) of the truth table is the gate's output for inputs a, b.
constexpr std::uint8_t truth_table(Gate gate) {
  const auto& c = kGateCoefficients[static_cast<int>(gate)];
  std::uint8_t table = 0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      if (c[0] + c[1] * a + c[2] * b + c[3] * a * b > 0.5f) table |= static_cast<std::uint8_t>(1u << (2 * a + b));
  return table;
}

// Any word of bits at once: out = gate(a, b) bit by bit.
template <class Word>
constexpr Word apply_gate(Gate gate, Word a, Word b) {
  switch (gate) {
    case Gate::kFalse: return Word{};
    case Gate::kAnd: return a & b;
    case Gate::kAAndNotB: return a & ~b;
    case Gate::kA: return a;
    case Gate::kNotAAndB: return ~a & b;
    case Gate::kB: return b;
    case Gate::kXor: return a ^ b;
    case Gate::kOr: return a | b;
    case Gate::kNor: return ~(a | b);
    case Gate::kXnor: return ~(a ^ b);
    case Gate::kNotB: return ~b;
    case Gate::kAOrNotB: return a | ~b;
    case Gate::kNotA: return ~a;
    case Gate::kNotAOrB: return ~a | b;
    case Gate::kNand: return ~(a & b);
    case Gate::kTrue: return ~Word{};
  }
  return Word{};
}

// A wire in disguise: the gate hands one of its inputs through. All others count as active.
constexpr bool is_wire(Gate gate) { return gate == Gate::kA || gate == Gate::kB; }

}  // namespace espalier
