// An and-inverter graph with AIGER's numbers: literal 2 v + inverted, variable 0 is the constant 0, then the inputs,
// then the ANDs in topological order.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

struct Aig {
  struct And {
    std::uint32_t high, low;  // literals, high >= low
  };
  std::uint32_t inputs = 0;
  std::vector<And> ands;               // variable inputs + 1 + i
  std::vector<std::uint32_t> outputs;  // literals
};

Aig aig_of(const Netlist& netlist);

}  // namespace espalier
