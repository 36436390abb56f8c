// The customary notation of an identified rule, where there is one: "B3/S23", "B2/S/3".
#pragma once

#include "models/lattice/identified_cell.hpp"

namespace espalier {

// Life-like rules of two states, and Generations: a cell that does not survive grows old through further states before
// it is dead again. What is guessed is part of the notation.
std::optional<std::string> notation_of(const NeighbourView& view, const CompleteTable& table, const BoardCases& cases);

}  // namespace espalier
