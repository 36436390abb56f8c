// Netlists of one automaton cell: inputs 9 C bits, patch position major, channel minor; outputs C bits.
#pragma once

#include "espalier/netlist.hpp"

namespace espalier {

inline constexpr int kPatch = 9;  // 3x3 by rows, 4 is the cell itself

// Inputs named p<position>c<channel>, no gates, no outputs yet.
Netlist empty_cell(int channels);
inline Net patch_net(int position, int channel, int channels) {
  return static_cast<Net>(position * channels + channel);
}

// C of a cell netlist; an Error when the numbers of inputs and outputs are not 9 C and C.
int cell_channels(const Netlist& netlist);

// Conway's rule on one channel, written by hand: an oracle, a bench and an example.
Netlist life_cell();

}  // namespace espalier
