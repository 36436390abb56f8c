#include "models/lattice/perception.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/lattice/perceive_tree_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"
#include "models/lattice/geometry.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

constexpr int kCells = kBlockCells;
constexpr int kLanes = 16;  // walked through a tree at once: two vectors hide latency and leave registers free
constexpr int kVectors = kLanes / kWidth;
static_assert(kCells % kLanes == 0);

constexpr int gates_of(int depth) { return (1 << depth) - 1; }
constexpr int leaves_of(int depth) { return 1 << (depth - 1); }

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

// One output of one kernel, for kLanes cells of one channel. With kKeep the values that the backward pass fetches are
// stored as well: neither leaves nor outputs.
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
void forward_trees(const PerceiveTree& tree, const float* coefficients, int channels, const float* patch, float* values,
                   float* rows) {
  const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(channels) * kCells;
  for (int lane = 0; lane < channels * kCells; lane += kLanes) {
    Walk<kKeep> walk{patch + lane, row, coefficients, values, {}};
    load(walk.patch + 4 * row, walk.centre);
    float* out =
        rows + static_cast<std::ptrdiff_t>(lane / kCells) * tree.outputs * tree.kernels * kCells + lane % kCells;
    for (int o = 0; o < tree.outputs; ++o) {
      walk.coefficients = coefficients;
      if (kKeep) walk.values = values + lane;
      for (int k = 0; k < tree.kernels; ++k, walk.coefficients += 4 * tree.gates, out += kCells) {
        Values value;
        walk.template value<kDepth>(&tree.places[o * gates_of(kDepth)], &tree.neighbours[o * leaves_of(kDepth)], value);
        store(value, out);
        if (kKeep) walk.values += tree.gates * row;
      }
    }
  }
}

template <bool kKeep>
void forward_any(const PerceiveTree& t, const float* c, int channels, const float* patch, float* values, float* rows) {
  switch (t.depth) {
    case 1: return forward_trees<1, kKeep>(t, c, channels, patch, values, rows);
    case 2: return forward_trees<2, kKeep>(t, c, channels, patch, values, rows);
    case 3: return forward_trees<3, kKeep>(t, c, channels, patch, values, rows);
    default: return forward_trees<4, kKeep>(t, c, channels, patch, values, rows);  // 8 neighbours: no deeper
  }
}

void tree_forward(const PerceiveTree& t, const float* c, int channels, const float* patch, float* values, float* rows) {
  if (values)
    forward_any<true>(t, c, channels, patch, values, rows);
  else
    forward_any<false>(t, c, channels, patch, values, rows);
}

// The gradient of a gate's output: rows of kCells, `stride` floats from channel to channel.
struct GradientRows {
  const float* first;
  std::ptrdiff_t stride;
};

// Back through the trees of one kernel, all lanes of a gate before the next, so that its sums stay in registers.
struct TreeBackward {
  int channels;
  std::ptrdiff_t row;  // from one patch row to the next, and from gate to gate of the values
  const float* patch;
  const float* coefficients;  // of the kernel, like the next
  float* values;              // turn into gradients
  float* scratch;
  float* dpatch;
  float* dc;

  // Calls visit(lane, gradient, part): all lanes in eights, and these in vectors.
  template <class Visit>
  HWY_INLINE void each_vector(const GradientRows gradient, Visit visit) const {
    const float* g = gradient.first;
    for (int c = 0; c < channels; ++c, g += gradient.stride)
      for (int eight = 0; eight < kCells; eight += 8)
        for (int part = 0; part < kParts; ++part) {
          const int lane = eight + part * kWidth;
          visit(std::ptrdiff_t{c} * kCells + lane, hn::Load(Tag(), g + lane), part);
        }
  }

  // A gate whose inputs are gates with kept values.
  HWY_INLINE void inner(std::int32_t place, std::int32_t left, std::int32_t right, const GradientRows& gradient) {
    const Tag d;
    const GateSlopes slopes(coefficients + 4 * place);
    FourSums sums;
    sums.clear();
    float *HWY_RESTRICT a = values + left * row, *HWY_RESTRICT b = values + right * row;
    each_vector(gradient, [&](std::ptrdiff_t lane, Vec g, int part) HWY_ATTR {
      const Vec va = hn::Load(d, a + lane), vb = hn::Load(d, b + lane);
      hn::Store(hn::Mul(g, slopes.a(vb)), d, a + lane);
      hn::Store(hn::Mul(g, slopes.b(va)), d, b + lane);
      sums.add(part, g, hn::Mul(g, va), vb);
    });
    add_four_sums(sums.s, dc + 4 * place);
  }

  // A gate that reads two leaves, whose values are made again: that is quicker than to fetch them from afar.
  void above_leaves(const PerceiveTree::LeafPair& pair, const GradientRows& gradient) {
    const Tag d;
    const float *left = coefficients + 4 * pair.leaves[0], *right = coefficients + 4 * pair.leaves[1];
    const GateSlopes slopes(coefficients + 4 * pair.gate), left_slopes(left), right_slopes(right);
    const Vec left0 = hn::Set(d, left[0]), right0 = hn::Set(d, right[0]);
    const float *HWY_RESTRICT x = patch + pair.neighbours[0] * row, *HWY_RESTRICT y = patch + pair.neighbours[1] * row,
                              *HWY_RESTRICT centre = patch + 4 * row;
    float *HWY_RESTRICT da = scratch, *HWY_RESTRICT db = scratch + row;
    FourSums sums;
    sums.clear();
    each_vector(gradient, [&](std::ptrdiff_t lane, Vec g, int part) HWY_ATTR {
      const Vec vx = hn::Load(d, x + lane), vy = hn::Load(d, y + lane), m = hn::Load(d, centre + lane);
      const Vec a = hn::MulAdd(left_slopes.b(vx), m, hn::MulAdd(left_slopes.c1, vx, left0));
      const Vec b = hn::MulAdd(right_slopes.b(vy), m, hn::MulAdd(right_slopes.c1, vy, right0));
      hn::Store(hn::Mul(g, slopes.a(b)), d, da + lane);
      hn::Store(hn::Mul(g, slopes.b(a)), d, db + lane);
      sums.add(part, g, hn::Mul(g, a), b);
    });
    add_four_sums(sums.s, dc + 4 * pair.gate);
  }

  // The leaves themselves, two at a time: their centre gets its gradient in one go. above_leaves left theirs in
  // scratch.
  void two_leaves(const PerceiveTree::LeafPair& pair) {
    const Tag d;
    const GateSlopes left(coefficients + 4 * pair.leaves[0]), right(coefficients + 4 * pair.leaves[1]);
    const float *HWY_RESTRICT x = patch + pair.neighbours[0] * row, *HWY_RESTRICT y = patch + pair.neighbours[1] * row,
                              *HWY_RESTRICT centre = patch + 4 * row;
    const float *HWY_RESTRICT dleft = scratch, *HWY_RESTRICT dright = scratch + row;
    float *HWY_RESTRICT dx = dpatch + pair.neighbours[0] * row, *HWY_RESTRICT dy = dpatch + pair.neighbours[1] * row,
                        *HWY_RESTRICT dcentre = dpatch + 4 * row;
    FourSums left_sums, right_sums;
    left_sums.clear();
    right_sums.clear();
    each_vector({dleft, kCells}, [&](std::ptrdiff_t lane, Vec ga, int part) HWY_ATTR {
      const Vec gb = hn::Load(d, dright + lane);
      const Vec vx = hn::Load(d, x + lane), vy = hn::Load(d, y + lane), m = hn::Load(d, centre + lane);
      hn::Store(hn::MulAdd(ga, left.a(m), hn::Load(d, dx + lane)), d, dx + lane);
      hn::Store(hn::MulAdd(gb, right.a(m), hn::Load(d, dy + lane)), d, dy + lane);
      const Vec half = hn::MulAdd(ga, left.b(vx), hn::Load(d, dcentre + lane));
      hn::Store(hn::MulAdd(gb, right.b(vy), half), d, dcentre + lane);
      left_sums.add(part, ga, hn::Mul(ga, vx), m);
      right_sums.add(part, gb, hn::Mul(gb, vy), m);
    });
    add_four_sums(left_sums.s, dc + 4 * pair.leaves[0]);
    add_four_sums(right_sums.s, dc + 4 * pair.leaves[1]);
  }

  // Down to the gates above the leaves, which find their gradients in the place of their values. `at`: the subtree's
  // first gate.
  template <int kDepth>
  void inner_gates(const std::int32_t* at, const GradientRows& gradient) {
    if constexpr (kDepth > 2) {
      constexpr int kSide = gates_of(kDepth - 1);
      const std::int32_t left = at[kSide - 1], right = at[2 * kSide - 1];
      inner(at[2 * kSide], left, right, gradient);
      inner_gates<kDepth - 1>(at, {values + left * row, kCells});
      inner_gates<kDepth - 1>(at + kSide, {values + right * row, kCells});
    }
  }
};

template <int kDepth>
void backward_trees(const PerceiveTree& tree, const float* drows, TreeBackward walk) {
  const std::ptrdiff_t output_rows = std::ptrdiff_t{tree.kernels} * kCells;
  for (int k = 0; k < tree.kernels; ++k, drows += kCells) {
    const auto output = [&](int o) { return GradientRows{drows + o * output_rows, tree.outputs * output_rows}; };
    for (int o = 0; o < tree.outputs; ++o) walk.inner_gates<kDepth>(&tree.places[o * gates_of(kDepth)], output(o));
    for (const PerceiveTree::LeafPair& pair : tree.leaf_pairs) {
      walk.above_leaves(pair,
                        kDepth == 2 ? output(pair.output) : GradientRows{walk.values + pair.gate * walk.row, kCells});
      walk.two_leaves(pair);
    }
    walk.coefficients += 4 * tree.gates;
    walk.dc += 4 * tree.gates;
    walk.values += tree.gates * walk.row;
  }
}

void tree_backward(const PerceiveTree& t, const float* c, int channels, const float* patch, float* values,
                   const float* drows, float* scratch, float* dpatch, float* dc) {
  const TreeBackward walk{channels, std::ptrdiff_t{channels} * kCells, patch, c, values, scratch, dpatch, dc};
  switch (t.depth) {
    case 2: return backward_trees<2>(t, drows, walk);
    case 3: return backward_trees<3>(t, drows, walk);
    default: return backward_trees<4>(t, drows, walk);  // 8 neighbours: no deeper
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(tree_forward);
HWY_EXPORT(tree_backward);

void perceive_tree_forward(const PerceiveTree& tree, const float* coefficients, int channels, const float* patch,
                           float* values, float* rows) {
  HWY_DYNAMIC_DISPATCH(tree_forward)(tree, coefficients, channels, patch, values, rows);
}

void perceive_tree_backward(const PerceiveTree& tree, const float* coefficients, int channels, const float* patch,
                            float* values, const float* drows, float* scratch, float* dpatch, float* dc) {
  HWY_DYNAMIC_DISPATCH(tree_backward)
  (tree, coefficients, channels, patch, values, drows, scratch, dpatch, dc);
}

}  // namespace espalier
#endif
