// The flat passes of a training step: optimizer, gradient norm, reduction of gradient slots.
#include <benchmark/benchmark.h>

#include "espalier/core/random.hpp"
#include "espalier/train/gradient_slots.hpp"
#include "espalier/train/optimizer.hpp"

namespace espalier {
namespace {

Parameters make_parameters(std::size_t count) {
  Parameters p;
  p.add("all", {count});
  const Random random(1, Purpose::kData);
  for (std::size_t i = 0; i < count; ++i) {
    p.values()[i] = random.normal(i);
    p.gradients()[i] = random.normal(i + count);
  }
  return p;
}

// ArgNames: threads, parameters. Bytes are what the pass must read and write at least.
void optimizer_step(benchmark::State& state, OptimizerOptions options, int bytes_per_parameter) {
  const Pool pool(static_cast<int>(state.range(0)));
  const auto count = static_cast<std::size_t>(state.range(1));
  Parameters p = make_parameters(count);
  Optimizer optimizer(options, count);
  for (auto _ : state) optimizer.step(p, 1e-3f, pool);
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.SetBytesProcessed(state.iterations() * state.range(1) * bytes_per_parameter);
}
OptimizerOptions sgd() { return {.kind = OptimizerKind::kSgd, .momentum = 0.9f}; }
OptimizerOptions clipped() { return {.clip_norm = 1.0f}; }
const std::vector<std::vector<std::int64_t>> kSizes = {{1, 2}, {1 << 12, 1 << 17, 1 << 22}};
BENCHMARK_CAPTURE(optimizer_step, adamw, OptimizerOptions{}, 28)->ArgsProduct(kSizes)->UseRealTime();
BENCHMARK_CAPTURE(optimizer_step, adamw_clip_norm, clipped(), 32)->ArgsProduct(kSizes)->UseRealTime();
BENCHMARK_CAPTURE(optimizer_step, sgd, sgd(), 20)->ArgsProduct(kSizes)->UseRealTime();

void gradient_norm(benchmark::State& state) {
  const Pool pool(static_cast<int>(state.range(0)));
  const Parameters p = make_parameters(static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(p.gradient_norm(pool));
  state.SetBytesProcessed(state.iterations() * state.range(1) * 4);
}
BENCHMARK(gradient_norm)->ArgsProduct(kSizes)->UseRealTime();

// range(1) = slots of 64 Ki floats each.
void reduce_slots(benchmark::State& state) {
  const Pool pool(static_cast<int>(state.range(0)));
  const auto slots = static_cast<std::size_t>(state.range(1));
  constexpr std::size_t kFloats = 1 << 16;
  GradientSlots gradients(slots, kFloats);
  std::vector<float> total(kFloats);
  for (auto _ : state) {
    gradients.add_to(total, pool);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(1) * static_cast<std::int64_t>(kFloats) * 4);
}
BENCHMARK(reduce_slots)->ArgNames({"threads", "slots"})->ArgsProduct({{1, 2}, {2, 8, 32}})->UseRealTime();

}  // namespace
}  // namespace espalier
