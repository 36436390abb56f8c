#include "logic/wire_kernels.hpp"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/wire_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

// The mean of a pin's candidates in some lanes of every row.
template <int kVectors>
HWY_INLINE void pin_mean(const WirePlan& wires, std::ptrdiff_t pin, const float* HWY_RESTRICT weights,
                         std::ptrdiff_t stride, const float* HWY_RESTRICT in, Vec (&mean)[kVectors]) {
  const Tag d;
  const std::int32_t* HWY_RESTRICT row = wires.row.data() + pin * wires.candidates;
  const std::int32_t* HWY_RESTRICT place = wires.place.data() + pin * wires.candidates;
  for (int i = 0; i < kVectors; ++i) mean[i] = hn::Zero(d);
  for (int m = 0; m < wires.candidates; ++m) {
    const Vec w = hn::Set(d, weights[place[m]]);
    const float* HWY_RESTRICT value = in + row[m] * stride;
    for (int i = 0; i < kVectors; ++i) mean[i] = hn::MulAdd(w, hn::Load(d, value + i * kWidth), mean[i]);
  }
}

template <int kVectors>
void lanes_forward(const LayerPlan& plan, const float* c, const float* weights, std::ptrdiff_t stride, const float* in,
                   float* out) {
  const Tag d;
  Vec a[kVectors], b[kVectors];
  for (int g = 0; g < plan.outputs; ++g, c += 4, out += stride) {
    pin_mean(plan.wires, 2 * g, weights, stride, in, a);
    pin_mean(plan.wires, 2 * g + 1, weights, stride, in, b);
    const FourCoefficients four_c(c);
    const Vec c0 = four_c.get<0>(), c1 = four_c.get<1>(), c2 = four_c.get<2>(), c3 = four_c.get<3>();
    for (int i = 0; i < kVectors; ++i)
      hn::Store(hn::MulAdd(hn::MulAdd(c3, a[i], c2), b[i], hn::MulAdd(c1, a[i], c0)), d, out + i * kWidth);
  }
}

// From the gradients of the outputs to those of the pins.
template <int kVectors>
void pins_backward(const LayerPlan& plan, const float* c, const float* weights, std::ptrdiff_t stride, const float* in,
                   const float* dout, float* pins, float* dc) {
  const Tag d;
  Vec a[kVectors], b[kVectors];
  for (int g = 0; g < plan.outputs; ++g, c += 4, dc += 4, dout += stride, pins += 2 * stride) {
    pin_mean(plan.wires, 2 * g, weights, stride, in, a);
    pin_mean(plan.wires, 2 * g + 1, weights, stride, in, b);
    const GateSlopes slopes(c);
    FourSums four;
    for (int i = 0; i < kVectors; ++i) {
      const Vec o = hn::Load(d, dout + i * kWidth), oa = hn::Mul(o, a[i]);
      hn::Store(hn::Mul(o, slopes.a(b[i])), d, pins + i * kWidth);
      hn::Store(hn::Mul(o, slopes.b(a[i])), d, pins + stride + i * kWidth);
      if (i < kParts)
        four.start(i, o, oa, b[i]);
      else
        four.add(i % kParts, o, oa, b[i]);
    }
    add_four_sums(four.s, dc);
  }
}

// The running sums of four weights, which become four numbers together. They wait in memory: weights of a row come in
// any number.
class FourWeights {
 public:
  explicit FourWeights(float* dweights) : out_(dweights) {}
  HWY_INLINE void add(const Vec (&sum)[kParts]) {
    for (int part = 0; part < kParts; ++part) hn::Store(sum[part], Tag(), x_ + 8 * count_ + part * kWidth);
    if (++count_ == 4) flush();
  }
  HWY_INLINE void finish() {
    if (!count_) return;
    std::fill(x_ + 8 * count_, x_ + 32, 0.0f);
    flush();
  }

 private:
  HWY_INLINE void flush() {
    Vec sums[4][kParts];
    for (int k = 0; k < 4; ++k)
      for (int part = 0; part < kParts; ++part) sums[k][part] = hn::Load(Tag(), x_ + 8 * k + part * kWidth);
    add_four_sums(sums, out_);
    out_ += 4;
    count_ = 0;
  }

  HWY_ALIGN float x_[32];
  float* out_;
  std::ptrdiff_t count_ = 0;
};

// From the gradients of the pins to those of the rows that they read: one writer per row, pins ascending.
template <int kVectors, bool kAdd>
void rows_backward(const LayerPlan& plan, const float* HWY_RESTRICT weights, std::ptrdiff_t stride, const float* in,
                   const float* pins, float* din, float* dweights) {
  const Tag d;
  const WirePlan& wires = plan.wires;
  FourWeights sums(dweights);
  for (std::ptrdiff_t row = 0; row < plan.inputs; ++row, in += stride, din += stride) {
    Vec value[kVectors], gradient[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      value[i] = hn::Load(d, in + i * kWidth);
      gradient[i] = kAdd ? hn::Load(d, din + i * kWidth) : hn::Zero(d);
    }
    const std::int32_t end = wires.first[static_cast<std::size_t>(row) + 1];
    for (std::int32_t at = wires.first[static_cast<std::size_t>(row)]; at < end; ++at) {
      const Vec w = hn::Set(d, weights[at]);
      const float* HWY_RESTRICT pin = pins + wires.pin[static_cast<std::size_t>(at)] * stride;
      Vec sum[kParts];
      for (int i = 0; i < kVectors; ++i) {
        const Vec g = hn::Load(d, pin + i * kWidth);
        gradient[i] = hn::MulAdd(w, g, gradient[i]);
        sum[i % kParts] = i < kParts ? hn::Mul(g, value[i]) : hn::MulAdd(g, value[i], sum[i % kParts]);
      }
      sums.add(sum);
    }
    for (int i = 0; i < kVectors; ++i) hn::Store(gradient[i], d, din + i * kWidth);
  }
  sums.finish();
}

// body(vectors of a row at once, first lane).
template <class Body>
void each_lanes(std::ptrdiff_t lanes, Body body) {
  std::ptrdiff_t lane = 0;
  for (; lane + 32 <= lanes; lane += 32) body(std::integral_constant<int, 32 / kWidth>(), lane);
  for (; lane < lanes; lane += 8) body(std::integral_constant<int, 8 / kWidth>(), lane);
}

void choosing_forward(const LayerPlan& plan, const float* c, const float* weights, int lanes, const float* in,
                      float* out) {
  each_lanes(lanes, [&](auto vectors, std::ptrdiff_t lane) {
    lanes_forward<vectors()>(plan, c, weights, lanes, in + lane, out + lane);
  });
}

void choosing_backward(const LayerPlan& plan, const float* c, const float* weights, int lanes, const float* in,
                       const float* dout, float* pins, float* din, bool add, float* dc, float* dweights) {
  each_lanes(lanes, [&](auto vectors, std::ptrdiff_t lane) {
    pins_backward<vectors()>(plan, c, weights, lanes, in + lane, dout + lane, pins + lane, dc);
    if (add)
      rows_backward<vectors(), true>(plan, weights, lanes, in + lane, pins + lane, din + lane, dweights);
    else
      rows_backward<vectors(), false>(plan, weights, lanes, in + lane, pins + lane, din + lane, dweights);
  });
}

void exp_floats(float* x, std::size_t count) {
  const Tag d;
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) hn::StoreU(hn::Exp(d, hn::LoadU(d, x + i)), d, x + i);
  HWY_ALIGN float rest[kWidth] = {};
  std::copy(x + i, x + count, rest);
  hn::Store(hn::Exp(d, hn::Load(d, rest)), d, rest);
  std::copy_n(rest, count - i, x + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(choosing_forward);
HWY_EXPORT(choosing_backward);
HWY_EXPORT(exp_floats);

void wire_layer_forward(const LayerPlan& plan, const float* coefficients, const float* weights, int lanes,
                        const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(choosing_forward)(plan, coefficients, weights, lanes, in, out);
}

void wire_layer_backward(const LayerPlan& plan, const float* coefficients, const float* weights, int lanes,
                         const float* in, const float* dout, float* pins, float* din, bool add, float* dc,
                         float* dweights) {
  HWY_DYNAMIC_DISPATCH(choosing_backward)(plan, coefficients, weights, lanes, in, dout, pins, din, add, dc, dweights);
}

void exp_in_place(float* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(exp_floats)(x, count); }

}  // namespace espalier
#endif
