#include "graph/message_gather.hpp"

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

void gather_heavy(const std::vector<SideGather>& gathers, const float* x, std::size_t features, MessageState& state,
                  const Pool& pool) {
  struct Piece {
    std::size_t side, node, index;
  };
  std::vector<Piece> pieces;
  struct Sum {
    std::size_t side, node, first_piece, last_piece;
  };
  std::vector<Sum> sums;
  for (std::size_t s = 0; s < gathers.size(); ++s) {
    const MessageGraph::Side& side = *gathers[s].lists;
    for (std::size_t i = 0; i < side.heavy.size(); ++i) {
      const std::size_t first = pieces.size(), count = side.first_piece[i + 1] - side.first_piece[i];
      for (std::size_t k = 0; k < count; ++k) pieces.push_back({s, side.heavy[i], k});
      sums.push_back({s, side.heavy[i], first, first + count});
    }
  }
  state.pieces.resize(pieces.size() * features);
  state.heavy.resize(sums.size() * features);
  pool.for_chunks(pieces.size(), 1, 0.1 * static_cast<double>(MessageGraph::kPiece * features), [&](Chunk c) {
    const Piece& p = pieces[c.index];
    const SideGather& g = gathers[p.side];
    const std::size_t begin = g.lists->offsets[p.node] + p.index * MessageGraph::kPiece;
    const std::size_t end = std::min<std::size_t>(begin + MessageGraph::kPiece, g.lists->offsets[p.node + 1]);
    gather_sum({x, features, g.coefficient}, g.lists->list.data() + begin, end - begin, 1.0f,
               &state.pieces[c.index * features]);
  });
  pool.for_chunks(sums.size(), 1, 100.0 * static_cast<double>(features), [&](Chunk c) {
    const Sum& sum = sums[c.index];
    const float scale = gathers[sum.side].row_scale ? gathers[sum.side].row_scale[sum.node] : 1.0f;
    float* out = &state.heavy[c.index * features];
    std::copy_n(&state.pieces[sum.first_piece * features], features, out);
    for (std::size_t p = sum.first_piece + 1; p < sum.last_piece; ++p)
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
