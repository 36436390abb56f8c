// Peak rate of fused multiply-adds and bandwidth of memory, with the vector instructions of this machine.
#include <algorithm>
#include <cstddef>

#include "base/clock.hpp"
#include "bench/bench.hpp"
#include "espalier/thread_pool.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_limits.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve chains: enough to hide the latency of a multiply-add on two ports, few enough for 16 registers.
double multiply_adds(int rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, 0.999f), y = hn::Set(d, 0.001f);
  // Every chain starts elsewhere, at a value the compiler cannot know: equal chains would be computed once.
  const auto start = [&](int n) HWY_ATTR { return hn::Set(d, *sink + static_cast<float>(n)); };
  auto a = start(1), b = start(2), c = start(3), e = start(4), f = start(5), g = start(6);
  auto h = start(7), i = start(8), j = start(9), k = start(10), l = start(11), m = start(12);
  for (int r = 0; r < rounds; ++r) {
    a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y), e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y), g = hn::MulAdd(g, x, y), h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y), k = hn::MulAdd(k, x, y), l = hn::MulAdd(l, x, y), m = hn::MulAdd(m, x, y);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  *sink = hn::GetLane(hn::Add(sum, hn::Add(hn::Add(j, k), hn::Add(l, m))));
  return 2.0 * 12 * static_cast<double>(hn::Lanes(d)) * rounds;
}

// Four streams, each read and written in its place: the most that memory gives. A copy moves less, as it first fetches
// what it is about to overwrite.
void scale_in_place(float* HWY_RESTRICT values, std::size_t size) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f);
  const std::size_t stream = size / 4, lanes = hn::Lanes(d);
  for (std::size_t i = 0; i + lanes <= stream; i += lanes)
    for (float* at = values + i; at < values + size; at += stream) hn::StoreU(hn::Mul(hn::LoadU(d, at), factor), d, at);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {
namespace {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(scale_in_place);
HWY_EXPORT(target_name);

constexpr int kTries = 5, kMemoryTries = 15;  // memory is the noisier of the two
constexpr int kRounds = 100'000;
constexpr std::size_t kChunksPerWorker = 8;                  // several, so that a worker that wakes late is made up for
constexpr std::size_t kStreamFloats = std::size_t{1} << 25;  // beyond the last cache of most machines
constexpr std::size_t kStreamChunk = std::size_t{1} << 20;
constexpr double kLongNs = 1e9;  // a cost that always wakes the workers

double peak_flops(const ThreadPool& pool) {
  const std::size_t chunks = kChunksPerWorker * static_cast<std::size_t>(pool.workers());
  double best = 0;
  for (int t = 0; t < kTries; ++t) {
    std::vector<double> flops(chunks);
    std::vector<float> sink(chunks);
    const double start = seconds_now();
    pool.for_chunks(chunks, 1, kLongNs,
                    [&](Chunk c) { flops[c.index] = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds, &sink[c.index]); });
    const double seconds = seconds_now() - start;
    double total = 0;
    for (const double f : flops) total += f;
    best = std::max(best, total / seconds);
  }
  return best;
}

double memory_bandwidth(const ThreadPool& pool) {
  AlignedVector<float> values(kStreamFloats, 1.0f);
  double best = 0;
  for (int t = 0; t < kMemoryTries; ++t) {
    const double start = seconds_now();
    pool.for_chunks(kStreamFloats, kStreamChunk, kLongNs, [&](Chunk c) {
      HWY_DYNAMIC_DISPATCH(scale_in_place)(&values[c.begin], c.end - c.begin);
    });
    best = std::max(best, 2.0 * sizeof(float) * kStreamFloats / (seconds_now() - start));
  }
  return best;
}

}  // namespace

double MachineLimits::least_seconds(double work_flops, double work_bytes) const {
  return std::max(flops > 0 ? work_flops / flops : 0, bytes > 0 ? work_bytes / bytes : 0);
}

MachineLimits measure_limits(const ThreadPool& pool) { return {peak_flops(pool), memory_bandwidth(pool)}; }

const char* vector_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace espalier
#endif
