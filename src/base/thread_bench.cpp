// Benchmarks of the thread pool itself, with next to nothing to do: what a parallel loop and a step of a wavefront cost
// beside their work. docs/scaling.md counts with them.
#include <array>

#include "base/wavefront.hpp"
#include "bench/bench_case.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {
namespace {

constexpr int kLoops = 1000;
constexpr std::size_t kChunks = 16;  // as a training step of the checkerboard has
constexpr double kWorthIt = 1e9;     // said to be long, so that all workers are woken
using Counts = std::array<std::size_t, kChunks>;

std::string text_of(const Counts& counts) {
  std::string text;
  for (const std::size_t count : counts) text += std::to_string(count) + " ";
  return text;
}

Counts run_loops(const ThreadPool& pool) {
  Counts counts{};
  for (int i = 0; i < kLoops; ++i) pool.for_chunks(kChunks, 1, kWorthIt, [&](Chunk chunk) { ++counts[chunk.index]; });
  return counts;
}

Counts run_wavefront(const ThreadPool& pool) {
  std::vector<std::vector<std::uint32_t>> neighbours(kChunks);
  for (std::uint32_t c = 0; c < kChunks; ++c) {
    if (c > 0) neighbours[c].push_back(c - 1);
    if (c + 1 < kChunks) neighbours[c].push_back(c + 1);
  }
  Counts counts{};
  Wavefront(std::move(neighbours)).run(kLoops, kWorthIt, pool, [&](std::size_t, std::size_t chunk) {
    ++counts[chunk];
  });
  return counts;
}

BenchCase count_case(const char* name, const char* unit, Counts (*run)(const ThreadPool&)) {
  return {name, unit, kLoops, 0, 0, [run] { return same_work(run, text_of); }};
}

}  // namespace

void add_thread_bench(BenchList& cases) {
  cases.push_back(count_case("threads/empty-loop", "loops/s", run_loops));
  cases.push_back(count_case("threads/empty-wavefront", "steps/s", run_wavefront));
}

}  // namespace espalier
