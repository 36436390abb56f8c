#include "espalier/lattice/perceive_tree.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lattice/perceive_tree_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "lattice/perceive_tree-inl.hpp"
#include "logic/lanes8-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

constexpr int kLanes = 16;  // walked through a tree at once: two vectors hide latency and leave registers free
constexpr int kVectors = kLanes / kWidth;
static_assert(kCells % kLanes == 0);

using Values = Vec[kVectors];

HWY_INLINE void load(const float* HWY_RESTRICT from, Values& values) {
  for (int i = 0; i < kVectors; ++i) values[i] = hn::Load(Tag(), from + i * kWidth);
}

HWY_INLINE void gate(const float* HWY_RESTRICT c, const Values& a, const Values& b, Values& out) {
  const FourCoefficients four_c(c);
  const Vec c0 = four_c.get<0>(), c1 = four_c.get<1>(), c2 = four_c.get<2>(), c3 = four_c.get<3>();
  for (int i = 0; i < kVectors; ++i) out[i] = hn::MulAdd(hn::MulAdd(c3, a[i], c2), b[i], hn::MulAdd(c1, a[i], c0));
}

HWY_INLINE void store(const Values& values, float* HWY_RESTRICT to) {
  for (int i = 0; i < kVectors; ++i) hn::Store(values[i], Tag(), to + i * kWidth);
}

// One output of one kernel, for kLanes cells of one channel. With kKeep all values are stored as well.
template <bool kKeep>
struct Walk {
  const float* patch;         // of these lanes
  std::ptrdiff_t row;         // from one patch row to the next, and from gate to gate of the values
  const float* coefficients;  // of the kernel
  float* values;              // of the kernel and these lanes
  Values centre;

  // `at` and `neighbour`: those of the subtree's first gate and leaf.
  template <int kDepth>
  HWY_INLINE void value(const std::int32_t* at, const std::int32_t* neighbour, Values& out) const {
    Values a, b;
    if constexpr (kDepth == 1) {
      load(patch + *neighbour * row, a);
      gate(coefficients + 4 * *at, a, centre, out);
    } else {
      constexpr int kSide = gates_of(kDepth - 1);
      value<kDepth - 1>(at, neighbour, a);
      value<kDepth - 1>(at + kSide, neighbour + leaves_of(kDepth - 1), b);
      if (kKeep && kDepth > 2) {
        store(a, values + at[kSide - 1] * row);
        store(b, values + at[2 * kSide - 1] * row);
      }
      gate(coefficients + 4 * at[2 * kSide], a, b, out);
    }
  }
};

template <int kDepth, bool kKeep>
void forward_trees(const PerceiveTree& tree, int kernels, const float* coefficients, int channels, const float* patch,
                   float* values, float* rows) {
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(channels) * kCells;
  for (int lane = 0; lane < channels * kCells; lane += kLanes) {
    Walk<kKeep> walk{patch + lane, row, coefficients, values, {}};
    load(walk.patch + 4 * row, walk.centre);
    float* out = rows + static_cast<std::ptrdiff_t>(lane / kCells) * tree.outputs * kernels * kCells + lane % kCells;
    for (int o = 0; o < tree.outputs; ++o) {
      walk.coefficients = coefficients;
      if (kKeep) walk.values = values + lane;
      for (int k = 0; k < kernels; ++k, walk.coefficients += 4 * tree.gates, out += kCells) {
        Values value;
        walk.template value<kDepth>(&tree.places[o * gates_of(kDepth)], &tree.neighbours[o * leaves_of(kDepth)], value);
        store(value, out);
        if (kKeep) walk.values += tree.gates * row;
      }
    }
  }
}

template <bool kKeep>
void forward_any(const PerceiveTree& t, int kernels, const float* c, int channels, const float* patch, float* values,
                 float* rows) {
  switch (t.depth) {
    case 1: return forward_trees<1, kKeep>(t, kernels, c, channels, patch, values, rows);
    case 2: return forward_trees<2, kKeep>(t, kernels, c, channels, patch, values, rows);
    case 3: return forward_trees<3, kKeep>(t, kernels, c, channels, patch, values, rows);
    default: return forward_trees<4, kKeep>(t, kernels, c, channels, patch, values, rows);  // 8 neighbours: no deeper
  }
}

void tree_forward(const PerceiveTree& t, int kernels, const float* c, int channels, const float* patch, float* values,
                  float* rows) {
  if (values)
    forward_any<true>(t, kernels, c, channels, patch, values, rows);
  else
    forward_any<false>(t, kernels, c, channels, patch, values, rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(tree_forward);

void perceive_tree_forward(const PerceiveTree& tree, int kernels, const float* coefficients, int channels,
                           const float* patch, float* values, float* rows) {
  HWY_DYNAMIC_DISPATCH(tree_forward)(tree, kernels, coefficients, channels, patch, values, rows);
}

}  // namespace espalier
#endif
