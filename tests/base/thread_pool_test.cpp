#include "espalier/thread_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
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
    const ThreadPool pool(threads);
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
  auto sum = [&](const ThreadPool& pool) {
    return pool.reduce(
        100'000, 128, kCostly, 0.0f,
        [&](Chunk c) {
          float s = 0;
          for (std::size_t i = c.begin; i < c.end; ++i) s += r.normal(i) * 1e3f;
          return s;
        },
        [](float& a, const float& b) { a += b; });
  };
  const float expected = sum(ThreadPool(1));
  for (const int threads : kThreadCounts)
    for (int repeat = 0; repeat < 5; ++repeat) EXPECT_EQ(sum(ThreadPool(threads)), expected) << threads;
}

TEST_F(PoolTest, LargeWorkUsesSeveralThreads) {
  const ThreadPool pool(4);
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
  const ThreadPool pool(4);
  pool.for_chunks(100, 1, 1.0,
                  [&, caller = std::this_thread::get_id()](Chunk) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST_F(PoolTest, ExceptionsPassThroughAndThePoolLivesOn) {
  const ThreadPool pool(3);
  EXPECT_THROW(pool.for_chunks(50, 1, kCostly,
                               [](Chunk c) {
                                 if (c.index == 17) throw Error("boom");
                               }),
               Error);
  std::atomic<int> done = 0;
  pool.for_chunks(50, 1, kCostly, [&](Chunk) { ++done; });
  EXPECT_EQ(done, 50);
}

TEST_F(PoolTest, ManyShortLoopsLoseNoChunk) {
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    std::vector<int> sums(37);
    for (int loop = 0; loop < 2000; ++loop)
      pool.for_chunks(sums.size(), 1, kCostly, [&](Chunk c) { sums[c.index] += loop; });
    for (const int sum : sums) ASSERT_EQ(sum, 2000 * 1999 / 2) << threads;
  }
}

TEST_F(PoolTest, ALoopInsideALoopDoesItsWork) {
  const ThreadPool pool(3);
  std::vector<std::array<int, 20>> seen(10);
  pool.for_chunks(seen.size(), 1, kCostly, [&](Chunk outer) {
    pool.for_chunks(20, 1, kCostly, [&](Chunk inner) { ++seen[outer.index][inner.index]; });
  });
  for (const auto& row : seen)
    for (const int count : row) ASSERT_EQ(count, 1);
}

TEST_F(PoolTest, SeveralThreadsMayUseOnePool) {
  const ThreadPool pool(3);
  std::vector<std::vector<int>> seen(4, std::vector<int>(50));
  std::vector<std::thread> callers;
  for (auto& mine : seen)
    callers.emplace_back([&pool, &mine] {
      for (int loop = 0; loop < 200; ++loop)
        pool.for_chunks(mine.size(), 1, kCostly, [&](Chunk c) { ++mine[c.index]; });
    });
  for (std::thread& caller : callers) caller.join();
  for (const auto& mine : seen)
    for (const int count : mine) ASSERT_EQ(count, 200);
}

TEST_F(PoolTest, ARaisedFlagCancelsForAnyThreadCount) {
  for (const int threads : kThreadCounts) {
    StopFlag stop;
    ThreadPool pool(threads);
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

TEST_F(PoolTest, AnotherThreadPausesALoopAndAClearedFlagLetsItRunAgain) {
  for (const int threads : kThreadCounts) {
    StopFlag stop;
    ThreadPool pool(threads);
    pool.watch(&stop);
    std::thread other([&] { stop.raise(); });
    EXPECT_THROW(while (true) pool.for_chunks(64, 1, kCostly, [](Chunk) {}), Cancelled);
    other.join();
    stop.clear();
    std::atomic<int> ran{0};
    pool.for_chunks(64, 1, kCostly, [&](Chunk) { ++ran; });
    EXPECT_EQ(ran, 64);
    pool.watch(nullptr);
    stop.raise();
    EXPECT_NO_THROW(pool.for_chunks(64, 1, kCostly, [](Chunk) {}));
  }
}

TEST(ThreadPool, StartsNoMoreWorkersThanCores) {
  unsetenv("ESPALIER_OVERSUBSCRIBE");
  const ThreadPool pool(1000);
  EXPECT_EQ(pool.threads(), 1000);
  EXPECT_LE(pool.workers(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_F(PoolTest, ChunksOfNothingAreRefusedAndHugeOnesAreOne) {
  for (const int threads : {1, 2}) {
    const ThreadPool pool(threads);
    EXPECT_THROW(pool.for_chunks(10, 0, 1, [](Chunk) {}), Error);
    EXPECT_THROW(pool.reduce(
                     10, 0, 1, 0, [](Chunk) { return 1; }, [](int& a, int b) { a += b; }),
                 Error);
    std::size_t items = 0;
    pool.for_chunks(10, ~std::size_t{0}, 1e9, [&](Chunk c) { items += c.end - c.begin; });
    EXPECT_EQ(items, 10u);
  }
}

TEST(ThreadPool, RefusesNonsense) {
  EXPECT_THROW(ThreadPool(-1), Error);
  EXPECT_THROW(ThreadPool(100'000), Error);
  setenv("ESPALIER_THREADS", "many", 1);
  EXPECT_THROW(ThreadPool(0), Error);
  setenv("ESPALIER_THREADS", "1", 1);
  EXPECT_EQ(ThreadPool(0).threads(), 1);
  unsetenv("ESPALIER_THREADS");
}

}  // namespace
}  // namespace espalier
