// Complete truth tables of two nets, side by side.
#pragma once

#include <optional>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// The inputs that either net depends on structurally, ascending.
std::vector<Net> support_of(const Netlist& netlist, Net x, Net y);

// A pattern of all inputs on which the nets differ, or nothing after all 2^support have been tried.
std::optional<std::vector<bool>> first_difference(const Netlist& netlist, Net x, Net y,
                                                  const std::vector<Net>& support);

}  // namespace espalier
