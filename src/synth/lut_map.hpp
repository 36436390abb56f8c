// Circuits covered by lookup tables of K inputs, as FPGAs have them.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

struct MappedLut {
  Net root = 0;
  std::vector<Net> leaves = {};  // inputs or roots of other tables
  std::uint64_t table = 0;       // bit i: the value when bit j of i is that of leaf j
};
struct LutMapping {
  std::vector<MappedLut> luts = {};  // in topological order
  std::size_t depth = 0;             // most tables on a path
};
// 2 to 6 inputs. The least depth that its cuts allow, and few tables at that depth. Outputs that are inputs or
// constants need none.
LutMapping map_luts(const Netlist& netlist, int inputs);

// Nodes of the and-inverter graph that the AIGER export writes.
std::size_t count_ands(const Netlist& netlist);

}  // namespace espalier
