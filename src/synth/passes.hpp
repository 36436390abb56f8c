// The passes that simplify() repeats to a fixed point: functions from netlist to netlist that change the function of no
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
Netlist resubstitute(const Netlist& netlist, const ResubstituteOptions& options = {},
                     ResubstituteReport* report = nullptr);
// Fewer gates by mutation, function unchanged and proved: so many mutants are tried.
Netlist search_smaller(const Netlist& netlist, std::uint64_t evaluations);

}  // namespace espalier
