// The channels of an automaton's cell, across steps: which ones the visible ones ever depend on.
#pragma once

#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

// The first `visible` channels and every channel that reaches one of them in any number of steps, ascending. By
// structure: simplify the cell first.
std::vector<int> needed_channels(const Netlist& cell, int visible);

// The cell of the channels in `kept` (ascending) alone. None of them may read another channel: an Error.
Netlist keep_channels(const Netlist& cell, const std::vector<int>& kept);

}  // namespace espalier
