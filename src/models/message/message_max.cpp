#include "models/message/message_max.hpp"

#include <algorithm>

namespace espalier {
namespace {

constexpr std::uint32_t kNobody = 0xFFFFFFFFu;

// best and who [features] of the listed rows.
void max_of(std::span<const std::uint32_t> list, const float* x, std::size_t features, float* best,
            std::uint32_t* who) {
  std::fill_n(best, features, 0.0f);
  std::fill_n(who, features, kNobody);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const float* row = x + list[i] * features;
    for (std::size_t f = 0; f < features; ++f) {
      const bool wins = i == 0 || row[f] > best[f];
      best[f] = wins ? row[f] : best[f];
      who[f] = wins ? list[i] : who[f];
    }
  }
}

// sum [features] += what the listed listeners of u pass on to it; one order: that of the list.
void add_routed(std::span<const std::uint32_t> listeners, const float* routed, const std::uint32_t* winners,
                std::size_t features, std::size_t u, float* sum) {
  for (const std::uint32_t v : listeners)
    for (std::size_t f = 0; f < features; ++f)
      sum[f] += winners[v * features + f] == u ? routed[v * features + f] : 0.0f;
}

std::span<const std::uint32_t> neighbours(const MessageGraph::Side& side, std::size_t v) {
  return side.list.subspan(side.offsets[v], side.offsets[v + 1] - side.offsets[v]);
}

double piece_ns(std::size_t features) { return 0.5 * static_cast<double>(MessageGraph::kPiece * features); }

}  // namespace

void max_heavy(const MessageGraph& graph, const float* x, std::size_t features, MessageState& state,
               const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (const MessageGraph::Side& side : graph.sides()) lists.push_back(&side);
  const HeavyPieces heavy = heavy_pieces(lists);
  state.pieces.resize(heavy.pieces.size() * features);
  state.piece_winners.resize(heavy.pieces.size() * features);
  pool.for_chunks(heavy.pieces.size(), 1, piece_ns(features), [&](Chunk c) {
    const HeavyPieces::Piece& p = heavy.pieces[c.index];
    max_of(lists[p.side]->list.subspan(p.begin, p.end - p.begin), x, features, &state.pieces[c.index * features],
           &state.piece_winners[c.index * features]);
  });
  for (const HeavyPieces::Sum& sum : heavy.sums) {
    const std::size_t row = (sum.side * graph.num_nodes() + sum.node) * features;
    std::copy_n(&state.pieces[sum.first * features], features, &state.maxima[row]);
    std::copy_n(&state.piece_winners[sum.first * features], features, &state.winners[row]);
    for (std::size_t p = sum.first + 1; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) {
        if (!(state.pieces[p * features + f] > state.maxima[row + f])) continue;
        state.maxima[row + f] = state.pieces[p * features + f];
        state.winners[row + f] = state.piece_winners[p * features + f];
      }
  }
}

void max_chunk(const MessageGraph& graph, std::size_t index, const float* x, std::size_t features, std::size_t begin,
               std::size_t end, MessageState& state) {
  const std::size_t first_row = index * graph.num_nodes();
  for (std::size_t v = begin; v < end; ++v) {
    const auto list = neighbours(graph.sides()[index], v);
    if (list.size() > MessageGraph::kPiece) continue;
    max_of(list, x, features, &state.maxima[(first_row + v) * features], &state.winners[(first_row + v) * features]);
  }
}

void route_chunk(const MessageGraph& graph, const MessageState& state, std::size_t features, std::size_t begin,
                 std::size_t end, float* dh) {
  for (std::size_t s = 0; s < graph.sides().size(); ++s) {
    const std::size_t at = s * graph.num_nodes() * features;
    for (std::size_t u = begin; u < end; ++u) {
      const auto listeners = neighbours(graph.sides()[s ^ 1], u);  // those who heard u on side s
      if (listeners.size() > MessageGraph::kPiece) continue;
      add_routed(listeners, &state.routed[at], &state.winners[at], features, u, dh + u * features);
    }
  }
}

void route_heavy(const MessageGraph& graph, MessageState& state, std::size_t features, float* dh,
                 const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (std::size_t s = 0; s < graph.sides().size(); ++s) lists.push_back(&graph.sides()[s ^ 1]);
  const HeavyPieces heavy = heavy_pieces(lists);
  state.pieces.assign(heavy.pieces.size() * features, 0.0f);
  pool.for_chunks(heavy.pieces.size(), 1, piece_ns(features), [&](Chunk c) {
    const HeavyPieces::Piece& p = heavy.pieces[c.index];
    const std::size_t at = p.side * graph.num_nodes() * features;
    add_routed(lists[p.side]->list.subspan(p.begin, p.end - p.begin), &state.routed[at], &state.winners[at], features,
               p.node, &state.pieces[c.index * features]);
  });
  for (const HeavyPieces::Sum& sum : heavy.sums)
    for (std::size_t p = sum.first; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) dh[sum.node * features + f] += state.pieces[p * features + f];
}

}  // namespace espalier
