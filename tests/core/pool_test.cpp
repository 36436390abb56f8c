#include "espalier/core/pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "espalier/core/error.hpp"
#include "espalier/core/random.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr double kCostly = 1e6;  // pretend-nanoseconds an item: never too small for the pool

class PoolTest : public testing::Test {
 protected:
  Oversubscribe oversubscribe_;
};

TEST_F(PoolTest, ChunksCoverEveryItemOnceForAnyThreadCount) {
  for (const int threads : kThreadCounts) {
    const Pool pool(threads);
    EXPECT_EQ(pool.workers(), threads);
    std::vector<int> seen(1003);
    pool.for_chunks(seen.size(), 10, kCostly, [&](Chunk c) {
      EXPECT_EQ(c.begin, c.index * 10);
      for (std::size_t i = c.begin; i < c.end; ++i) ++seen[i];
    });
    for (const int count : seen) ASSERT_EQ(count, 1);
  }
}

TEST_F(PoolTest, ReductionGivesTheSameBitsForAnyThreadCount) {
  const Random r(5, Purpose::kData);
  auto sum = [&](const Pool& pool) {
    return pool.reduce(
        100'000, 128, kCostly, 0.0f,
        [&](Chunk c) {
          float s = 0;
          for (std::size_t i = c.begin; i < c.end; ++i) s += r.normal(i) * 1e3f;
          return s;
        },
        [](float& a, const float& b) { a += b; });
  };
  const float expected = sum(Pool(1));
  for (const int threads : kThreadCounts)
    for (int repeat = 0; repeat < 5; ++repeat) EXPECT_EQ(sum(Pool(threads)), expected) << threads;
}

TEST_F(PoolTest, LargeWorkUsesSeveralThreads) {
  const Pool pool(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  pool.for_chunks(64, 1, kCostly, [&](Chunk) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_GT(ids.size(), 1u);
}

TEST_F(PoolTest, SmallWorkStaysOnTheCallingThread) {
  const Pool pool(4);
  pool.for_chunks(100, 1, 1.0,
                  [&, caller = std::this_thread::get_id()](Chunk) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST_F(PoolTest, ExceptionsPassThroughAndThePoolLivesOn) {
  const Pool pool(3);
  EXPECT_THROW(pool.for_chunks(50, 1, kCostly,
                               [](Chunk c) {
                                 if (c.index == 17) throw Error("boom");
                               }),
               Error);
  int done = 0;
  pool.for_chunks(1, 1, kCostly, [&](Chunk) { ++done; });
  EXPECT_EQ(done, 1);
}

TEST_F(PoolTest, ARaisedFlagCancelsForAnyThreadCount) {
  for (const int threads : kThreadCounts) {
    StopFlag stop;
    Pool pool(threads);
    pool.watch(&stop);
    std::atomic<int> ran{0};
    EXPECT_THROW(pool.for_chunks(100'000, 1, kCostly,
                                 [&](Chunk) {
                                   if (++ran == 10) stop.raise();
                                 }),
                 Cancelled);
    EXPECT_LT(ran, 100'000);
  }
}

TEST(Pool, StartsNoMoreWorkersThanCores) {
  unsetenv("ESPALIER_OVERSUBSCRIBE");
  const Pool pool(1000);
  EXPECT_EQ(pool.threads(), 1000);
  EXPECT_LE(pool.workers(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Pool, RefusesNonsense) {
  EXPECT_THROW(Pool(-1), Error);
  EXPECT_THROW(Pool(100'000), Error);
  setenv("ESPALIER_THREADS", "many", 1);
  EXPECT_THROW(Pool(0), Error);
  setenv("ESPALIER_THREADS", "1", 1);
  EXPECT_EQ(Pool(0).threads(), 1);
  unsetenv("ESPALIER_THREADS");
}

}  // namespace
}  // namespace espalier
