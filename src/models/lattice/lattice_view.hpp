// Lattice models looked at.
#pragma once

#include "base/image.hpp"
#include "espalier/lattice_model.hpp"

namespace espalier {

// The loss channels: one as black and white, three as red, green and blue.
Image view_board(const LatticeModel& model, const BoardState& state);
// Every channel as a small picture, in rows.
Image view_channels(const BoardState& state);

// Of a folded cell, without the constants that outputs read.
long live_gates(const Netlist& cell);

}  // namespace espalier
