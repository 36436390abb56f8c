// The passes that simplify() repeats while they gain: functions from netlist to netlist that change the function of no
// output. They take netlists that check_netlist has seen.
#pragma once

#include "espalier/synth.hpp"

namespace espalier {

// Gates fed by a constant, or by one net twice, become wires, NOTs or constants.
Netlist fold_constants(const Netlist& netlist);
// Readers of a gate A or B read its source instead.
Netlist bypass_wires(const Netlist& netlist);
// NOTs disappear into the types of the gates around them; one stays only where an output needs both polarities
// of a gate, or an input inverted.
Netlist absorb_nots(const Netlist& netlist);
// Gates with the same function of the same nets (commuted, or inverted) are computed once.
Netlist hash_gates(const Netlist& netlist);
// A gate that depends on only two nets, seen through its two operands, reads these two (finds XORs among ANDs).
Netlist collapse_pairs(const Netlist& netlist);
// Gates that no output depends on are dropped.
Netlist remove_dead(const Netlist& netlist);

Netlist sweep(const Netlist& netlist, const SweepOptions& options = {}, SweepReport* report = nullptr);

// Trees of ANDs, or of XORs, that nothing else reads, joined again from the operands that arrive first.
Netlist balance(const Netlist& netlist);

// Cut rewriting with the smallest circuits of all functions of four inputs. With kAnds the result has no XOR; with
// kDepth no gate becomes deeper, and those on the longest paths may cost gates to become shallower.
struct RewriteOptions {
  CircuitGoal goal = CircuitGoal::kGates;
  bool sideways = false;  // rewrites that cost nothing are made too, one of them by chance
  int kicks = 0;          // one gate in so many is rewritten at a loss of up to one gate; 0: none
  std::uint64_t seed = 1;
};
Netlist rewrite(const Netlist& netlist, const RewriteOptions& options = {}, std::uint64_t* spent = nullptr);

// One pass of resubstitution over all gates: each is rebuilt from nets of its window, which is the circuit when this
// has few inputs.
struct WindowOptions {
  CircuitGoal goal = CircuitGoal::kGates;
  bool sideways = false;
  bool from_outputs = false;  // down from the outputs, or up from the inputs
  std::uint64_t seed = 1;
  int table_inputs = 14;               // the whole circuit is the window up to this many inputs
  int leaves = 9;                      // of windows beyond that
  std::uint64_t effort = 400'000'000;  // word operations, about, shared out evenly between the gates
};
Netlist resubstitute_once(const Netlist& netlist, const WindowOptions& options = {},
                          ResubstituteReport* report = nullptr);

// Other circuits of the same function, made from its table alone, of at most so many live inputs: one that splits it by
// its inputs, and one that counts inputs which it does not tell apart, if there are such. Where to begin from, not
// where to end: they may be larger.
struct RebuildOptions {
  int table_inputs = 14;
  std::size_t max_gates = 1000;
  std::uint64_t seed = 1;
  std::uint64_t effort = 100'000'000;  // word operations, about
};
std::vector<Netlist> rebuild(const Netlist& netlist, const RebuildOptions& options = {},
                             std::uint64_t* spent = nullptr);

// Sums of products, and products of sums, with what their terms share taken out. Another place to begin from: gates
// that several of them shared before may be lost. A circuit whose sums hold so much that it takes more than about
// `effort` word operations is given back as it is.
Netlist factor(const Netlist& netlist, std::uint64_t effort = 1'000'000'000);

// All of these in turn: down to where no gate can be gained, then walks.
Netlist resubstitute(const Netlist& netlist, const ResubstituteOptions& options = {},
                     ResubstituteReport* report = nullptr);
// Fewer gates by mutation, function unchanged and proved: so many mutants are tried.
Netlist search_smaller(const Netlist& netlist, std::uint64_t evaluations, const ThreadPool& pool);

}  // namespace espalier
