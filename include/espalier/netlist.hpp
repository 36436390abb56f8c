// Two-input gates and combinational circuits of them.
//
// Example:
//   Netlist half_adder;
//   const Net a = half_adder.add_input("a"), b = half_adder.add_input("b");
//   half_adder.add_output("sum", half_adder.add_gate(Gate::kXor, a, b));
//   half_adder.add_output("carry", half_adder.add_gate(Gate::kAnd, a, b));
//   const std::vector<bool> two = evaluate(half_adder, {true, true});  // sum 0, carry 1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// The sixteen two-input gates. Their numbers are part of every file, export and table. Each is bilinear in its inputs:
// c0 + c1 a + c2 b + c3 a b.
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

// A gate's number, read as four bits, is its truth table, the only one in the project: bit 3 - 2a - b is the output for
// inputs a, b.
constexpr unsigned gate_bits(Gate gate) { return static_cast<unsigned>(gate); }
constexpr Gate gate_of_bits(unsigned bits) { return static_cast<Gate>(bits & 15u); }

constexpr bool gate_value(Gate gate, bool a, bool b) { return gate_bits(gate) >> (3 - 2 * a - b) & 1u; }
constexpr Gate gate_of_values(bool f00, bool f01, bool f10, bool f11) {
  return gate_of_bits(unsigned{f00} << 3 | unsigned{f01} << 2 | unsigned{f10} << 1 | unsigned{f11});
}

// What becomes of a gate when its output or an input is inverted, its inputs are swapped, fixed or the same net.
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

// A wire in disguise: the gate hands one of its inputs through. All others count as active.
constexpr bool is_wire(Gate gate) { return gate == Gate::kA || gate == Gate::kB; }
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

// Nets 0..I-1 are the inputs, net I+g is the output of gate g.
using Net = std::uint32_t;
inline constexpr Net kNoNet = 0xffffffff;

// Gates that ignore an input (constants, A, NOT A, ...) still name a net there: their other one, or 0.
struct NetlistGate {
  Gate gate = Gate::kFalse;
  Net a = 0, b = 0;
  bool operator==(const NetlistGate&) const = default;
};

struct NetlistOutput {
  std::string name;
  Net net = 0;
  bool operator==(const NetlistOutput&) const = default;
};

// A circuit, gates in topological order. A plain value: passes take one and return another. Its fields may be filled by
// hand; every function that takes a netlist checks it (check_netlist) before it follows a net.
struct Netlist {
  std::string name = "circuit";
  std::vector<std::string> inputs;
  std::vector<NetlistGate> gates;
  std::vector<NetlistOutput> outputs;
  bool operator==(const Netlist&) const = default;

  std::size_t nets() const { return inputs.size() + gates.size(); }
  bool is_input(Net net) const { return net < inputs.size(); }
  Net net_of_gate(std::size_t gate) const { return static_cast<Net>(inputs.size() + gate); }
  const NetlistGate& gate_of_net(Net net) const {  // an Error for inputs and unknown nets
    if (net - inputs.size() >= gates.size()) [[unlikely]]
      refuse_net(net);
    return gates[net - inputs.size()];
  }
  [[noreturn]] void refuse_net(Net net) const;

  // Inputs come before the first gate: a net's number never changes afterwards. An Error for a net that is not there
  // yet; inputs that the gate ignores may be anything.
  Net add_input(std::string input_name);
  Net add_gate(Gate gate, Net a, Net b);
  Net add_constant(bool value) { return add_gate(value ? Gate::kTrue : Gate::kFalse, 0, 0); }
  void add_output(std::string output_name, Net net);
};

// Same names of inputs and outputs, no gates yet: where a pass begins. Outputs still point at old nets.
Netlist without_gates(const Netlist& netlist);

// An Error names the first gate or output that reads a net that is not there before it.
void check_netlist(const Netlist& netlist, std::string_view what);

// Gates in any order, reading any net: sorts them so that each comes after what it reads (gates that no output
// needs are dropped when `only_live`). `what` names the circuit in the Error for a cycle or a net that is not there;
// `place(gate)` says where a file defines a gate.
Netlist sort_netlist(const Netlist& unsorted, const std::string& what, bool only_live,
                     const std::function<std::string(std::size_t gate)>& place = {});

// The quick clean-up: wires are followed, constants folded, gates that no output needs are dropped; NOTs and equal
// gates stay as they are. What is left is the work that a simulation really does. (simplify() finds much more, and
// takes much longer.)
Netlist clean(const Netlist& netlist);

// The same while a circuit is built, for circuits that are made anew at every evaluation.
//   CleanBuilder builder(2);
//   const Net x = builder.add(Gate::kAnd, 0, 1), y = builder.add(Gate::kOr, x, CleanBuilder::kTrue);
//   Netlist n = builder.finish({"small", {"a", "b"}, {}, {{"y", y}}});  // y turned out to be constant: one gate, TRUE
class CleanBuilder {
 public:
  static constexpr Net kFalse = kNoNet - 1, kTrue = kNoNet;  // the constants, among the nets of a builder
  explicit CleanBuilder(std::size_t inputs) : inputs_(inputs) {}
  // What gate(a, b) comes down to: an input, a constant, or a gate added now or before.
  Net add(Gate gate, Net a, Net b);
  // The gates that the outputs need, in their order. `shape` gives name, inputs and outputs, the latter with nets of
  // the builder, and has no gates.
  Netlist finish(Netlist shape) const;

 private:
  std::size_t inputs_;
  std::vector<NetlistGate> gates_;  // net inputs_ + g
};

struct NetlistCounts {
  std::size_t inputs = 0, outputs = 0;
  std::size_t raw = 0;          // all, as they stand
  std::size_t constants = 0;    // of them FALSE and TRUE, which are not gates
  std::size_t active = 0;       // neither A nor B nor constant
  std::size_t depth = 0;        // most active gates on a path from an input to an output
  std::size_t live_inputs = 0;  // inputs that a path joins to an output
  std::array<std::size_t, kGates> histogram{};

  std::size_t gates() const { return raw - constants; }
};
NetlistCounts count_netlist(const Netlist& netlist);

// live[net]: some output depends on it structurally.
std::vector<bool> live_nets(const Netlist& netlist);

// A circuit evaluated gate by gate: slow and obvious, the meaning that simulators and proofs are held to.
// 64 input patterns at once: words[net] for every net, given words of the inputs.
std::vector<std::uint64_t> evaluate_words(const Netlist& netlist, std::span<const std::uint64_t> inputs);
// One pattern; the values of the outputs.
std::vector<bool> evaluate(const Netlist& netlist, const std::vector<bool>& inputs);
// The word of input i when patterns 64 block .. 64 block + 63 count through all 2^n values: bit i of the pattern's
// number. Used by every exhaustive check.
std::uint64_t counting_word(std::size_t input, std::uint64_t block);

}  // namespace espalier
