// The channels of an automaton's cell, across steps: which ones the visible ones ever depend on, and which are always
// constant, equal or opposite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"

namespace espalier {

// The first `visible` channels and every channel that reaches one of them in any number of steps, ascending. By
// structure: simplify the cell first.
std::vector<int> needed_channels(const Netlist& cell, int visible);

// The cell of the channels in `kept` (ascending) alone. None of them may read another channel: an Error.
Netlist keep_channels(const Netlist& cell, const std::vector<int>& kept);

// The given channels of a board.
Board pick_channels(const Board& board, const std::vector<int>& channels);

struct ChannelOptions {
  int visible = 1;  // the first channels
  bool periodic = false;
  // Also what holds on every board that can be reached: from this start, of all channels, or, with `from_any`, after
  // the first step from any.
  std::optional<Board> start = {};
  bool from_any = false;
  std::uint64_t steps = 100;  // simulated to find what may hold, before it is proved
};
struct ChannelReport {
  Netlist cell;                                // what is left
  std::vector<int> kept;                       // its channels, by their old numbers
  std::vector<int> unneeded;                   // no visible channel ever depends on them
  std::vector<int> constant, equal, opposite;  // proved by induction, and replaced by what they are
  std::string proof;                           // in words
};
// Shows the same for ever: from every start, or with `start` and `from_any` from what these say. Asynchronous updates
// included, as a cell takes all its new channels at once. The cell should be simplified.
ChannelReport reduce_channels(const Netlist& cell, const ChannelOptions& options);

}  // namespace espalier
