#include <algorithm>

#include "espalier/gates.hpp"
#include "logic/gate_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/softmax_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

#ifndef ESPALIER_SOFTMAX_TABLE
#define ESPALIER_SOFTMAX_TABLE
namespace espalier {
// The gate table by columns, so that a column is two groups of eight lanes.
struct GateColumns {
  alignas(64) float column[4][kGates];
  constexpr GateColumns() : column{} {
    for (int k = 0; k < 4; ++k)
      for (int gate = 0; gate < kGates; ++gate) column[k][gate] = kGateCoefficients[gate][k];
  }
};
inline constexpr GateColumns kColumns;
}  // namespace espalier
#endif

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

constexpr int kVectors = kGates / kWidth;

// ((x0+x2)+(x1+x3)) + ... of all sixteen, folded to eight first.
HWY_INLINE float sum16(const Vec (&x)[kVectors]) {
  const Tag d;
  HWY_ALIGN float y[8];
  for (int part = 0; part < kParts; ++part) hn::Store(hn::Add(x[part], x[part + kParts]), d, y + part * kWidth);
  return ((y[0] + y[2]) + (y[1] + y[3])) + ((y[4] + y[6]) + (y[5] + y[7]));
}

void softmax_forward(int gates, const float* logits, const std::int32_t* row, float inverse_temperature, float* p,
                     float* c) {
  const Tag d;
  const Vec scale = hn::Set(d, inverse_temperature);
  for (int g = 0; g < gates; ++g, p += kGates, c += 4) {
    const float* l = logits + static_cast<std::ptrdiff_t>(row[g]) * kGates;
    Vec x[kVectors];
    Vec largest = hn::Load(d, l);
    for (int i = 0; i < kVectors; ++i) {
      x[i] = hn::Load(d, l + i * kWidth);
      largest = hn::Max(largest, x[i]);
    }
    const Vec top = hn::MaxOfLanes(d, largest);
    for (int i = 0; i < kVectors; ++i) x[i] = hn::Exp(d, hn::Mul(hn::Sub(x[i], top), scale));
    const Vec total = hn::Set(d, sum16(x));
    Vec sums[4][kParts];
    for (int i = 0; i < kVectors; ++i) {
      x[i] = hn::Div(x[i], total);
      hn::Store(x[i], d, p + i * kWidth);
    }
    for (int k = 0; k < 4; ++k)
      for (int part = 0; part < kParts; ++part)
        sums[k][part] = hn::MulAdd(x[part + kParts], hn::Load(d, kColumns.column[k] + 8 + part * kWidth),
                                   hn::Mul(x[part], hn::Load(d, kColumns.column[k] + part * kWidth)));
    c[0] = c[1] = c[2] = c[3] = 0;
    add_four_sums(sums, c);
  }
}

void softmax_backward(int gates, const float* p, const float* dc, const std::int32_t* row, float inverse_temperature,
                      float* dlogits) {
  const Tag d;
  const Vec scale = hn::Set(d, inverse_temperature);
  for (int g = 0; g < gates; ++g, p += kGates, dc += 4) {
    float* dl = dlogits + static_cast<std::ptrdiff_t>(row[g]) * kGates;
    // dp counts from that of the likeliest gate: where one gate has nearly all of p, dp less its mean would
    // otherwise be a small difference of large numbers.
    const auto& base = kGateCoefficients[std::max_element(p, p + kGates) - p];
    Vec dp[kVectors], weighted[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      dp[i] = hn::Zero(d);
      for (int k = 0; k < 4; ++k)
        dp[i] = hn::MulAdd(hn::Set(d, dc[k]),
                           hn::Sub(hn::Load(d, kColumns.column[k] + i * kWidth), hn::Set(d, base[k])), dp[i]);
      weighted[i] = hn::Mul(hn::Load(d, p + i * kWidth), dp[i]);
    }
    const Vec mean = hn::Set(d, sum16(weighted));
    for (int i = 0; i < kVectors; ++i) {
      const Vec grad = hn::Mul(hn::Mul(hn::Load(d, p + i * kWidth), hn::Sub(dp[i], mean)), scale);
      hn::Store(hn::Add(hn::Load(d, dl + i * kWidth), grad), d, dl + i * kWidth);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(softmax_forward);
HWY_EXPORT(softmax_backward);

void gate_softmax_forward(int gates, const float* logits, const std::int32_t* row, float inverse_temperature, float* p,
                          float* c) {
  HWY_DYNAMIC_DISPATCH(softmax_forward)(gates, logits, row, inverse_temperature, p, c);
}

void gate_softmax_backward(int gates, const float* p, const float* dc, const std::int32_t* row,
                           float inverse_temperature, float* dlogits) {
  HWY_DYNAMIC_DISPATCH(softmax_backward)(gates, p, dc, row, inverse_temperature, dlogits);
}

}  // namespace espalier
#endif
