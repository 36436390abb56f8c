// What a parallel loop costs when its bodies do next to nothing.
#include <benchmark/benchmark.h>

#include <vector>

#include "espalier/core/pool.hpp"

namespace espalier {
namespace {

// range(0) = threads, range(1) = chunks; the stated cost makes the pool wake its workers.
void empty_chunks(benchmark::State& state) {
  const Pool pool(static_cast<int>(state.range(0)));
  const auto chunks = static_cast<std::size_t>(state.range(1));
  std::vector<int> out(chunks * 16);
  for (auto _ : state) {
    pool.for_chunks(chunks, 1, 1e6, [&](Chunk c) { out[c.index * 16] += 1; });
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(empty_chunks)->ArgNames({"threads", "chunks"})->ArgsProduct({{1, 2}, {2, 16, 256}})->UseRealTime();

// Work below the pool's threshold must cost the same for any number of threads.
void small_work(benchmark::State& state) {
  const Pool pool(static_cast<int>(state.range(0)));
  std::vector<float> values(2048, 1.0f);
  for (auto _ : state) {
    pool.for_chunks(values.size(), 256, 1.0, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) values[i] *= 1.0001f;
    });
    benchmark::ClobberMemory();
  }
}
BENCHMARK(small_work)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace espalier
