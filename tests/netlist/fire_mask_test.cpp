#include "netlist/fire_mask.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "logic/each_target.hpp"

namespace espalier {
namespace {

std::vector<std::uint64_t> mask(std::uint64_t seed, std::uint32_t step, double rate, std::size_t words,
                                std::uint64_t first = 0) {
  std::vector<std::uint64_t> out(words);
  FireMask(seed, step, rate).fill(first, out);
  return out;
}

// Rates on both sides of every digit of rate x 256, and between its whole numbers.
TEST(FireMask, VectorCodeEqualsThePlainDefinitionAtAnyOffset) {
  for_each_target([] {
    for (const double rate : {0.0, 0.001, 0.1, 127.5 / 256, 0.5, 0.6, 191.3 / 256, 0.998, 0.999, 1.0})
      for (const std::uint64_t first : {0u, 1u, 5u, 16u, 1000003u})
        for (const std::size_t words : {1u, 7u, 16u, 33u, 100u}) {
          const FireMask fire(42, 7, rate);
          const auto fast = mask(42, 7, rate, words, first);
          for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(fast[i], fire.word(first + i)) << rate << " " << first + i;
        }
  });
}

TEST(FireMask, FiresAtTheRate) {
  for (const double rate : {0.0, 0.003, 0.25, 0.5, 0.6, 0.9, 1.0}) {
    constexpr std::size_t kWords = 1 << 16;
    double count = 0;
    for (const std::uint64_t word : mask(1, 3, rate, kWords)) count += std::popcount(word);
    const double cells = 64.0 * kWords;
    EXPECT_NEAR(count / cells, rate, 5 * std::sqrt(rate * (1 - rate) / cells) + 1e-12);
  }
}

TEST(FireMask, CellsAndStepsAreUncorrelated) {
  constexpr std::size_t kWords = 1 << 15;
  const auto now = mask(9, 0, 0.6, kWords + 64), later = mask(9, 1, 0.6, kWords), other = mask(10, 0, 0.6, kWords);
  const auto correlation = [&](auto word_of_second) {
    double both = 0;
    for (std::size_t i = 0; i < kWords; ++i) both += std::popcount(now[i] & word_of_second(i));
    return (both / (64.0 * kWords) - 0.36) / 0.24;
  };
  const double bound = 5 / std::sqrt(64.0 * kWords) + 0.002;  // 0.002: the sampled mean is not 0.6 exactly
  EXPECT_NEAR(correlation([&](std::size_t i) { return later[i]; }), 0, bound);
  EXPECT_NEAR(correlation([&](std::size_t i) { return other[i]; }), 0, bound);
  for (const std::size_t words : {1u, 3u, 4u, 8u, 12u, 16u, 64u})
    EXPECT_NEAR(correlation([&](std::size_t i) { return now[i + words]; }), 0, bound) << words;
  for (const int shift : {1, 2, 31, 32})
    EXPECT_NEAR(correlation([&](std::size_t i) { return now[i] >> shift | now[i + 1] << (64 - shift); }), 0, bound)
        << shift;
}

TEST(FireMask, CountsOfSmallBlocksVaryAsIndependentCoinsDo) {
  constexpr std::size_t kWords = 1 << 15;
  const auto m = mask(77, 5, 0.6, kWords);
  for (const std::size_t block : {1u, 4u, 16u}) {  // words
    double sum = 0, squares = 0;
    const std::size_t blocks = kWords / block;
    for (std::size_t b = 0; b < blocks; ++b) {
      double count = 0;
      for (std::size_t w = 0; w < block; ++w) count += std::popcount(m[b * block + w]);
      sum += count;
      squares += count * count;
    }
    const double mean = sum / blocks, variance = squares / blocks - mean * mean, expected = 64.0 * block * 0.24;
    EXPECT_NEAR(variance / expected, 1, 6 * std::sqrt(2.0 / blocks) + 0.02) << block;
  }
}

TEST(FireMask, CellsOfABoardAreItsRowsPaddedToWords) {
  const FireMask fire(3, 4, 0.5);
  for (std::size_t y = 0; y < 5; ++y)
    for (std::size_t x = 0; x < 100; ++x)
      EXPECT_EQ(fire.fires(y, x, 100), static_cast<bool>(fire.word(2 * y + x / 64) >> (x % 64) & 1));
}

}  // namespace
}  // namespace espalier
