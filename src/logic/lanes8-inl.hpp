// Eight lanes as one vector or several, and the sum of four of them in a fixed tree.
// Included once per Highway target; no include guard other than Highway's own.
#if defined(ESPALIER_LOGIC_LANES8_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_LOGIC_LANES8_INL
#undef ESPALIER_LOGIC_LANES8_INL
#else
#define ESPALIER_LOGIC_LANES8_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Tag>;
inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(Tag()));
inline constexpr int kParts = 8 / kWidth;  // vectors that make eight lanes

// The coefficient kIndex of a gate in all lanes. One load brings all four and shuffles spread them: loads are what the
// gates have too many of.
#if HWY_TARGET == HWY_SCALAR
struct FourCoefficients {
  const float* c;
  explicit FourCoefficients(const float* c) : c(c) {}
  template <int kIndex>
  HWY_INLINE Vec get() const {
    return hn::Set(Tag(), c[kIndex]);
  }
};
#else
struct FourCoefficients {
  Vec c;
  HWY_INLINE explicit FourCoefficients(const float* HWY_RESTRICT from) : c(hn::LoadDup128(Tag(), from)) {}
  template <int kIndex>
  HWY_INLINE Vec get() const {
    return hn::Broadcast<kIndex>(c);
  }
};
#endif

// sums[k][part] -> out[k] += ((x0+x2)+(x1+x3)) + ((x4+x6)+(x5+x7)), k = 0..3, in two halves: what comes between them
// does not have to wait for the long way from the sums to memory.
#if HWY_TARGET <= HWY_AVX2 && HWY_TARGET != HWY_SCALAR
struct PendingSums {
  Vec t0, t1;
  float* out;
  HWY_INLINE explicit PendingSums(float* nothing_to) : t0(hn::Zero(Tag())), t1(t0), out(nothing_to) {}
  HWY_INLINE void take(const Vec (&sums)[4][kParts], float* to) {
    const Tag d;
    out = to;
    t0 = hn::Add(hn::InterleaveLower(d, sums[0][0], sums[2][0]), hn::InterleaveUpper(d, sums[0][0], sums[2][0]));
    t1 = hn::Add(hn::InterleaveLower(d, sums[1][0], sums[3][0]), hn::InterleaveUpper(d, sums[1][0], sums[3][0]));
  }
  // Keeps the compiler, which knows no better place than the earliest, from finishing before it has v.
  HWY_INLINE void wait_for(Vec& v) { asm("" : "+v"(t0.raw), "+v"(t1.raw), "+v"(v.raw)); }
  HWY_INLINE void finish() const {
    const Tag d;
    const hn::Half<Tag> half;
    const Vec u = hn::Add(hn::InterleaveLower(d, t0, t1), hn::InterleaveUpper(d, t0, t1));
    const auto total = hn::Add(hn::LowerHalf(half, u), hn::UpperHalf(half, u));
    hn::Store(hn::Add(hn::Load(half, out), total), half, out);
  }
};
#else
struct PendingSums {
  HWY_ALIGN float x[4][8] = {};
  float* out;
  HWY_INLINE explicit PendingSums(float* nothing_to) : out(nothing_to) {}
  HWY_INLINE void take(const Vec (&sums)[4][kParts], float* to) {
    out = to;
    for (int k = 0; k < 4; ++k)
      for (int part = 0; part < kParts; ++part) hn::Store(sums[k][part], Tag(), x[k] + part * kWidth);
  }
  HWY_INLINE void wait_for(Vec&) {}
  HWY_INLINE void finish() const {
    for (int k = 0; k < 4; ++k)
      out[k] += ((x[k][0] + x[k][2]) + (x[k][1] + x[k][3])) + ((x[k][4] + x[k][6]) + (x[k][5] + x[k][7]));
  }
};
#endif

HWY_INLINE void add_four_sums(const Vec (&sums)[4][kParts], float* out) {
  PendingSums pending(out);
  pending.take(sums, out);
  pending.finish();
}

// The four sums of a gate (of g, ga, gb and gab), kept as eight running sums each.
struct FourSums {
  Vec s[4][kParts];
  HWY_INLINE void clear() {
    for (int part = 0; part < kParts; ++part) s[0][part] = s[1][part] = s[2][part] = s[3][part] = hn::Zero(Tag());
  }
  HWY_INLINE void start(int part, Vec g, Vec ga, Vec b) {
    s[0][part] = g;
    s[1][part] = ga;
    s[2][part] = hn::Mul(g, b);
    s[3][part] = hn::Mul(ga, b);
  }
  HWY_INLINE void add(int part, Vec g, Vec ga, Vec b) {
    s[0][part] = hn::Add(s[0][part], g);
    s[1][part] = hn::Add(s[1][part], ga);
    s[2][part] = hn::MulAdd(g, b, s[2][part]);
    s[3][part] = hn::MulAdd(ga, b, s[3][part]);
  }
};

// How much a gate's output changes with its inputs: c1 + c3 b with a, c2 + c3 a with b.
struct GateSlopes {
  Vec c1, c2, c3;
  HWY_INLINE explicit GateSlopes(const float* c)
      : c1(hn::Set(Tag(), c[1])), c2(hn::Set(Tag(), c[2])), c3(hn::Set(Tag(), c[3])) {}
  HWY_INLINE Vec a(Vec b) const { return hn::MulAdd(c3, b, c1); }
  HWY_INLINE Vec b(Vec a) const { return hn::MulAdd(c3, a, c2); }
};

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();
#endif
