#include "models/message/row_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/message/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its own rule.
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>

#include "espalier/message_passing.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;
constexpr Tag d;
constexpr std::size_t kVec = hn::MaxLanes(d);

HWY_INLINE Vec activate(Activation f, Vec z) {
  const Vec zero = hn::Zero(d);
  switch (f) {
    case Activation::kRelu: return hn::Max(z, zero);
    case Activation::kLeakyRelu: return hn::IfThenElse(hn::Gt(z, zero), z, hn::Mul(z, hn::Set(d, kLeak)));
    case Activation::kTanh: return hn::Tanh(d, z);
    default: return z;
  }
}

HWY_INLINE Vec slope(Activation f, Vec y) {
  const Vec zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  switch (f) {
    case Activation::kRelu: return hn::IfThenElseZero(hn::Gt(y, zero), one);
    case Activation::kLeakyRelu: return hn::IfThenElse(hn::Gt(y, zero), one, hn::Set(d, kLeak));
    case Activation::kTanh: return hn::NegMulAdd(y, y, one);
    default: return one;
  }
}

// body(offset, load, store) for whole vectors, then for the padded rest: `load` reads up to `features` and
// fills with zeros, `store` writes no further.
struct Whole {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(d, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::StoreU(v, d, p); }
  HWY_INLINE Vec only(Vec v) const { return v; }
};
struct Rest {
  std::size_t count;
  HWY_INLINE Vec load(const float* p) const { return hn::MaskedLoad(hn::FirstN(d, count), d, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::BlendedStore(v, hn::FirstN(d, count), d, p); }
  HWY_INLINE Vec only(Vec v) const { return hn::IfThenElseZero(hn::FirstN(d, count), v); }
};
template <class Body>
HWY_INLINE void for_vectors(std::size_t features, Body&& body) {
  std::size_t f = 0;
  for (; f + kVec <= features; f += kVec) body(f, Whole());
  if (f < features) body(f, Rest{features - f});
}

HWY_INLINE float sum_of_lanes(Vec v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

void FinishRows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation) {
  const std::size_t n = args.features;
  const float inverse_n = 1.0f / static_cast<float>(n);
  for (std::size_t r = 0; r < rows; ++r, z += n) {
    if (!args.gain) {
      for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
        part.store(activate(args.activation, hn::Add(part.load(z + f), part.load(args.bias + f))), z + f);
      });
      continue;
    }
    Vec sum = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = hn::Add(part.load(z + f), part.load(args.bias + f));
      part.store(x, z + f);
      sum = hn::Add(sum, x);
    });
    const Vec mean = hn::Set(d, sum_of_lanes(sum) * inverse_n);
    Vec squares = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = part.only(hn::Sub(part.load(z + f), mean));
      squares = hn::MulAdd(x, x, squares);
    });
    const float inverse = 1.0f / std::sqrt(sum_of_lanes(squares) * inverse_n + kLayerNormEpsilon);
    inverse_deviation[r] = inverse;
    const Vec scale = hn::Set(d, inverse);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = hn::Mul(hn::Sub(part.load(z + f), mean), scale);
      part.store(x, normed + r * n + f);
      part.store(activate(args.activation, hn::MulAdd(part.load(args.gain + f), x, part.load(args.shift + f))), z + f);
    });
  }
}

void UnfinishRows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                  const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift) {
  const std::size_t n = args.features;
  const float inverse_n = 1.0f / static_cast<float>(n);
  for (std::size_t r = 0; r < rows; ++r, y += n, dy += n, normed += args.gain ? n : 0, dz += n) {
    if (!args.gain) {
      for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
        const Vec g = hn::Mul(part.load(dy + f), slope(args.activation, part.load(y + f)));
        part.store(g, dz + f);
        part.store(hn::Add(part.load(dbias + f), g), dbias + f);
      });
      continue;
    }
    Vec sum = hn::Zero(d), product = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = part.load(normed + f);
      const Vec g = hn::Mul(part.load(dy + f), slope(args.activation, part.load(y + f)));
      part.store(hn::MulAdd(g, x, part.load(dgain + f)), dgain + f);
      part.store(hn::Add(part.load(dshift + f), g), dshift + f);
      const Vec dx = hn::Mul(g, part.load(args.gain + f));
      part.store(dx, dz + f);
      sum = hn::Add(sum, dx);
      product = hn::MulAdd(dx, x, product);
    });
    const Vec mean = hn::Set(d, sum_of_lanes(sum) * inverse_n);
    const Vec along = hn::Set(d, sum_of_lanes(product) * inverse_n);
    const Vec scale = hn::Set(d, inverse_deviation[r]);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec centred = hn::Sub(part.load(dz + f), mean);
      const Vec g = hn::Mul(scale, hn::NegMulAdd(part.load(normed + f), along, centred));
      part.store(g, dz + f);
      part.store(hn::Add(part.load(dbias + f), g), dbias + f);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(FinishRows);
HWY_EXPORT(UnfinishRows);

void finish_rows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation) {
  HWY_DYNAMIC_DISPATCH(FinishRows)(args, rows, z, normed, inverse_deviation);
}

void unfinish_rows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                   const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift) {
  HWY_DYNAMIC_DISPATCH(UnfinishRows)(args, rows, y, dy, normed, inverse_deviation, dz, dbias, dgain, dshift);
}

}  // namespace espalier
#endif
