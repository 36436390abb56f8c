#include "models/message/message_gather.hpp"

#include <algorithm>

namespace espalier {

std::vector<SideGather> forward_gathers(const MessageGraph& graph, Aggregation aggregation) {
  std::vector<SideGather> gathers;
  for (const MessageGraph::Side& side : graph.sides())
    gathers.push_back({&side, nullptr, aggregation == Aggregation::kMean ? side.inverse_degree.data() : nullptr});
  return gathers;
}

std::vector<SideGather> backward_gathers(const MessageGraph& graph, Aggregation aggregation) {
  std::vector<SideGather> gathers;
  for (std::size_t s = 0; s < graph.sides().size(); ++s)
    gathers.push_back({&graph.sides()[s ^ 1],
                       aggregation == Aggregation::kMean ? graph.sides()[s].inverse_degree.data() : nullptr, nullptr});
  return gathers;
}

HeavyPieces heavy_pieces(std::span<const MessageGraph::Side* const> lists) {
  HeavyPieces all;
  for (std::size_t s = 0; s < lists.size(); ++s)
    for (const std::uint32_t node : lists[s]->heavy) {
      const std::uint32_t end = lists[s]->offsets[node + 1];
      const std::size_t first = all.pieces.size();
      for (std::uint32_t at = lists[s]->offsets[node]; at < end;) {
        const std::uint32_t stop = std::min(end, at + static_cast<std::uint32_t>(MessageGraph::kPiece));
        all.pieces.push_back({s, node, at, stop});
        at = stop;
      }
      all.sums.push_back({s, node, first, all.pieces.size()});
    }
  return all;
}

void gather_heavy(const std::vector<SideGather>& gathers, const float* x, std::size_t features, MessageState& state,
                  const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (const SideGather& g : gathers) lists.push_back(g.lists);
  const HeavyPieces all = heavy_pieces(lists);
  state.pieces.resize(all.pieces.size() * features);
  state.heavy.resize(all.sums.size() * features);
  pool.for_chunks(all.pieces.size(), 1, 0.1 * static_cast<double>(MessageGraph::kPiece * features), [&](Chunk c) {
    const HeavyPieces::Piece& p = all.pieces[c.index];
    gather_sum({x, features, gathers[p.side].coefficient}, lists[p.side]->list.data() + p.begin, p.end - p.begin, 1.0f,
               &state.pieces[c.index * features]);
  });
  pool.for_chunks(all.sums.size(), 1, 100.0 * static_cast<double>(features), [&](Chunk c) {
    const HeavyPieces::Sum& sum = all.sums[c.index];
    const float scale = gathers[sum.side].row_scale ? gathers[sum.side].row_scale[sum.node] : 1.0f;
    float* out = &state.heavy[c.index * features];
    std::copy_n(&state.pieces[sum.first * features], features, out);
    for (std::size_t p = sum.first + 1; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) out[f] += state.pieces[p * features + f];
    for (std::size_t f = 0; f < features; ++f) out[f] *= scale;
  });
}

void gather_chunk(const std::vector<SideGather>& gathers, std::size_t index, const float* x, std::size_t features,
                  const MessageState& state, std::size_t begin, std::size_t end, float* out) {
  const SideGather& g = gathers[index];
  gather_rows({x, features, g.coefficient}, g.lists->offsets.data(), g.lists->list.data(), g.row_scale,
              MessageGraph::kPiece, begin, end, out);
  const std::vector<std::uint32_t>& heavy = g.lists->heavy;
  std::size_t row_base = 0;
  for (std::size_t s = 0; s < index; ++s) row_base += gathers[s].lists->heavy.size();
  for (auto it = std::lower_bound(heavy.begin(), heavy.end(), begin); it != heavy.end() && *it < end; ++it) {
    const std::size_t row = row_base + static_cast<std::size_t>(it - heavy.begin());
    std::copy_n(&state.heavy[row * features], features, out + (*it - begin) * features);
  }
}

}  // namespace espalier
