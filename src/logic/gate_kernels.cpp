#include "espalier/logic/gate_kernels.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/gate_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

// Lanes that a chain carries in registers at once: 32, and what is left over in eights.
template <int kVectors>
void chain_forward(const LayerPlan& plan, const LayerPlan::Chain& chain, const float* coefficients, int lanes,
                   const float* in, float* out) {
  const Tag d;
  const float* HWY_RESTRICT c = coefficients + 4 * chain.first;
  const std::int32_t* gate = plan.gate.data() + chain.first;
  const float* row = in + static_cast<std::ptrdiff_t>(chain.row) * lanes;
  Vec a[kVectors];
  for (int i = 0; i < kVectors; ++i) a[i] = hn::Load(d, row + i * kWidth);
  for (int g = 0; g < chain.count; ++g, c += 4) {
    row += lanes;
    float* o = out + static_cast<std::ptrdiff_t>(gate[g]) * lanes;
    const Vec c0 = hn::Set(d, c[0]), c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
    for (int i = 0; i < kVectors; ++i) {
      const Vec b = hn::Load(d, row + i * kWidth);
      hn::Store(hn::MulAdd(hn::MulAdd(c3, a[i], c2), b, hn::MulAdd(c1, a[i], c0)), d, o + i * kWidth);
      a[i] = b;
    }
  }
}

void gate_forward(const float* c, int lanes, const float* a, const float* b, float* HWY_RESTRICT out) {
  const Tag d;
  const Vec c0 = hn::Set(d, c[0]), c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
  for (int i = 0; i < lanes; i += kWidth) {
    const Vec va = hn::Load(d, a + i), vb = hn::Load(d, b + i);
    hn::Store(hn::MulAdd(hn::MulAdd(c3, va, c2), vb, hn::MulAdd(c1, va, c0)), d, out + i);
  }
}

void layer_forward(const LayerPlan& plan, const float* c, int lanes, const float* in, float* out) {
  constexpr int kWide = 32 / kWidth, kNarrow = 8 / kWidth;
  for (const LayerPlan::Chain& chain : plan.chains) {
    int lane = 0;
    for (; lane + 32 <= lanes; lane += 32) chain_forward<kWide>(plan, chain, c, lanes, in + lane, out + lane);
    for (; lane < lanes; lane += 8) chain_forward<kNarrow>(plan, chain, c, lanes, in + lane, out + lane);
  }
  const auto stride = static_cast<std::ptrdiff_t>(lanes);
  for (int g = plan.pairs_first; g < plan.outputs; ++g)
    gate_forward(c + 4 * g, lanes, in + plan.a[g] * stride, in + plan.b[g] * stride, out + plan.gate[g] * stride);
}

// The four sums of a gate, kept as eight running sums each.
struct FourSums {
  Vec s[4][kParts];
  FourSums() {
    for (auto& sum : s)
      for (Vec& part : sum) part = hn::Zero(Tag());
  }
  HWY_INLINE void add(int part, Vec g, Vec ga, Vec b) {
    s[0][part] = hn::Add(s[0][part], g);
    s[1][part] = hn::Add(s[1][part], ga);
    s[2][part] = hn::MulAdd(g, b, s[2][part]);
    s[3][part] = hn::MulAdd(ga, b, s[3][part]);
  }
};

// Walks a chain: da of the next row and db of the last meet in a register, so each row of din is written once.
template <int kVectors>
void chain_backward(const LayerPlan& plan, const LayerPlan::Chain& chain, const float* coefficients, int lanes,
                    const float* in, const float* dout, float* din, float* dc) {
  const Tag d;
  const float* HWY_RESTRICT c = coefficients + 4 * chain.first;
  float* HWY_RESTRICT sums = dc + 4 * chain.first;
  const std::int32_t* gate = plan.gate.data() + chain.first;
  const float* row = in + static_cast<std::ptrdiff_t>(chain.row) * lanes;
  float* drow = din + static_cast<std::ptrdiff_t>(chain.row) * lanes;
  Vec a[kVectors], carried[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    a[i] = hn::Load(d, row + i * kWidth);
    carried[i] = hn::Zero(d);
  }
  for (int gi = 0; gi < chain.count; ++gi, c += 4, sums += 4) {
    row += lanes;
    const float* o = dout + static_cast<std::ptrdiff_t>(gate[gi]) * lanes;
    const Vec c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
    FourSums four;
    for (int i = 0; i < kVectors; ++i) {
      const Vec b = hn::Load(d, row + i * kWidth), g = hn::Load(d, o + i * kWidth);
      hn::Store(hn::MulAdd(g, hn::MulAdd(c3, b, c1), carried[i]), d, drow + i * kWidth);
      carried[i] = hn::Mul(g, hn::MulAdd(c3, a[i], c2));
      four.add(i % kParts, g, hn::Mul(g, a[i]), b);
      a[i] = b;
    }
    add_four_sums(four.s, sums);
    drow += lanes;
  }
  for (int i = 0; i < kVectors; ++i) hn::Store(carried[i], d, drow + i * kWidth);
}

template <bool kAccumulate>
void gate_backward(const float* c, int lanes, const float* a, const float* b, const float* dout, float* da, float* db,
                   float* dc) {
  const Tag d;
  const Vec c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
  FourSums four;
  for (int i = 0; i < lanes; i += 8)
    for (int part = 0; part < kParts; ++part) {
      const int at = i + part * kWidth;
      const Vec va = hn::Load(d, a + at), vb = hn::Load(d, b + at), g = hn::Load(d, dout + at);
      const Vec ua = hn::MulAdd(c3, vb, c1), ub = hn::MulAdd(c3, va, c2);
      // da and db may be the same row (both inputs from one value): db is read after da is stored.
      hn::Store(kAccumulate ? hn::MulAdd(g, ua, hn::Load(d, da + at)) : hn::Mul(g, ua), d, da + at);
      hn::Store(kAccumulate ? hn::MulAdd(g, ub, hn::Load(d, db + at)) : hn::Mul(g, ub), d, db + at);
      four.add(part, g, hn::Mul(g, va), vb);
    }
  add_four_sums(four.s, dc);
}

void layer_backward(const LayerPlan& plan, const float* c, int lanes, const float* in, const float* dout, float* din,
                    float* dc) {
  constexpr int kWide = 32 / kWidth, kNarrow = 8 / kWidth;
  const auto stride = static_cast<std::ptrdiff_t>(lanes);
  for (const std::int32_t row : plan.unowned_rows) std::memset(din + row * stride, 0, sizeof(float) * lanes);
  for (const LayerPlan::Chain& chain : plan.chains) {
    int lane = 0;
    for (; lane + 32 <= lanes; lane += 32)
      chain_backward<kWide>(plan, chain, c, lanes, in + lane, dout + lane, din + lane, dc);
    for (; lane < lanes; lane += 8)
      chain_backward<kNarrow>(plan, chain, c, lanes, in + lane, dout + lane, din + lane, dc);
  }
  for (int g = plan.pairs_first; g < plan.outputs; ++g) {
    const float *a = in + plan.a[g] * stride, *b = in + plan.b[g] * stride, *o = dout + plan.gate[g] * stride;
    float *da = din + plan.a[g] * stride, *db = din + plan.b[g] * stride;
    if (g < plan.strays_first)
      gate_backward<false>(c + 4 * g, lanes, a, b, o, da, db, dc + 4 * g);
    else
      gate_backward<true>(c + 4 * g, lanes, a, b, o, da, db, dc + 4 * g);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(layer_forward);
HWY_EXPORT(layer_backward);

void gate_layer_forward(const LayerPlan& plan, const float* coefficients, int lanes, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(layer_forward)(plan, coefficients, lanes, in, out);
}

void gate_layer_backward(const LayerPlan& plan, const float* coefficients, int lanes, const float* in,
                         const float* dout, float* din, float* dc) {
  HWY_DYNAMIC_DISPATCH(layer_backward)(plan, coefficients, lanes, in, dout, din, dc);
}

}  // namespace espalier
#endif
