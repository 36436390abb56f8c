#include "base/wavefront.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "espalier/error.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr double kCostly = 1e6;  // pretend-nanoseconds a call: never too small for the pool

std::vector<std::vector<std::uint32_t>> ring(std::uint32_t chunks) {
  std::vector<std::vector<std::uint32_t>> neighbours(chunks);
  for (std::uint32_t c = 0; c < chunks; ++c) neighbours[c] = {(c + chunks - 1) % chunks, (c + 1) % chunks};
  return neighbours;
}

class WavefrontTest : public testing::Test {
 protected:
  Oversubscribe oversubscribe_;
};

// Two buffers in turn, as the backward pass has them: a chunk that ran too early or too late would spoil the values.
std::vector<std::uint64_t> play(const ThreadPool& pool, std::uint32_t chunks, std::size_t steps) {
  std::vector<std::uint64_t> buffers[2];
  for (auto& b : buffers) b.resize(chunks);
  for (std::uint32_t c = 0; c < chunks; ++c) buffers[0][c] = c * 0x9e3779b97f4a7c15u + 1;
  const Wavefront wavefront(ring(chunks));
  wavefront.run(steps, kCostly, pool, [&](std::size_t step, std::size_t chunk) {
    const auto& now = buffers[step % 2];
    const std::uint64_t left = now[(chunk + chunks - 1) % chunks], right = now[(chunk + 1) % chunks];
    buffers[(step + 1) % 2][chunk] = (left * 31 + now[chunk]) ^ (right << 7);
  });
  return buffers[steps % 2];
}

TEST_F(WavefrontTest, NeighboursAreNeverTwoStepsApartForAnyThreadCount) {
  for (const std::uint32_t chunks : {1u, 2u, 3u, 16u, 37u}) {
    const auto expected = play(ThreadPool(1), chunks, 200);
    for (const int threads : kThreadCounts) EXPECT_EQ(play(ThreadPool(threads), chunks, 200), expected) << threads;
  }
}

TEST_F(WavefrontTest, ChunksWithoutNeighboursRunAllTheirSteps) {
  const Wavefront wavefront(std::vector<std::vector<std::uint32_t>>(5));
  std::vector<std::size_t> steps(5);
  wavefront.run(100, kCostly, ThreadPool(3),
                [&](std::size_t step, std::size_t chunk) { EXPECT_EQ(steps[chunk]++, step); });
  EXPECT_EQ(steps, std::vector<std::size_t>(5, 100));
}

TEST_F(WavefrontTest, NoStepsAreNoWork) {
  for (const int threads : kThreadCounts)
    Wavefront(ring(4)).run(0, kCostly, ThreadPool(threads), [](std::size_t, std::size_t) { FAIL(); });
}

TEST_F(WavefrontTest, InsideALoopOfTheSamePoolItDoesItsWork) {
  const ThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.for_chunks(4, 1, kCostly,
                  [&](Chunk) { Wavefront(ring(5)).run(7, kCostly, pool, [&](std::size_t, std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 4 * 5 * 7);
}

TEST_F(WavefrontTest, AnExceptionEndsTheRunForAnyThreadCount) {
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    const Wavefront wavefront(ring(8));
    EXPECT_THROW(wavefront.run(1000, kCostly, pool,
                               [](std::size_t step, std::size_t chunk) {
                                 if (step == 20 && chunk == 3) throw Error("boom");
                               }),
                 Error);
  }
}

TEST_F(WavefrontTest, ARaisedFlagCancels) {
  StopFlag stop;
  ThreadPool pool(3);
  pool.watch(&stop);
  std::atomic<int> ran{0};
  EXPECT_THROW(Wavefront(ring(8)).run(100'000, kCostly, pool,
                                      [&](std::size_t, std::size_t) {
                                        if (++ran == 10) stop.raise();
                                      }),
               Cancelled);
  EXPECT_LT(ran, 100'000);
}

}  // namespace
}  // namespace espalier
