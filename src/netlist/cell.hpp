// Netlists of one automaton cell: inputs 9 C bits, patch position major, channel minor; outputs C bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/wiring.hpp"

namespace espalier {

inline constexpr int kPatch = 9;  // 3x3 by rows, 4 is the cell itself

// Inputs named p<position>c<channel>, no gates, no outputs yet.
Netlist empty_cell(int channels);
inline Net patch_net(int position, int channel, int channels) {
  return static_cast<Net>(position * channels + channel);
}

// C of a cell netlist; an Error when the numbers of inputs and outputs are not 9 C and C.
int cell_channels(const Netlist& netlist);

// One hardened layer: gate g reads inputs[wiring.a[g]] and inputs[wiring.b[g]].
std::vector<Net> append_layer(Netlist& netlist, const Wiring& wiring, std::span<const Gate> gates,
                              std::span<const Net> inputs);

// A hardened logic automaton, as the lattice trains it: every kernel has its own gates on shared wiring.
struct AutomatonLogic {
  int channels = 1;
  std::vector<Wiring> perceive;                         // [layer]
  std::vector<std::vector<std::vector<Gate>>> kernels;  // [K][layer][gate]
  std::vector<Wiring> update;                           // [layer]
  std::vector<std::vector<Gate>> update_gates;          // [layer][gate]
};
// Every gate as trained, wires and dead ones included.
Netlist cell_netlist(const AutomatonLogic& automaton);

// Conway's rule on one channel, written by hand: an oracle, a bench and an example.
Netlist life_cell();
// Every channel XNOR of one neighbour of its own and one of the next channel: a small rule for tests.
Netlist parity_cell(int channels);

}  // namespace espalier
