// The split of a set of rows, and the order of its epochs.
#include "data/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {

std::vector<std::size_t> all_rows(std::size_t count) {
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

TableSplit split_rows(std::size_t rows, double test_fraction, double validation_fraction, std::uint64_t seed) {
  std::vector<std::size_t> order = all_rows(rows);
  Random(seed, Purpose::kSplit).shuffle(std::span(order));
  const auto test = static_cast<std::size_t>(std::lround(test_fraction * static_cast<double>(rows)));
  const auto validation = static_cast<std::size_t>(std::lround(validation_fraction * static_cast<double>(rows - test)));
  if (rows < 3 || test + validation >= rows || validation == 0)
    fail("table", fmt::format("{} rows, {} of them for the test, {} for validation", rows, test, validation),
         "rows for training and for validation too");
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(test + validation), order.end()}, {at(test), at(test + validation)}, {at(0), at(test)}};
}

EpochOrder::EpochOrder(std::size_t rows, std::size_t batch_size, std::uint64_t seed)
    : seed_(seed), batch_size_(std::min(batch_size, rows)), order_(rows) {
  if (batch_size_ == 0) fail("epochs", fmt::format("{} rows in batches of {}", rows, batch_size), "one row or more");
}

std::span<const std::uint32_t> EpochOrder::batch(std::uint64_t number) {
  const std::uint64_t per_epoch = order_.size() / batch_size_, epoch = number / per_epoch;
  if (epoch != shuffled_epoch_) {
    std::iota(order_.begin(), order_.end(), 0u);
    Random(seed_, Purpose::kBatch, static_cast<std::uint32_t>(epoch)).shuffle(std::span(order_));
    shuffled_epoch_ = epoch;
  }
  return std::span(order_).subspan(number % per_epoch * batch_size_, batch_size_);
}

}  // namespace espalier
