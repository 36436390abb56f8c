// What one random number costs.
#include <benchmark/benchmark.h>

#include "espalier/core/random.hpp"

namespace espalier {
namespace {

template <class Draw>
void draw_numbers(benchmark::State& state, Draw draw) {
  const Random random(1, Purpose::kData);
  std::uint64_t element = 0;
  for (auto _ : state) benchmark::DoNotOptimize(draw(random, element++));
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(draw_numbers, block, [](const Random& r, std::uint64_t e) { return r.block(e); });
BENCHMARK_CAPTURE(draw_numbers, uniform, [](const Random& r, std::uint64_t e) { return r.uniform(e); });
BENCHMARK_CAPTURE(draw_numbers, choice, [](const Random& r, std::uint64_t e) { return r.choice(e, 1000); });
BENCHMARK_CAPTURE(draw_numbers, normal, [](const Random& r, std::uint64_t e) { return r.normal(e); });
BENCHMARK_CAPTURE(draw_numbers, gumbel, [](const Random& r, std::uint64_t e) { return r.gumbel(e); });

}  // namespace
}  // namespace espalier
