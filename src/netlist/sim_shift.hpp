// Rows moved one cell to the east and to the west: what a cell sees of its western and eastern neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier {

struct ShiftShape {
  std::size_t rows, row_words;
  unsigned last_bit;  // of the last cell in a row's last word
  bool periodic;
};

// Consecutive rows of `in` (with at least one readable word before and after; 8 more may be read and written behind).
// west: bit x = cell x - 1; east: bit x = cell x + 1. Either may be null.
void shift_rows(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east);

}  // namespace espalier
