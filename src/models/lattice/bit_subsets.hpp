// For every bit of the target: the few bits of the patch that it depends on, whatever states they belong to.
#pragma once

#include "models/lattice/view_fit.hpp"

namespace espalier {

struct BitTable {
  std::vector<int> reads;                // bits of the patch: place x channels + channel
  std::vector<std::uint32_t> ones, all;  // [value of these bits]: how often the target's bit was 1, how often seen
  bool outcome(std::size_t value) const { return 2 * ones[value] > all[value]; }
  std::size_t value(const std::array<std::uint16_t, kPatch>& cells, const BoardCases& cases) const;
  // Values that can occur with the states that occur, ascending.
  std::vector<std::size_t> possible(const BoardCases& cases) const;
};

struct FittedBits {
  std::vector<BitTable> tables;  // [target channel]
  Misfit misfit;
  double misfit_bits = 0, bits = 0;
  std::size_t entries_seen = 0;
  std::string words;
  std::uint64_t said(const std::array<std::uint16_t, kPatch>& cells, const BoardCases& cases) const;
};

// `thorough`: also where several bits tell nothing one by one, which takes longer.
FittedBits fit_bits(const BoardCases& cases, bool thorough, const ThreadPool& pool);

}  // namespace espalier
