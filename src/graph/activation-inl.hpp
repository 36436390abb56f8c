// Activation functions for vectors; included by kernel files inside Highway's foreach_target, once per instruction set.
#if defined(ESPALIER_GRAPH_ACTIVATION_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_GRAPH_ACTIVATION_INL_HPP
#undef ESPALIER_GRAPH_ACTIVATION_INL_HPP
#else
#define ESPALIER_GRAPH_ACTIVATION_INL_HPP
#endif

#include <hwy/highway.h>
// After highway.h, by its own rule.
#include <hwy/contrib/math/math-inl.h>

#include "espalier/graph.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Never more than eight lanes, so that wider machines add in the same order.
using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;
constexpr Tag d;
constexpr std::size_t kVec = hn::MaxLanes(d);

// The same sums of eight lanes on every vector width.
HWY_INLINE float sum_of_lanes(Vec v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

HWY_INLINE Vec activate(Activation f, Vec z) {
  const Vec zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  switch (f) {
    case Activation::kRelu: return hn::Max(z, zero);
    case Activation::kLeakyRelu: return hn::IfThenElse(hn::Gt(z, zero), z, hn::Mul(z, hn::Set(d, kLeak)));
    case Activation::kSigmoid: return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(z))));
    case Activation::kTanh: return hn::Tanh(d, z);
    case Activation::kLinear: break;
  }
  return z;
}

// f'(z) from a = f(z).
HWY_INLINE Vec slope(Activation f, Vec a) {
  const Vec zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  switch (f) {
    case Activation::kRelu: return hn::IfThenElseZero(hn::Gt(a, zero), one);
    case Activation::kLeakyRelu: return hn::IfThenElse(hn::Gt(a, zero), one, hn::Set(d, kLeak));
    case Activation::kSigmoid: return hn::Mul(a, hn::Sub(one, a));
    case Activation::kTanh: return hn::NegMulAdd(a, a, one);
    case Activation::kLinear: break;
  }
  return one;
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#endif
