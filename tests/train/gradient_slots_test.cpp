#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "espalier/error.hpp"
#include "espalier/parameters.hpp"
#include "espalier/random.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

void fill(GradientSlots& slots, std::uint64_t seed) {
  const Random random(seed, Purpose::kData);
  std::uint64_t element = 0;
  for (std::size_t s = 0; s < slots.count(); ++s)
    for (float& g : slots.slot(s)) g = random.normal(element++) * 1000;
}

// The order contract written as plainly as possible: neighbours, then pairs of pairs.
float tree_sum(GradientSlots& slots, std::size_t at) {
  std::vector<float> parts;
  for (std::size_t s = 0; s < slots.count(); ++s) parts.push_back(slots.slot(s)[at]);
  for (std::size_t stride = 1; stride < parts.size(); stride *= 2)
    for (std::size_t i = 0; i + stride < parts.size(); i += 2 * stride) parts[i] += parts[i + stride];
  return parts[0];
}

TEST(GradientSlots, TotalIsTheTreeSumToTheBit) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto count = *rc::gen::inRange<std::size_t>(1, 80), floats = *rc::gen::inRange<std::size_t>(1, 700);
    GradientSlots slots(count, floats);
    fill(slots, seed);
    std::vector<float> total(floats, 0.25f);
    slots.add_to(total, ThreadPool(1));
    for (std::size_t i = 0; i < floats; ++i) RC_ASSERT(total[i] == 0.25f + tree_sum(slots, i));
  }));
}

TEST(GradientSlots, EveryNumberOfSlotsUpTo70SumsInTheSameTree) {
  for (std::size_t count = 1; count <= 70; ++count) {
    GradientSlots slots(count, 33);
    fill(slots, count);
    std::vector<float> total(33);
    slots.add_to(total, ThreadPool(1));
    for (std::size_t i = 0; i < total.size(); ++i) ASSERT_EQ(total[i], tree_sum(slots, i)) << count;
  }
}

TEST(GradientSlots, ZeroClearsEverySlotAndSlotsDoNotOverlap) {
  GradientSlots slots(5, 7);
  for (std::size_t s = 0; s < 5; ++s)
    for (float& g : slots.slot(s)) g = static_cast<float>(s + 1);
  for (std::size_t s = 0; s < 5; ++s)
    for (const float g : slots.slot(s)) EXPECT_EQ(g, static_cast<float>(s + 1));
  slots.zero(ThreadPool(1));
  for (std::size_t s = 0; s < 5; ++s)
    for (const float g : slots.slot(s)) EXPECT_EQ(g, 0);
}

TEST(GradientSlots, WrongSizesAreErrors) {
  EXPECT_THROW(GradientSlots(0, 7), Error);
  EXPECT_THROW(GradientSlots(~std::size_t{0} / 4, 1 << 20), Error);
  EXPECT_THROW(GradientSlots(1, ~std::size_t{0}), Error);
  EXPECT_THROW(GradientSlots(2, 7).slot(2), Error);
  EXPECT_THROW(GradientSlots(2, 7).slot(~std::size_t{0}), Error);
  EXPECT_TRUE(GradientSlots(2, 0).slot(1).empty());
  std::vector<float> total(6);
  EXPECT_THROW(GradientSlots(2, 7).add_to(total, ThreadPool(1)), Error);
}

TEST(GradientSlotsDeterminism, TheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  GradientSlots start(19, 20'001);
  fill(start, 4);
  const auto run = [&](int threads) {
    const ThreadPool pool(threads);
    GradientSlots slots(start.count(), 20'001);
    slots.zero(pool);
    for (std::size_t s = 0; s < start.count(); ++s)
      std::copy(start.slot(s).begin(), start.slot(s).end(), slots.slot(s).begin());
    std::vector<float> total(20'001);
    slots.add_to(total, pool);
    return total;
  };
  const auto expected = run(1);
  for (const int threads : kThreadCounts) EXPECT_EQ(run(threads), expected) << threads;
}

}  // namespace
}  // namespace espalier
