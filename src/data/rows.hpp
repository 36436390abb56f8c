// Which rows of a set are for what: the split into parts, and the mini-batches of every epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier {

std::vector<std::size_t> all_rows(std::size_t count);  // 0, 1, ...

struct TableSplit {
  std::vector<std::size_t> train, validation, test;
};
// Shuffled by the seed; the test rows depend on the seed and their fraction alone.
TableSplit split_rows(std::size_t rows, double test_fraction, double validation_fraction, std::uint64_t seed);

// Mini-batches of rows 0 to rows - 1. Every epoch is a new shuffle, and batch numbers run on across epochs; the rows
// that do not fill a batch are left out of their epoch.
class EpochOrder {
 public:
  EpochOrder(std::size_t rows, std::size_t batch_size, std::uint64_t seed);  // a batch has `rows` at most
  std::span<const std::uint32_t> batch(std::uint64_t number);                // valid until the next call

 private:
  std::uint64_t seed_;
  std::size_t batch_size_;
  std::vector<std::uint32_t> order_;
  std::uint64_t shuffled_epoch_ = ~std::uint64_t{0};
};

}  // namespace espalier
