// The best table for a view of the neighbourhood, and how many bits it takes to say the targets with it.
#pragma once

#include <span>

#include "models/lattice/neighbour_view.hpp"

namespace espalier {

// Bits to say where the targets are not what the table says: by cells, or by bits of the target, whichever is shorter.
struct Misfit {
  std::size_t wrong = 0;                // cells
  std::vector<std::size_t> wrong_bits;  // [target channel]
  void add(std::uint64_t said, const BoardCases& cases, const PatchCase& c);
  double bits(std::size_t cells, std::size_t outcomes) const;
};

double entropy_bits(double fraction);  // of a coin

struct FittedView {
  NeighbourView view;
  std::vector<NeighbourView::Key> keys;  // as they came
  // For each key: the commonest outcome, how often the key was seen, with it, and with the second commonest. An outcome
  // is one of the nexts; of a cyclic view it is how far the state moves on in the cycle.
  std::vector<std::uint16_t> outcome;
  std::vector<std::uint32_t> times, first, second;
  std::vector<std::uint32_t> key_of;  // [case]
  Misfit misfit;
  double misfit_bits = 0, bits = 0;

  // What the table says for a case: a code.
  std::uint64_t said(std::size_t entry, std::uint16_t own, const BoardCases& cases) const;
};

// Nothing when the entries alone take more than `limit` bits.
std::optional<FittedView> fit_view(const NeighbourView& view, const BoardCases& cases, std::span<const PatchCase> some,
                                   double limit);
// The code of the state that lies so far ahead in a view's cycle.
std::uint64_t moved_on(const NeighbourView& view, const BoardCases& cases, std::uint16_t own, std::uint16_t by);

}  // namespace espalier
