// Forward gathers over incoming edges, backward over outgoing ones; both write only their own node's row.
// The backward loop meets a_u and delta_v of every edge, so the weight's gradient is made in the same pass.
#include "models/dag/dag_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/dag/dag_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "graph/activation-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static_assert(kDagLaneStep % kVec == 0);

// Rows of edges soon to come: nodes are visited in order, so their edges are the next in the list.
constexpr std::uint32_t kAhead = 16;
template <std::size_t kWidth>
HWY_INLINE void fetch(const float* row) {
  for (std::size_t line = 0; line < kWidth; line += 16) __builtin_prefetch(row + line);
}

// One node, kWidth lanes of its row (already offset by the caller).
template <std::size_t kWidth>
HWY_INLINE void forward_tile(const DagView& view, std::size_t v, float* HWY_RESTRICT a) {
  constexpr std::size_t kCount = kWidth / kVec;
  Vec sum[kCount];
  for (std::size_t t = 0; t < kCount; ++t) sum[t] = hn::Zero(d);
  for (std::uint32_t e = view.in_offsets[v]; e < view.in_offsets[v + 1]; ++e) {
    const Vec w = hn::Set(d, view.weights[e]);
    fetch<kWidth>(a + view.sources[std::min(e + kAhead, view.num_edges - 1)] * view.lanes);
    const float* source = a + view.sources[e] * view.lanes;
    for (std::size_t t = 0; t < kCount; ++t) sum[t] = hn::MulAdd(w, hn::LoadU(d, source + t * kVec), sum[t]);
  }
  const Vec scale = hn::Set(d, view.scale[v]), bias = hn::Set(d, view.bias[v - view.num_inputs]);
  const auto f = static_cast<Activation>(view.activation[v]);
  float* row = a + v * view.lanes;
  for (std::size_t t = 0; t < kCount; ++t) hn::StoreU(activate(f, hn::MulAdd(scale, sum[t], bias)), d, row + t * kVec);
}

template <std::size_t kWidth>
HWY_INLINE void backward_tile(const DagView& view, std::size_t u, const float* HWY_RESTRICT a, float* HWY_RESTRICT g,
                              float* HWY_RESTRICT dw, float* HWY_RESTRICT db) {
  constexpr std::size_t kCount = kWidth / kVec;
  const float* a_row = a + u * view.lanes;
  float* g_row = g + u * view.lanes;
  Vec sum[kCount];
  for (std::size_t t = 0; t < kCount; ++t) sum[t] = view.is_output[u] ? hn::LoadU(d, g_row + t * kVec) : hn::Zero(d);
  for (std::uint32_t k = view.out_offsets[u + 1]; k-- > view.out_offsets[u];) {
    const Vec w = hn::Set(d, view.out_weights[k]);
    fetch<kWidth>(g + view.targets[k >= kAhead ? k - kAhead : 0] * view.lanes);
    const float* delta_row = g + view.targets[k] * view.lanes;
    Vec product = hn::Zero(d);
    for (std::size_t t = 0; t < kCount; ++t) {
      const Vec delta = hn::LoadU(d, delta_row + t * kVec);
      sum[t] = hn::MulAdd(w, delta, sum[t]);
      product = hn::MulAdd(delta, hn::LoadU(d, a_row + t * kVec), product);
    }
    dw[k] += sum_of_lanes(product);
  }
  if (u < view.num_inputs) {
    for (std::size_t t = 0; t < kCount; ++t) hn::StoreU(sum[t], d, g_row + t * kVec);
    return;
  }
  const auto f = static_cast<Activation>(view.activation[u]);
  Vec total = hn::Zero(d);
  for (std::size_t t = 0; t < kCount; ++t) {
    const Vec delta = hn::Mul(sum[t], slope(f, hn::LoadU(d, a_row + t * kVec)));
    hn::StoreU(delta, d, g_row + t * kVec);
    total = hn::Add(total, delta);
  }
  db[u] += sum_of_lanes(total);
}

// body(width, offset) over tiles of 64 lanes, then 32, and a shorter last one.
template <class Body>
HWY_INLINE void for_tiles(std::size_t lanes, Body&& body) {
  std::size_t at = 0;
  for (; at + 64 <= lanes; at += 64) body(std::integral_constant<std::size_t, 64>(), at);
  for (; at + 32 <= lanes; at += 32) body(std::integral_constant<std::size_t, 32>(), at);
  if (lanes - at == 24) body(std::integral_constant<std::size_t, 24>(), at);
  if (lanes - at == 16) body(std::integral_constant<std::size_t, 16>(), at);
  if (lanes - at == 8) body(std::integral_constant<std::size_t, 8>(), at);
}

void Forward(const DagView& view, std::size_t first, std::size_t last, float* a) {
  for (std::size_t v = first; v < last; ++v)
    for_tiles(view.lanes, [&](auto width, std::size_t at) HWY_ATTR { forward_tile<width()>(view, v, a + at); });
}

void Backward(const DagView& view, std::size_t first, std::size_t last, const float* a, float* g, float* dw,
              float* db) {
  for (std::size_t u = last; u-- > first;)
    for_tiles(view.lanes,
              [&](auto width, std::size_t at) HWY_ATTR { backward_tile<width()>(view, u, a + at, g + at, dw, db); });
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void dag_forward(const DagView& view, std::size_t first, std::size_t last, float* a) {
  HWY_DYNAMIC_DISPATCH(Forward)(view, first, last, a);
}

void dag_backward(const DagView& view, std::size_t first, std::size_t last, const float* a, float* g, float* dw,
                  float* db) {
  HWY_DYNAMIC_DISPATCH(Backward)(view, first, last, a, g, dw, db);
}

}  // namespace espalier
#endif
