// The channels of an automaton's cell, one by one: which ones the visible ones ever depend on, and the cell of some
// alone. What the library makes of that is reduce_channels() in synth.hpp.
#pragma once

#include <vector>

#include "espalier/synth.hpp"

namespace espalier {

// The first `visible` channels and every channel that reaches one of them in any number of steps, ascending. By
// structure: simplify the cell first.
std::vector<int> needed_channels(const Netlist& cell, int visible);

// The cell of the channels in `kept` (ascending) alone. None of them may read another channel: an Error.
Netlist keep_channels(const Netlist& cell, const std::vector<int>& kept);

// The given channels of a board.
Board pick_channels(const Board& board, const std::vector<int>& channels);

}  // namespace espalier
