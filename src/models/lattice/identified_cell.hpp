// Fitted tables completed by guesses, and made into circuits.
#pragma once

#include "models/lattice/bit_subsets.hpp"

namespace espalier {

// A table with an outcome for every case that can occur.
struct CompleteTable {
  std::vector<NeighbourView::Key> keys;  // ascending
  std::vector<std::uint16_t> outcome;
  std::vector<bool> settled;                       // by the data; others are guesses
  std::vector<std::uint32_t> times;                // seen
  std::size_t find(NeighbourView::Key key) const;  // keys.size() when it is none
};

// Of how many more votes an outcome needs than any other to be settled, among so many entries at this noise.
std::uint32_t needed_margin(double noise, std::size_t entries);

// Cases that were not seen become what the nearest that was seen becomes. Nothing when there are too many cases.
std::optional<CompleteTable> complete(const FittedView& fit, const BoardCases& cases, double noise);
// [target channel][value of its bits]
std::vector<CompleteTable> complete(const FittedBits& fit, const BoardCases& cases, double noise);

Netlist cell_of(const NeighbourView& view, const CompleteTable& table, const BoardCases& cases, int channels);
Netlist cell_of(const FittedBits& fit, const std::vector<CompleteTable>& tables, const BoardCases& cases, int channels);

}  // namespace espalier
