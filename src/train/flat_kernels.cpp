// Plain loops: the compiler vectorises them for each target that Highway lists. Multiply and add are never
// fused here (-ffp-contract=off), division and square root are exact, and nothing is reassociated.
#include "flat_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/flat_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace espalier::HWY_NAMESPACE {

// Comparisons in this order keep a NaN a NaN.
inline float clipped(float g, const Update& u) {
  g *= u.scale;
  g = g < -u.limit ? -u.limit : g;
  return g > u.limit ? u.limit : g;
}

void adamw(const Update& update, std::size_t n, float* HWY_RESTRICT w, const float* HWY_RESTRICT gradient,
           float* HWY_RESTRICT m, float* HWY_RESTRICT v) {
  const Update u = update;  // a copy, so that stores through the arrays cannot change it
  for (std::size_t i = 0; i < n; ++i) {
    const float g = clipped(gradient[i], u);
    const float first = u.beta1 * m[i] + (1.0f - u.beta1) * g;
    const float second = u.beta2 * v[i] + (1.0f - u.beta2) * g * g;
    m[i] = first;
    v[i] = second;
    w[i] = w[i] * u.decay - u.lr * (first * u.correct1) / (std::sqrt(second * u.correct2) + u.epsilon);
  }
}

void sgd(const Update& update, std::size_t n, float* HWY_RESTRICT w, const float* HWY_RESTRICT gradient,
         float* HWY_RESTRICT m) {
  const Update u = update;
  for (std::size_t i = 0; i < n; ++i) {
    const float first = u.momentum * m[i] + clipped(gradient[i], u);
    m[i] = first;
    w[i] = w[i] * u.decay - u.lr * first;
  }
}

double sum_of_squares(std::size_t n, const float* HWY_RESTRICT x) {
  double lane[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t l = 0; l < 8; ++l) lane[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
  for (std::size_t l = 0; i + l < n; ++l) lane[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// The tree over kSlots neighbouring slots: the largest power of two of them on the left, the rest on the
// right.
template <std::size_t kSlots>
HWY_INLINE float tree_of(const float* slot, std::size_t stride) {
  if constexpr (kSlots == 1) {
    return *slot;
  } else {
    constexpr std::size_t kLeft = std::bit_floor(kSlots - 1);
    return tree_of<kLeft>(slot, stride) + tree_of<kSlots - kLeft>(slot + kLeft * stride, stride);
  }
}

// into[i] = or += tree of kSlots slots at i: a group small enough to be summed in registers.
template <std::size_t kSlots, bool kAdd>
void sum_group(std::size_t n, std::size_t stride, const float* HWY_RESTRICT slot, float* HWY_RESTRICT into) {
  for (std::size_t i = 0; i < n; ++i) {
    const float sum = tree_of<kSlots>(slot + i, stride);
    into[i] = kAdd ? into[i] + sum : sum;
  }
}

template <bool kAdd>
void sum_group_of(std::size_t slots, std::size_t n, std::size_t stride, const float* slot, float* into) {
  switch (slots) {
    case 1: return sum_group<1, kAdd>(n, stride, slot, into);
    case 2: return sum_group<2, kAdd>(n, stride, slot, into);
    case 3: return sum_group<3, kAdd>(n, stride, slot, into);
    case 4: return sum_group<4, kAdd>(n, stride, slot, into);
    case 5: return sum_group<5, kAdd>(n, stride, slot, into);
    case 6: return sum_group<6, kAdd>(n, stride, slot, into);
    case 7: return sum_group<7, kAdd>(n, stride, slot, into);
    default: return sum_group<8, kAdd>(n, stride, slot, into);
  }
}

inline void add(std::size_t n, float* HWY_RESTRICT into, const float* HWY_RESTRICT from) {
  for (std::size_t i = 0; i < n; ++i) into[i] += from[i];
}

// Groups of eight slots go through a stack of partial sums that works like the bits of a counter: entry k
// holds 2^k neighbouring groups. Each slot is read once, and the stack stays in the first-level cache.
void add_tree(std::size_t slots, std::size_t stride, std::size_t n, const float* slot, float* total) {
  constexpr std::size_t kGroup = 8, kBlock = 256, kLevels = 62;
  if (slots <= kGroup) return sum_group_of<true>(slots, n, stride, slot, total);
  alignas(64) float partial[kLevels][kBlock];
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = std::min(kBlock, n - begin);
    std::size_t height = 0;
    for (std::size_t s = 0; s < slots; s += kGroup) {
      const std::size_t group = std::min(kGroup, slots - s);
      sum_group_of<false>(group, count, stride, slot + s * stride + begin, partial[height++]);
      // A short group is the last one: it waits for the pass below, like every stack entry that found no
      // twin.
      for (std::size_t full = s / kGroup; group == kGroup && (full & 1); full >>= 1, --height)
        add(count, partial[height - 2], partial[height - 1]);
    }
    for (; height > 1; --height) add(count, partial[height - 2], partial[height - 1]);
    add(count, total + begin, partial[0]);
  }
}

}  // namespace espalier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(adamw);
HWY_EXPORT(sgd);
HWY_EXPORT(sum_of_squares);
HWY_EXPORT(add_tree);

void adamw_kernel(const Update& update, std::size_t n, float* w, const float* gradient, float* m, float* v) {
  HWY_DYNAMIC_DISPATCH(adamw)(update, n, w, gradient, m, v);
}
void sgd_kernel(const Update& update, std::size_t n, float* w, const float* gradient, float* m) {
  HWY_DYNAMIC_DISPATCH(sgd)(update, n, w, gradient, m);
}
double sum_of_squares_kernel(std::size_t n, const float* x) { return HWY_DYNAMIC_DISPATCH(sum_of_squares)(n, x); }
void add_tree_kernel(std::size_t slots, std::size_t stride, std::size_t n, const float* slot, float* total) {
  HWY_DYNAMIC_DISPATCH(add_tree)(slots, stride, n, slot, total);
}

}  // namespace espalier
#endif
