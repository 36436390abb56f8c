// The exact backward pass. For mean and sum the messages are linear, so
//   dW_s = sum_v (agg_s h)_v^T dz_v = sum_u h_u^T G_s,u   and   dh_u = dz_u W_self^T + sum_s G_s,u W_s^T
// with G_s,u = sum over v that heard u on side s of c_s(v) dz_v. One gather of dz gives both, chunk by chunk, and
// the forward pass need not keep its sums. Max is not linear: what a node's message got goes to the winners.
#include <algorithm>

#include "models/message/message_max.hpp"
#include "models/message/row_kernels.hpp"

namespace espalier {

static_assert(MessageGraph::kRows <= kOuterRows);

void MessagePassingLayer::backward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                   std::span<const float> y, std::span<const float> dy, MessageState& state,
                                   std::span<float> gradients, std::span<float> dh, const ThreadPool& pool) const {
  check(graph, h, dy.size());
  const std::size_t in = options_.in, out = options_.out, nodes = graph.num_nodes();
  const std::size_t sides = graph.sides().size(), panels = 1 + sides, panel_size = packed_size(out, in);
  if (nodes == 0) return;
  const bool max = options_.aggregation == Aggregation::kMax, norm = options_.layer_norm;
  state.packed.resize(panels * panel_size);
  for (std::size_t i = 0; i < panels; ++i) pack_columns(panel(p, i), out, in, 1, out, &state.packed[i * panel_size]);
  state.dz.resize(nodes * out);
  if (max) state.routed.resize(sides * nodes * in);

  const std::size_t slots = graph.num_slots(), per_slot = graph.chunks_per_slot();
  if (slots > 1) {
    if (!state.slots || state.slots->count() != slots || state.slots->slot(0).size() != size_)
      state.slots = std::make_unique<GradientSlots>(slots, size_);
    state.slots->zero(pool);
  }
  // Where slot i adds tensor values that start at `offset`.
  const auto into = [&](std::size_t slot, std::size_t offset) {
    return slots > 1 ? state.slots->slot(slot).data() + (offset - first_offset_) : gradients.data() + offset;
  };
  const auto side_offset = [&](std::size_t s) { return (s % 2 == 0 ? in_ : out_) + s / 2 * in * out; };
  const double slot_ns = chunk_ns(graph) * static_cast<double>(per_slot);
  const auto for_slots = [&](double item_ns, auto&& body) {
    pool.for_chunks(graph.num_chunks(), per_slot, item_ns / static_cast<double>(per_slot), [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) body(c.index, graph.chunk_starts()[i], graph.chunk_starts()[i + 1]);
    });
  };

  const float* values = p.values().data();
  const RowArgs row_args{out, options_.activation, values + bias_, norm ? values + gain_ : nullptr, values + shift_};
  for_slots(slot_ns / 10, [&](std::size_t slot, std::size_t begin, std::size_t end) {
    const std::size_t at = begin * out;
    unfinish_rows(row_args, end - begin, y.data() + at, dy.data() + at, norm ? &state.normed[at] : nullptr,
                  norm ? &state.inverse_deviation[begin] : nullptr, &state.dz[at], into(slot, bias_),
                  norm ? into(slot, gain_) : nullptr, norm ? into(slot, shift_) : nullptr);
  });

  const float* dz = state.dz.data();
  const std::vector<SideGather> gathers = backward_gathers(graph, options_.aggregation);
  if (!max) gather_heavy(gathers, dz, out, state, pool);
  for_slots(2 * slot_ns, [&](std::size_t slot, std::size_t begin, std::size_t end) {
    const std::size_t rows = end - begin;
    const float* h_rows = h.data() + begin * in;
    const float* dz_rows = dz + begin * out;
    outer_add(h_rows, in, in, dz_rows, out, out, rows, into(slot, self_));
    std::vector<Panel> factors{{dz_rows, out, state.packed.data()}};
    static thread_local AlignedVector<float> gathered;  // [sides][rows][out]
    gathered.resize(std::max(gathered.size(), sides * rows * out));
    for (std::size_t s = 0; s < sides; ++s) {
      const float* packed = &state.packed[(1 + s) * panel_size];
      if (max) {
        outer_add(&state.maxima[(s * nodes + begin) * in], in, in, dz_rows, out, out, rows, into(slot, side_offset(s)));
        const Panel factor{dz_rows, out, packed};
        dense_rows(&factor, 1, out, rows, in, &state.routed[(s * nodes + begin) * in], in);
        continue;
      }
      float* sums = &gathered[s * rows * out];
      gather_chunk(gathers, s, dz, out, state, begin, end, sums);
      outer_add(h_rows, in, in, sums, out, out, rows, into(slot, side_offset(s)));
      factors.push_back({sums, out, packed});
    }
    if (!dh.empty()) dense_rows(factors.data(), factors.size(), out, rows, in, dh.data() + begin * in, in);
  });
  if (max && !dh.empty()) {
    for_slots(slot_ns, [&](std::size_t, std::size_t begin, std::size_t end) {
      route_chunk(graph, state, in, begin, end, dh.data());
    });
    route_heavy(graph, state, in, dh.data(), pool);
  }
  if (slots > 1) state.slots->add_to(gradients.subspan(first_offset_, size_), pool);
}

}  // namespace espalier
