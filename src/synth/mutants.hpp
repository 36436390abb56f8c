// Changed copies of one circuit, hundreds at a time: a lane of a word is one copy, with its own few changes. What a
// lane computes is what its copy would compute alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/random.hpp"

namespace espalier {

inline constexpr std::size_t kLaneWords = 8, kLanes = 64 * kLaneWords;  // of a group, whatever the machine's vectors
using LaneMask = std::array<std::uint64_t, kLaneWords>;

// One change at one place. A pin is what a gate reads as a or b, or what an output reads.
struct Move {
  enum class At : std::uint8_t { kFunction, kPinA, kPinB, kOutput };
  At at = At::kFunction;
  std::uint32_t place = 0;   // gate, or output
  Gate gate = Gate::kFalse;  // the gate's new function; of a pin: what was read, v, becomes gate(v, other)
  Net other = 0;             // before the gate in the order of the circuit
  bool same_place(const Move& m) const { return at == m.at && place == m.place; }
  bool operator==(const Move&) const = default;
};

// The changes of a group and who has them. A lane has at most one change at a place; lane 0 has none.
struct MutantGroup {
  std::vector<Move> moves;
  std::vector<LaneMask> lanes;  // [move]
  bool has(std::size_t move, std::size_t lane) const { return lanes[move][lane / 64] >> (lane % 64) & 1; }
  void give(std::size_t move, std::size_t lane) { lanes[move][lane / 64] |= std::uint64_t{1} << (lane % 64); }
  std::vector<Move> of(std::size_t lane) const;
};

// What the search knows of a circuit beside its gates.
struct CircuitKind {
  std::size_t judged = 0;    // the first outputs, which are compared with what is wanted
  std::size_t channels = 0;  // of a cell: output c is what input p * channels + c reads one step later; 0: no cell
};

struct CircuitSize {
  std::size_t gates = 0, depth = 0;
  auto operator<=>(const CircuitSize&) const = default;
};

// Folds wires, constants and inverters, and leaves out what no judged output needs, in this step or a later one.
// Buffers are kept from call to call: the search measures thousands of circuits a second.
class Compactor {
 public:
  explicit Compactor(const CircuitKind& kind) : kind_(kind) {}
  CircuitSize measure(const Netlist& circuit, std::span<const Move> moves = {});
  CircuitSize measure(Netlist&&, std::span<const Move> = {}) = delete;  // build() looks at it again
  // What was measured last. Outputs that nothing needs read a constant.
  Netlist build() const;

 private:
  using Literal = std::uint32_t;  // 2 net + inverted
  static constexpr Literal kZero = 0xfffffffe, kOne = 0xffffffff;
  void edit(const Netlist& circuit, std::span<const Move> moves);
  Literal add(Gate gate, Literal a, Literal b);
  void fold();
  void mark();

  CircuitKind kind_;
  const Netlist* circuit_ = nullptr;
  std::vector<NetlistGate> edited_;
  std::vector<Net> edited_net_, outputs_;
  std::vector<NetlistGate> gates_;          // folded, [gate]; reads nets of inputs and of folded gates
  std::vector<Literal> literal_, results_;  // [edited net], [output]
  std::vector<std::uint32_t> depth_;        // [net]
  std::vector<char> live_, output_live_, plain_, inverted_;
  std::vector<Net> stack_;
};

// The gates in another order, drawn at random from those that are possible.
Netlist shuffled(const Netlist& circuit, const Random& random);

// One circuit for all lanes of a group: inputs of `parent`, then a mask for each move in `used`.
Netlist lane_circuit(const Netlist& parent, const MutantGroup& group, std::span<const std::uint32_t> used);

// The copy of one lane, gate by gate.
Netlist mutated(const Netlist& parent, std::span<const Move> moves);

}  // namespace espalier
