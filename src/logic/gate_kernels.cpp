#include "logic/gate_kernels.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/gate_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

// The distance from row to row in floats. Known to the compiler for a block of cells (the hot case): row
// addresses are then shifts, not multiplications.
using BlockStride = std::integral_constant<std::ptrdiff_t, 32>;
struct AnyStride {
  std::ptrdiff_t lanes;
  constexpr operator std::ptrdiff_t() const { return lanes; }
};

// One chain, with kVectors of every row in registers from gate to gate.
template <int kVectors, class Stride>
void chain_forward(const LayerPlan& plan, const LayerPlan::Chain& chain, const float* coefficients, Stride stride,
                   const float* in, float* out) {
  const Tag d;
  const float* HWY_RESTRICT c = coefficients + 4 * chain.first;
  const std::int32_t* gate = plan.gate.data() + chain.first;
  const float* row = in + chain.row * stride;
  Vec a[kVectors];
  for (int i = 0; i < kVectors; ++i) a[i] = hn::Load(d, row + i * kWidth);
  for (int g = 0; g < chain.count; ++g, c += 4) {
    row += stride;
    float* HWY_RESTRICT o = out + gate[g] * stride;
    const FourCoefficients four_c(c);
    const Vec c0 = four_c.get<0>(), c1 = four_c.get<1>(), c2 = four_c.get<2>(), c3 = four_c.get<3>();
    for (int i = 0; i < kVectors; ++i) {
      const Vec b = hn::Load(d, row + i * kWidth);
      hn::Store(hn::MulAdd(hn::MulAdd(c3, a[i], c2), b, hn::MulAdd(c1, a[i], c0)), d, o + i * kWidth);
      a[i] = b;
    }
  }
}

template <class Stride>
HWY_INLINE void gate_forward(const float* c, Stride lanes, const float* a, const float* b, float* HWY_RESTRICT out) {
  const Tag d;
  const FourCoefficients four_c(c);
  const Vec c0 = four_c.get<0>(), c1 = four_c.get<1>(), c2 = four_c.get<2>(), c3 = four_c.get<3>();
  for (std::ptrdiff_t i = 0; i < lanes; i += kWidth) {
    const Vec va = hn::Load(d, a + i), vb = hn::Load(d, b + i);
    hn::Store(hn::MulAdd(hn::MulAdd(c3, va, c2), vb, hn::MulAdd(c1, va, c0)), d, out + i);
  }
}

template <class Stride>
void layer_forward_over(const LayerPlan& plan, const float* c, Stride stride, const float* in, float* out) {
  const std::ptrdiff_t lanes = stride;
  for (const LayerPlan::Chain& chain : plan.chains) {
    std::ptrdiff_t lane = 0;
    for (; lane + 32 <= lanes; lane += 32) chain_forward<32 / kWidth>(plan, chain, c, stride, in + lane, out + lane);
    for (; lane < lanes; lane += 8) chain_forward<8 / kWidth>(plan, chain, c, stride, in + lane, out + lane);
  }
  for (int g = plan.pairs_first; g < plan.outputs; ++g)
    gate_forward(c + 4 * g, stride, in + plan.a[g] * stride, in + plan.b[g] * stride, out + plan.gate[g] * stride);
}

void layer_forward(const LayerPlan& plan, const float* c, int lanes, const float* in, float* out) {
  if (lanes == BlockStride::value)
    layer_forward_over(plan, c, BlockStride(), in, out);
  else
    layer_forward_over(plan, c, AnyStride{lanes}, in, out);
}

// Walks a chain: da of the next row and db of the last meet in a register, so each gradient is written once, over the
// value that is no longer needed. The sums of a gate are finished in the middle of the next: a gate that waited for its
// own would hold up those behind it.
template <int kVectors, class Stride>
void chain_backward(const LayerPlan& plan, const LayerPlan::Chain& chain, const float* coefficients, Stride stride,
                    float* values, const float* dout, float* dc) {
  const Tag d;
  const float* HWY_RESTRICT c = coefficients + 4 * chain.first;
  float* HWY_RESTRICT sums = dc + 4 * chain.first;
  const std::int32_t* HWY_RESTRICT gate = plan.gate.data() + chain.first;
  float* HWY_RESTRICT row = values + chain.row * stride;
  Vec carried[kVectors];
  for (int i = 0; i < kVectors; ++i) carried[i] = hn::Zero(d);
  PendingSums pending(sums);
  for (int gi = 0; gi < chain.count; ++gi, c += 4, sums += 4) {
    const float* HWY_RESTRICT o = dout + gate[gi] * stride;
    const GateSlopes slopes(c);
    FourSums four;
    for (int i = 0; i < kVectors; ++i) {
      const Vec a = hn::Load(d, row + i * kWidth), b = hn::Load(d, row + stride + i * kWidth);
      Vec g = hn::Load(d, o + i * kWidth);
      if (i == kVectors / 2) pending.wait_for(g);
      const Vec ga = hn::Mul(g, a);
      hn::Store(hn::MulAdd(g, slopes.a(b), carried[i]), d, row + i * kWidth);
      carried[i] = hn::Mul(g, slopes.b(a));
      if (i < kParts)
        four.start(i, g, ga, b);
      else
        four.add(i % kParts, g, ga, b);
      if (i == kVectors / 2) pending.finish();
    }
    pending.take(four.s, sums);
    row += stride;
  }
  pending.finish();
  for (int i = 0; i < kVectors; ++i) hn::Store(carried[i], d, row + i * kWidth);
}

template <bool kAccumulate, class Stride>
HWY_INLINE void gate_backward(const float* c, Stride lanes, const float* a, const float* b, const float* dout,
                              float* da, float* db, float* dc) {
  const Tag d;
  const GateSlopes slopes(c);
  FourSums four;
  four.clear();
  for (std::ptrdiff_t i = 0; i < lanes; i += 8)
    for (int part = 0; part < kParts; ++part) {
      const std::ptrdiff_t at = i + part * kWidth;
      const Vec va = hn::Load(d, a + at), vb = hn::Load(d, b + at), g = hn::Load(d, dout + at);
      const Vec ua = slopes.a(vb), ub = slopes.b(va);
      // da and db may be the same row (both inputs from one value): db is read after da is stored.
      hn::Store(kAccumulate ? hn::MulAdd(g, ua, hn::Load(d, da + at)) : hn::Mul(g, ua), d, da + at);
      hn::Store(kAccumulate ? hn::MulAdd(g, ub, hn::Load(d, db + at)) : hn::Mul(g, ub), d, db + at);
      four.add(part, g, hn::Mul(g, va), vb);
    }
  add_four_sums(four.s, dc);
}

template <class Stride>
void layer_backward_over(const LayerPlan& plan, const float* c, Stride stride, float* values, const float* dout,
                         float* scratch, float* dc) {
  const std::ptrdiff_t lanes = stride;
  for (std::size_t i = 0; i < plan.shared_rows.size(); ++i)
    std::memcpy(scratch + i * lanes, values + plan.shared_rows[i] * stride, sizeof(float) * lanes);
  for (const std::int32_t row : plan.unowned_rows) std::memset(values + row * stride, 0, sizeof(float) * lanes);
  for (const LayerPlan::Chain& chain : plan.chains) {
    std::ptrdiff_t lane = 0;
    for (; lane + 32 <= lanes; lane += 32)
      chain_backward<32 / kWidth>(plan, chain, c, stride, values + lane, dout + lane, dc);
    for (; lane < lanes; lane += 8) chain_backward<8 / kWidth>(plan, chain, c, stride, values + lane, dout + lane, dc);
  }
  for (int g = plan.pairs_first; g < plan.outputs; ++g) {
    const float* o = dout + plan.gate[g] * stride;
    float *a = values + plan.a[g] * stride, *b = values + plan.b[g] * stride;
    if (g < plan.shared_first) {
      gate_backward<false>(c + 4 * g, stride, a, b, o, a, b, dc + 4 * g);
    } else {
      const int at = g - plan.shared_first;
      gate_backward<true>(c + 4 * g, stride, scratch + plan.shared_a[at] * stride, scratch + plan.shared_b[at] * stride,
                          o, a, b, dc + 4 * g);
    }
  }
}

void layer_backward(const LayerPlan& plan, const float* c, int lanes, float* values, const float* dout, float* scratch,
                    float* dc) {
  if (lanes == BlockStride::value)
    layer_backward_over(plan, c, BlockStride(), values, dout, scratch, dc);
  else
    layer_backward_over(plan, c, AnyStride{lanes}, values, dout, scratch, dc);
}

void layer_backward_adding(const LayerPlan& plan, const float* c, int lanes, const float* in, const float* dout,
                           float* din, float* dc) {
  const AnyStride stride{lanes};
  for (int g = 0; g < plan.outputs; ++g)
    gate_backward<true>(c + 4 * g, stride, in + plan.a[g] * stride, in + plan.b[g] * stride,
                        dout + plan.gate[g] * stride, din + plan.a[g] * stride, din + plan.b[g] * stride, dc + 4 * g);
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(layer_forward);
HWY_EXPORT(layer_backward);
HWY_EXPORT(layer_backward_adding);

void gate_layer_forward(const LayerPlan& plan, const float* coefficients, int lanes, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(layer_forward)(plan, coefficients, lanes, in, out);
}

void gate_layer_backward(const LayerPlan& plan, const float* coefficients, int lanes, float* values, const float* dout,
                         float* scratch, float* dc) {
  HWY_DYNAMIC_DISPATCH(layer_backward)(plan, coefficients, lanes, values, dout, scratch, dc);
}

void gate_layer_backward_adding(const LayerPlan& plan, const float* coefficients, int lanes, const float* in,
                                const float* dout, float* din, float* dc) {
  HWY_DYNAMIC_DISPATCH(layer_backward_adding)(plan, coefficients, lanes, in, dout, din, dc);
}

}  // namespace espalier
#endif
