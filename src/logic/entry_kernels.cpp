#include "logic/entry_kernels.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/entry_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

constexpr int kAtOnce = 2;  // gates of four entries in eight lanes

// sigmoid(z) and its slope, by e^-|z|, so that what is nearly 0 or 1 keeps its slope.
HWY_INLINE void sigmoid(Vec z, Vec& q, Vec& slope) {
  const Tag d;
  const Vec one = hn::Set(d, 1.0f), e = hn::Exp(d, hn::Neg(hn::Abs(z))), whole = hn::Add(one, e);
  const Vec less = hn::Div(e, whole);
  q = hn::IfThenElse(hn::Lt(z, hn::Zero(d)), less, hn::Div(one, whole));
  slope = hn::Div(less, whole);
}

void entries_forward(int gates, const float* logits, const std::int32_t* row, bool walsh, float inverse_temperature,
                     bool straight, float* slopes, float* c) {
  const Tag d;
  const Vec scale = hn::Set(d, inverse_temperature);
  for (int g = 0; g < gates; g += kAtOnce) {
    HWY_ALIGN float z[8] = {}, q[8], slope[8];
    const int count = std::min(kAtOnce, gates - g);
    for (int i = 0; i < count; ++i)
      entry_logits(logits + static_cast<std::ptrdiff_t>(row[g + i]) * 4, walsh, z + static_cast<std::ptrdiff_t>(4 * i));
    for (int lane = 0; lane < 8; lane += kWidth) {
      Vec value, rise;
      sigmoid(hn::Mul(hn::Load(d, z + lane), scale), value, rise);
      hn::Store(value, d, q + lane);
      hn::Store(hn::Mul(rise, scale), d, slope + lane);
    }
    if (straight)
      for (int i = 0; i < 8; ++i) q[i] = z[i] > 0 ? 1.0f : 0.0f;
    std::copy_n(slope, 4 * count, slopes);
    for (int i = 0; i < count; ++i, c += 4) {
      const float* own = q + static_cast<std::ptrdiff_t>(4 * i);
      c[0] = own[0];
      c[1] = own[2] - own[0];
      c[2] = own[1] - own[0];
      c[3] = (own[3] - own[2]) - c[2];
    }
    slopes += 4 * count;
  }
}

// Of entries z: h = log(1 + e^-|z|) + |z| e^-|z| / (1 + e^-|z|).
double sum_entry_entropies(int gates, const float* logits, bool walsh) {
  const Tag d;
  double total = 0;
  for (int g = 0; g < gates; g += kAtOnce, logits += static_cast<std::ptrdiff_t>(4 * kAtOnce)) {
    HWY_ALIGN float z[8] = {}, h[8];
    const int count = std::min(kAtOnce, gates - g);
    for (int i = 0; i < count; ++i)
      entry_logits(logits + static_cast<std::ptrdiff_t>(4 * i), walsh, z + static_cast<std::ptrdiff_t>(4 * i));
    for (int lane = 0; lane < 8; lane += kWidth) {
      const Vec size = hn::Abs(hn::Load(d, z + lane)), e = hn::Exp(d, hn::Neg(size));
      const Vec whole = hn::Add(hn::Set(d, 1.0f), e);
      hn::Store(hn::Add(hn::Log1p(d, e), hn::Mul(size, hn::Div(e, whole))), d, h + lane);
    }
    for (int i = 0; i < count; ++i) {
      const float* own = h + static_cast<std::ptrdiff_t>(4 * i);
      total += (own[0] + own[1]) + (own[2] + own[3]);
    }
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(entries_forward);
HWY_EXPORT(sum_entry_entropies);

void gate_entries_forward(int gates, const float* logits, const std::int32_t* row, bool walsh,
                          float inverse_temperature, bool straight, float* slopes, float* c) {
  HWY_DYNAMIC_DISPATCH(entries_forward)(gates, logits, row, walsh, inverse_temperature, straight, slopes, c);
}

void gate_entries_backward(int gates, const float* slopes, const float* dc, const std::int32_t* row, bool walsh,
                           float* dlogits) {
  for (int g = 0; g < gates; ++g, slopes += 4, dc += 4) {
    float* const dl = dlogits + static_cast<std::ptrdiff_t>(row[g]) * 4;
    const float right = dc[2] - dc[3];  // dq1; dq0 = dc0 - dc1 - dc2 + dc3
    float dz[4] = {((dc[0] - dc[1]) - right) * slopes[0], right * slopes[1], (dc[1] - dc[3]) * slopes[2],
                   dc[3] * slopes[3]};
    float dw[4];
    if (walsh) walsh_sums(dz, dw);
    for (int k = 0; k < 4; ++k) dl[k] += walsh ? dw[k] : dz[k];
  }
}

double entry_entropies(int gates, const float* logits, bool walsh) {
  return HWY_DYNAMIC_DISPATCH(sum_entry_entropies)(gates, logits, walsh);
}

}  // namespace espalier
#endif
