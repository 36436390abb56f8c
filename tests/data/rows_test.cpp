// The split into parts, and the mini-batches of epochs.
#include "data/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "espalier/error.hpp"

namespace espalier {
namespace {

TEST(Rows, TheSplitIsDisjointAndWhole) {
  const TableSplit s = split_rows(100, 0.25, 0.2, 3);
  std::set<std::size_t> all;
  for (const auto* part : {&s.train, &s.validation, &s.test}) all.insert(part->begin(), part->end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(s.test.size(), 25u);
  EXPECT_EQ(s.validation.size(), 15u);
  EXPECT_NE(split_rows(100, 0.25, 0.2, 4).test, s.test);
  EXPECT_THROW(split_rows(2, 0.25, 0.2, 3), Error);
}

TEST(Rows, AnEpochMeetsRowsOnceAndTheNextInAnotherOrder) {
  EpochOrder order(10, 3, 5);
  const auto epoch = [&](std::uint64_t first) {
    std::vector<std::uint32_t> rows;
    for (std::uint64_t batch = first; batch < first + 3; ++batch) {
      EXPECT_EQ(order.batch(batch).size(), 3u);
      std::ranges::copy(order.batch(batch), std::back_inserter(rows));
    }
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 9u);  // one row is left out
    EXPECT_LT(*std::ranges::max_element(rows), 10u);
    return rows;
  };
  const std::vector<std::uint32_t> first = epoch(0);
  EXPECT_NE(epoch(3), first);
  EXPECT_EQ(epoch(0), first);  // of the batch number alone, as after a resume
  EXPECT_EQ(EpochOrder(2, 32, 5).batch(7).size(), 2u);
  EXPECT_THROW(EpochOrder(0, 32, 5), Error);
}

}  // namespace
}  // namespace espalier
