// The pool of boards: which are drawn, which begin anew, which are damaged and how, and what is kept of them.
#include "models/lattice/board_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr int kChannels = 3, kJudged = 2, kHeight = 6, kWidth = 9, kBatch = 5;
constexpr std::size_t kCells = kHeight * kWidth, kValues = kChannels * kCells, kBoards = 12;
const RolloutOptions kRollout{.batch = kBatch, .height = kHeight, .width = kWidth, .steps = 4};

// A start that no damage and no state of these tests could be taken for.
std::vector<float> starts(int boards) {
  std::vector<float> values(static_cast<std::size_t>(boards) * kValues);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % kValues % 7 == 3 ? 1.0f : 0.0f;
  return values;
}

std::vector<float> targets() {
  std::vector<float> values(kBatch * kJudged * kCells);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % (kJudged * kCells) % 3 == 0 ? 1.0f : 0.0f;
  return values;
}

// Board b has the target in its judged channels but for 3 b bits, and ones in the others: no two are equally good.
bool stored(std::size_t board, std::size_t i) {
  if (i >= kJudged * kCells) return true;
  return (i % 3 == 0) != (i < 3 * board);
}

BoardPool filled_pool(std::uint64_t damaged, std::uint64_t seed = 1) {
  BoardPool pool({kBoards, damaged}, kRollout, kChannels, seed, starts(1));
  BoardPool::Drawn all;
  std::vector<std::uint8_t> bits;
  for (std::size_t b = 0; b < kBoards; ++b) {
    all.boards.push_back(b);
    for (std::size_t i = 0; i < kValues; ++i) bits.push_back(stored(b, i));
  }
  pool.keep(all, bits);
  pool.commit();
  return pool;
}

TEST(BoardPool, EveryBoardIsTheStartAtFirst) {
  const BoardPool pool({kBoards, 0}, kRollout, kChannels, 1, starts(1));
  for (std::size_t b = 0; b < kBoards; ++b)
    for (std::size_t i = 0; i < kValues; ++i) EXPECT_EQ(pool.bit(b, i), i % 7 == 3);
  EXPECT_EQ(pool.bytes(), kBoards * ((kValues + 7) / 8));
}

TEST(BoardPool, ABatchIsOfDifferentBoardsTheWorstBegunAnewAndTheBestDamaged) {
  for (const std::uint64_t damaged : {0, 2, 4}) {
    const BoardPool pool = filled_pool(damaged);
    std::set<std::size_t> seen;
    for (std::uint64_t batch = 0; batch < 60; ++batch) {
      const std::vector<float> fresh = starts(kBatch);
      std::vector<float> initial = fresh;
      const BoardPool::Drawn drawn = pool.draw(batch, targets(), initial);
      ASSERT_EQ(drawn.boards.size(), static_cast<std::size_t>(kBatch));
      EXPECT_EQ(std::set<std::size_t>(drawn.boards.begin(), drawn.boards.end()).size(), drawn.boards.size());
      seen.insert(drawn.boards.begin(), drawn.boards.end());
      EXPECT_EQ(drawn.boards[drawn.restarted], *std::ranges::max_element(drawn.boards));
      std::vector<std::size_t> best = drawn.boards, struck;
      std::ranges::sort(best);
      best.resize(damaged);
      for (const std::size_t n : drawn.damaged) struck.push_back(drawn.boards[n]);
      EXPECT_EQ(struck, best);
      for (std::size_t n = 0; n < kBatch; ++n) {
        const bool is_damaged = std::ranges::find(drawn.damaged, n) != drawn.damaged.end();
        for (std::size_t i = 0; i < kValues && !is_damaged; ++i) {
          const float wanted = n == drawn.restarted ? fresh[i] : stored(drawn.boards[n], i) ? 1.0f : 0.0f;
          ASSERT_EQ(initial[n * kValues + i], wanted) << n << " " << i;
        }
      }
    }
    EXPECT_EQ(seen.size(), kBoards);
  }
}

TEST(BoardPool, DamageIsASquareOfAtMostAQuarterOfZerosOrNoise) {
  const BoardPool pool = filled_pool(3);
  int dead = 0, noisy = 0;
  std::set<std::size_t> sides;
  for (std::uint64_t batch = 0; batch < 100; ++batch) {
    std::vector<float> initial = starts(kBatch);
    const BoardPool::Drawn drawn = pool.draw(batch, targets(), initial);
    for (const std::size_t n : drawn.damaged) {
      // The last channel was all ones: zeros there show where the square is, or a part of it.
      std::size_t top = kHeight, left = kWidth, bottom = 0, right = 0, zeros = 0;
      for (std::size_t cell = 0; cell < kCells; ++cell)
        if (initial[n * kValues + kJudged * kCells + cell] == 0) {
          ++zeros;
          top = std::min(top, cell / kWidth), bottom = std::max(bottom, cell / kWidth + 1);
          left = std::min(left, cell % kWidth), right = std::max(right, cell % kWidth + 1);
        }
      if (!zeros) continue;  // noise that is all ones
      const std::size_t side = std::max(bottom - top, right - left);
      EXPECT_LE(side, static_cast<std::size_t>(kHeight) / 2);
      bool any = false;
      for (std::size_t i = 0; i < kValues; ++i) {
        const std::size_t y = i % kCells / kWidth, x = i % kWidth;
        const bool inside = y >= top && y < bottom && x >= left && x < right;
        any |= inside && initial[n * kValues + i] != 0;
        // Squares of noise may reach a little further than their zeros.
        const bool near = y + 3 >= bottom && y < top + 3 && x + 3 >= right && x < left + 3;
        EXPECT_TRUE(near || (initial[n * kValues + i] != 0) == stored(drawn.boards[n], i));
      }
      if (!any && bottom - top == right - left) {  // or noise that is hardly any
        ++dead;
        sides.insert(side);
      } else {
        ++noisy;
      }
    }
  }
  EXPECT_GT(dead, 50);
  EXPECT_GT(noisy, 50);
  EXPECT_EQ(sides, (std::set<std::size_t>{1, 2, 3}));
}

TEST(BoardPool, DrawingIsAFunctionOfSeedPoolAndBatch) {
  const BoardPool pool = filled_pool(2), same = filled_pool(2), other = filled_pool(2, 9);
  int different = 0;
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    std::vector<float> a = starts(kBatch), b = a, c = a;
    pool.draw(batch, targets(), a);
    pool.draw(batch + 1, targets(), c);
    pool.draw(batch, targets(), b);
    EXPECT_EQ(a, b);
    b = starts(kBatch);
    same.draw(batch, targets(), b);
    EXPECT_EQ(a, b);
    b = starts(kBatch);
    other.draw(batch, targets(), b);
    different += (a != b) + (a != c);
  }
  EXPECT_GT(different, 35);
}

TEST(BoardPool, WhatABatchLeftIsThereAfterItsStepAndNotBefore) {
  BoardPool pool = filled_pool(1);
  std::vector<float> initial = starts(kBatch);
  const BoardPool::Drawn drawn = pool.draw(3, targets(), initial);
  const std::string before = pool.state().tensors_hash();
  const std::vector<std::uint8_t> last(kBatch * kValues, 1);
  pool.keep(drawn, last);
  EXPECT_EQ(pool.state().tensors_hash(), before);
  pool.forget();
  pool.commit();
  EXPECT_EQ(pool.state().tensors_hash(), before);
  pool.keep(drawn, last);
  pool.commit();
  for (std::size_t b = 0; b < kBoards; ++b) {
    const bool used = std::ranges::find(drawn.boards, b) != drawn.boards.end();
    for (std::size_t i = 0; i < kValues; ++i) EXPECT_EQ(pool.bit(b, i), used || stored(b, i));
  }
  BoardPool other = filled_pool(1);
  other.restore(SafetensorsFile::parse(pool.state().serialize(), "pool"));
  EXPECT_EQ(other.state().tensors_hash(), pool.state().tensors_hash());
  BoardPool smaller({kBoards - 1, 1}, kRollout, kChannels, 1, starts(1));
  EXPECT_THROW(smaller.restore(pool.state()), Error);
  EXPECT_THROW(smaller.restore({}), Error);
}

TEST(BoardPool, WhatCannotBeIsRefusedBeforeItIsAllocated) {
  const auto refused = [](BoardPoolOptions options, RolloutOptions rollout, const char* why) {
    try {
      check_pool(options, rollout, 64);
    } catch (const Error& error) {
      return std::string(error.what()).find(why) != std::string::npos;
    }
    return false;
  };
  RolloutOptions large = kRollout, one = kRollout;
  large.height = large.width = 1024;
  one.batch = 1;
  EXPECT_TRUE(refused({0, 1}, kRollout, "no pool"));
  EXPECT_TRUE(refused({64, 0}, one, "one board"));
  EXPECT_TRUE(refused({4, 0}, kRollout, "at least 5"));
  EXPECT_TRUE(refused({64, 5}, kRollout, "at most 4"));
  EXPECT_TRUE(refused({1'000'000, 0}, large, "GiB"));
  EXPECT_NO_THROW(check_pool({}, one, 64));
  EXPECT_NO_THROW(check_pool({64, 4}, kRollout, 64));
}

}  // namespace
}  // namespace espalier
