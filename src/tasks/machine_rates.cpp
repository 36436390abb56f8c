#include "tasks/machine_rates.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tasks/machine_rates.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "espalier/core/clock.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `rounds` x 12 vectors of fused multiply-adds with enough independent chains to fill the pipes. Returns how
// many lanes that was; `sink` keeps the work alive.
double FmaWork(std::size_t rounds, float& sink) {
  const hn::CappedTag<float, 8> d;
  using Vec = hn::Vec<decltype(d)>;
  Vec x[12];
  for (std::size_t i = 0; i < 12; ++i) x[i] = hn::Set(d, sink + static_cast<float>(i));
  const Vec a = hn::Set(d, 0.999f), b = hn::Set(d, 0.001f);
  for (std::size_t r = 0; r < rounds; ++r)
    for (Vec& v : x) v = hn::MulAdd(v, a, b);
  Vec sum = x[0];
  for (std::size_t i = 1; i < 12; ++i) sum = hn::Add(sum, x[i]);
  sink = hn::GetLane(hn::SumOfLanes(d, sum)) * 1e-9f;
  return static_cast<double>(rounds) * 12.0 * static_cast<double>(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(FmaWork);

double measured_fma_rate() {
  float sink = 0;
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const double start = seconds_now();
    const double work = HWY_DYNAMIC_DISPATCH(FmaWork)(2'000'000, sink);
    best = std::max(best, work / (seconds_now() - start));
  }
  return sink > 1e30f ? 0 : best;
}

double measured_copy_rate() {
  constexpr std::size_t kBytes = std::size_t{128} << 20;
  std::vector<char> from(kBytes, 1), to(kBytes);
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    const double start = seconds_now();
    std::memcpy(to.data(), from.data(), kBytes);
    best = std::max(best, 2.0 * static_cast<double>(kBytes) / (seconds_now() - start));
  }
  return best;
}

}  // namespace espalier
#endif
