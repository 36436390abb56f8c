// Makes a netlist smaller without changing the function of any output. Each pass is a free function from
// netlist to netlist in a file of its own; simplify() repeats them to a fixed point.
//   SimplifyReport report;
//   const Netlist small = simplify(raw, {}, &report);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"

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

// Functional sweeping: gates that random simulation cannot tell apart are proved equal or complementary
// and merged.
struct SweepOptions {
  std::uint64_t seed = 1;
  int random_words = 32;               // 64 patterns each
  int table_inputs = 12;               // proofs by exhaustive table up to this support, by SAT above
  int conflicts = 100;                 // SAT effort for one pair; undecided pairs are left alone
  std::uint64_t effort = 400'000'000;  // gate words of simulation and SAT propagations in total, about
};
struct SweepReport {
  std::size_t candidates = 0, merged = 0, by_table = 0, by_sat = 0, refuted = 0, undecided = 0;
  // Input words that told nets apart; a report passed in again starts from them.
  std::vector<std::vector<std::uint64_t>> patterns;
};
Netlist sweep(const Netlist& netlist, const SweepOptions& options = {}, SweepReport* report = nullptr);

// Resubstitution: a gate is rebuilt from one or two nets that exist anyway, wherever the outputs cannot tell
// (observability don't-cares included), when that frees more gates than it adds. Exact: works on complete truth
// tables, so only on netlists of at most `table_inputs` live inputs; others are returned unchanged.
struct ResubstituteOptions {
  std::uint64_t seed = 1;
  int table_inputs = 14;
  int walks = 200;                     // detours over rewrites that cost nothing, each followed by a new descent
  std::uint64_t effort = 400'000'000;  // word operations in total, about
};
struct ResubstituteReport {
  std::size_t tried = 0, by_one = 0, by_two = 0;  // gates looked at; rebuilt from one net; from new gates
  std::uint64_t spent = 0;                        // of the effort; a report passed in again goes on counting
};
Netlist resubstitute(const Netlist& netlist, const ResubstituteOptions& options = {},
                     ResubstituteReport* report = nullptr);

struct SimplifyOptions {
  bool sweep = true;
  bool resubstitute = true;
  SweepOptions sweep_options;
  ResubstituteOptions resubstitute_options;
  int max_rounds = 20;
};
struct SimplifyStep {
  std::string pass;
  std::size_t gates = 0, active = 0, depth = 0;  // after the pass
};
struct SimplifyReport {
  std::vector<SimplifyStep> steps;  // the first is the netlist as given; passes that changed nothing are left out
  SweepReport sweep;
  ResubstituteReport resubstitute;
};
// Never larger than what it was given, always the same function; the same result for the same options.
Netlist simplify(const Netlist& netlist, const SimplifyOptions& options = {}, SimplifyReport* report = nullptr);

}  // namespace espalier
