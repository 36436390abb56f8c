// What becomes of a gate when an input is swapped, inverted, fixed or merged with the other.
// A gate's number read as four bits is its truth table: bit 3 = f(0,0), 2 = f(0,1), 1 = f(1,0), 0 = f(1,1).
#pragma once

#include "espalier/gates.hpp"

namespace espalier {

constexpr unsigned gate_bits(Gate gate) { return static_cast<unsigned>(gate); }
constexpr Gate gate_of_bits(unsigned bits) { return static_cast<Gate>(bits & 15u); }

constexpr bool gate_value(Gate gate, bool a, bool b) { return gate_bits(gate) >> (3 - 2 * a - b) & 1u; }
constexpr Gate gate_of_values(bool f00, bool f01, bool f10, bool f11) {
  return gate_of_bits(unsigned{f00} << 3 | unsigned{f01} << 2 | unsigned{f10} << 1 | unsigned{f11});
}

constexpr Gate invert_output(Gate gate) { return gate_of_bits(~gate_bits(gate)); }
constexpr Gate swap_inputs(Gate gate) {
  const unsigned g = gate_bits(gate);
  return gate_of_bits((g & 9u) | (g & 4u) >> 1 | (g & 2u) << 1);
}
constexpr Gate invert_a(Gate gate) {
  const unsigned g = gate_bits(gate);
  return gate_of_bits(g >> 2 | g << 2);
}
constexpr Gate invert_b(Gate gate) {
  const unsigned g = gate_bits(gate);
  return gate_of_bits((g & 10u) >> 1 | (g & 5u) << 1);
}

constexpr bool is_constant(Gate gate) { return gate == Gate::kFalse || gate == Gate::kTrue; }
constexpr bool is_not(Gate gate) { return gate == Gate::kNotA || gate == Gate::kNotB; }
constexpr bool reads_a(Gate gate) { return invert_a(gate) != gate; }
constexpr bool reads_b(Gate gate) { return invert_b(gate) != gate; }

// A function of one variable, as the gate that computes it from its input a (kFalse, kA, kNotA or kTrue).
constexpr Gate unary_gate(bool at_zero, bool at_one) { return gate_of_values(at_zero, at_zero, at_one, at_one); }

// The function of b left when a is a constant, of a when b is one, of both when they are the same net.
constexpr Gate fix_a(Gate gate, bool a) { return unary_gate(gate_value(gate, a, false), gate_value(gate, a, true)); }
constexpr Gate fix_b(Gate gate, bool b) { return unary_gate(gate_value(gate, false, b), gate_value(gate, true, b)); }
constexpr Gate merge_inputs(Gate gate) {
  return unary_gate(gate_value(gate, false, false), gate_value(gate, true, true));
}

}  // namespace espalier
