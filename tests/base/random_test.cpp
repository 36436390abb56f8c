#include "espalier/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace espalier {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, EveryPartOfTheKeyMatters) {
  const auto value = [](std::uint64_t seed, Purpose p, std::uint32_t step, std::uint64_t element) {
    return Random(seed, p, step).bits64(element);
  };
  const auto base = value(1, Purpose::kInit, 0, 0);
  EXPECT_NE(base, value(2, Purpose::kInit, 0, 0));
  EXPECT_NE(base, value(1 + (1ull << 32), Purpose::kInit, 0, 0));
  EXPECT_NE(base, value(1, Purpose::kWiring, 0, 0));
  EXPECT_NE(base, value(1, Purpose::kInit, 1, 0));
  EXPECT_NE(base, value(1, Purpose::kInit, 0, 1));
  EXPECT_NE(base, value(1, Purpose::kInit, 0, 1ull << 32));
}

struct Moments {
  double mean = 0, variance = 0;
};
template <class F>
Moments moments(F draw, int n = 200'000) {
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draw(i);
    sum += x;
    squares += x * x;
  }
  return {sum / n, squares / n - (sum / n) * (sum / n)};
}

TEST(Random, UniformNormalAndGumbelHaveTheirMoments) {
  const Random r(7, Purpose::kData, 3);
  const Moments u = moments([&](int i) { return r.uniform(i); });
  EXPECT_NEAR(u.mean, 0.5, 0.003);
  EXPECT_NEAR(u.variance, 1.0 / 12, 0.002);
  const Moments n = moments([&](int i) { return r.normal(i); });
  EXPECT_NEAR(n.mean, 0, 0.01);
  EXPECT_NEAR(n.variance, 1, 0.02);
  const Moments g = moments([&](int i) { return r.gumbel(i); });
  EXPECT_NEAR(g.mean, 0.5772, 0.015);
  EXPECT_NEAR(g.variance, std::pow(3.14159265, 2) / 6, 0.04);
}

TEST(Random, ChoiceIsInRangeAndEven) {
  const Random r(7, Purpose::kData);
  std::vector<int> counts(10);
  for (int i = 0; i < 100'000; ++i) ++counts.at(r.choice(i, 10));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(r.choice(0, 1), 0u);
}

TEST(Random, ShuffleIsAPermutationAndEveryPlaceIsLikely) {
  std::vector<int> at_zero(5);
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    std::vector<int> v(5);
    std::iota(v.begin(), v.end(), 0);
    Random(3, Purpose::kBatch, step).shuffle(std::span(v));
    ++at_zero[v[0]];
    std::sort(v.begin(), v.end());
    ASSERT_EQ(v, (std::vector<int>{0, 1, 2, 3, 4}));
  }
  for (const int count : at_zero) EXPECT_NEAR(count, 4000, 250);
}

}  // namespace
}  // namespace espalier
