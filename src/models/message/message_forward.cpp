// forward_batch: for every chunk of rows, gather what the neighbours say, multiply, finish. One pass over memory:
// the gathered sums of a chunk stay in cache and are not kept (the backward pass does not need them).
#include <algorithm>

#include "models/message/message_max.hpp"
#include "models/message/row_kernels.hpp"

namespace espalier {

void MessagePassingLayer::forward_batch(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                        std::span<float> y, MessageState& state, const ThreadPool& pool) const {
  check(graph, h, y.size());
  const std::size_t in = options_.in, out = options_.out, nodes = graph.num_nodes();
  const std::size_t sides = graph.sides().size(), panels = 1 + sides, panel_size = packed_size(in, out);
  if (nodes == 0) return;
  const bool max = options_.aggregation == Aggregation::kMax;
  state.packed.resize(panels * panel_size);
  for (std::size_t i = 0; i < panels; ++i) pack_columns(panel(p, i), in, out, out, 1, &state.packed[i * panel_size]);
  if (options_.layer_norm) {
    state.normed.resize(nodes * out);
    state.inverse_deviation.resize(nodes);
  }
  if (max) {
    state.maxima.resize(sides * nodes * in);
    state.winners.resize(sides * nodes * in);
  }
  const std::vector<SideGather> gathers = forward_gathers(graph, options_.aggregation);
  if (max)
    max_heavy(graph, h.data(), in, state, pool);
  else
    gather_heavy(gathers, h.data(), in, state, pool);
  const float* values = p.values().data();
  const RowArgs row_args{out, options_.activation, values + bias_, options_.layer_norm ? values + gain_ : nullptr,
                         values + shift_};
  pool.for_chunks(graph.num_chunks(), 1, chunk_ns(graph), [&](Chunk c) {
    const std::size_t begin = graph.chunk_starts()[c.index], end = graph.chunk_starts()[c.index + 1];
    const std::size_t rows = end - begin;
    static thread_local AlignedVector<float> gathered;  // [sides][rows][in]
    gathered.resize(std::max(gathered.size(), sides * rows * in));
    std::vector<Panel> factors{{h.data() + begin * in, in, state.packed.data()}};
    for (std::size_t s = 0; s < sides; ++s) {
      float* sums = &gathered[s * rows * in];
      if (max) {
        max_chunk(graph, s, h.data(), in, begin, end, state);
        sums = &state.maxima[(s * nodes + begin) * in];
      } else {
        gather_chunk(gathers, s, h.data(), in, state, begin, end, sums);
      }
      factors.push_back({sums, in, &state.packed[(1 + s) * panel_size]});
    }
    float* z = y.data() + begin * out;
    dense_rows(factors.data(), panels, in, rows, out, z, out);
    finish_rows(row_args, rows, z, options_.layer_norm ? &state.normed[begin * out] : nullptr,
                options_.layer_norm ? &state.inverse_deviation[begin] : nullptr);
  });
}

}  // namespace espalier
