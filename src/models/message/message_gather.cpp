// MessageGraph, and what its nodes hear.
#include "models/message/message_gather.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "models/message/message_kernels.hpp"

namespace espalier {
namespace {

MessageGraph::Side make_side(std::span<const std::uint32_t> offsets, std::span<const std::uint32_t> list) {
  MessageGraph::Side side{offsets, list, {}, {}};
  const std::size_t nodes = offsets.size() - 1;
  side.inverse_degree.resize(nodes);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    const std::uint32_t degree = offsets[v + 1] - offsets[v];
    side.inverse_degree[v] = degree ? 1.0f / static_cast<float>(degree) : 0.0f;
    if (degree > MessageGraph::kPiece) side.heavy.push_back(v);
  }
  return side;
}

}  // namespace

MessageGraph::MessageGraph(std::vector<Graph> relations) : relations_(std::move(relations)) {
  if (relations_.empty()) fail("message graph", "no relation", "one graph or more");
  nodes_ = relations_[0].num_nodes();
  for (const Graph& g : relations_) {
    if (g.num_nodes() != nodes_)
      fail("message graph", fmt::format("relations over {} and {} nodes", nodes_, g.num_nodes()), "the same nodes");
    sides_.push_back(make_side(g.in_offsets(), g.sources()));
    sides_.push_back(make_side(g.out_offsets(), g.targets()));
  }
  for (const Side& s : sides_) {  // both ways: their orders matter to the sums
    seal_ = XXH3_64bits_withSeed(s.offsets.data(), s.offsets.size_bytes(), seal_);
    seal_ = XXH3_64bits_withSeed(s.list.data(), s.list.size_bytes(), seal_);
  }
  chunk_starts_.push_back(0);
  std::size_t edges = 0;
  for (std::uint32_t v = 0; v < nodes_; ++v) {
    std::size_t own = 0;
    for (const Side& s : sides_) {
      const std::size_t degree = s.offsets[v + 1] - s.offsets[v];
      if (degree <= kPiece) own += degree;  // heavy sums are made beforehand
    }
    if (v > chunk_starts_.back() && (v - chunk_starts_.back() == kRows || edges + own > kChunkEdges)) {
      chunk_starts_.push_back(v);
      edges = 0;
    }
    edges += own;
  }
  if (nodes_ > 0) chunk_starts_.push_back(static_cast<std::uint32_t>(nodes_));
  const std::size_t chunks = num_chunks();
  chunks_per_slot_ = std::max<std::size_t>(4, (chunks + kMaxSlots - 1) / kMaxSlots);
  slots_ = (chunks + chunks_per_slot_ - 1) / chunks_per_slot_;
}

std::size_t MessageGraph::num_edges() const {
  std::size_t edges = 0;
  for (const Graph& g : relations_) edges += g.num_edges();
  return edges;
}

// --- Sums.

namespace {

// The lists of heavy nodes, cut into pieces that are worked on in parallel and put together in order.
struct HeavyPieces {
  struct Piece {
    std::size_t side;
    std::uint32_t node, begin, end;  // places begin..end of the side's list
  };
  struct Sum {
    std::size_t side;
    std::uint32_t node;
    std::size_t first, last;  // pieces
  };
  std::vector<Piece> pieces;
  std::vector<Sum> sums;
};

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

}  // namespace

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

void gather_heavy(const std::vector<SideGather>& gathers, const float* x, std::size_t features, MessageTape& tape,
                  const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (const SideGather& g : gathers) lists.push_back(g.lists);
  const HeavyPieces all = heavy_pieces(lists);
  tape.pieces.resize(all.pieces.size() * features);
  tape.heavy.resize(all.sums.size() * features);
  pool.for_chunks(all.pieces.size(), 1, 0.1 * static_cast<double>(MessageGraph::kPiece * features), [&](Chunk c) {
    const HeavyPieces::Piece& p = all.pieces[c.index];
    gather_sum({x, features, gathers[p.side].coefficient}, lists[p.side]->list.data() + p.begin, p.end - p.begin, 1.0f,
               &tape.pieces[c.index * features]);
  });
  pool.for_chunks(all.sums.size(), 1, 100.0 * static_cast<double>(features), [&](Chunk c) {
    const HeavyPieces::Sum& sum = all.sums[c.index];
    const float scale = gathers[sum.side].row_scale ? gathers[sum.side].row_scale[sum.node] : 1.0f;
    float* out = &tape.heavy[c.index * features];
    std::copy_n(&tape.pieces[sum.first * features], features, out);
    for (std::size_t p = sum.first + 1; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) out[f] += tape.pieces[p * features + f];
    for (std::size_t f = 0; f < features; ++f) out[f] *= scale;
  });
}

void gather_chunk(const std::vector<SideGather>& gathers, std::size_t index, const float* x, std::size_t features,
                  const MessageTape& tape, std::size_t begin, std::size_t end, float* out) {
  const SideGather& g = gathers[index];
  gather_rows({x, features, g.coefficient}, g.lists->offsets.data(), g.lists->list.data(), g.row_scale,
              MessageGraph::kPiece, begin, end, out);
  const std::vector<std::uint32_t>& heavy = g.lists->heavy;
  std::size_t row_base = 0;
  for (std::size_t s = 0; s < index; ++s) row_base += gathers[s].lists->heavy.size();
  for (auto it = std::lower_bound(heavy.begin(), heavy.end(), begin); it != heavy.end() && *it < end; ++it) {
    const std::size_t row = row_base + static_cast<std::size_t>(it - heavy.begin());
    std::copy_n(&tape.heavy[row * features], features, out + (*it - begin) * features);
  }
}

// --- The largest.

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

void max_heavy(const MessageGraph& graph, const float* x, std::size_t features, MessageTape& tape,
               const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (const MessageGraph::Side& side : graph.sides()) lists.push_back(&side);
  const HeavyPieces heavy = heavy_pieces(lists);
  tape.pieces.resize(heavy.pieces.size() * features);
  tape.piece_winners.resize(heavy.pieces.size() * features);
  pool.for_chunks(heavy.pieces.size(), 1, piece_ns(features), [&](Chunk c) {
    const HeavyPieces::Piece& p = heavy.pieces[c.index];
    max_of(lists[p.side]->list.subspan(p.begin, p.end - p.begin), x, features, &tape.pieces[c.index * features],
           &tape.piece_winners[c.index * features]);
  });
  for (const HeavyPieces::Sum& sum : heavy.sums) {
    const std::size_t row = (sum.side * graph.num_nodes() + sum.node) * features;
    std::copy_n(&tape.pieces[sum.first * features], features, &tape.maxima[row]);
    std::copy_n(&tape.piece_winners[sum.first * features], features, &tape.winners[row]);
    for (std::size_t p = sum.first + 1; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) {
        if (!(tape.pieces[p * features + f] > tape.maxima[row + f])) continue;
        tape.maxima[row + f] = tape.pieces[p * features + f];
        tape.winners[row + f] = tape.piece_winners[p * features + f];
      }
  }
}

void max_chunk(const MessageGraph& graph, std::size_t index, const float* x, std::size_t features, std::size_t begin,
               std::size_t end, MessageTape& tape) {
  const std::size_t first_row = index * graph.num_nodes();
  for (std::size_t v = begin; v < end; ++v) {
    const auto list = neighbours(graph.sides()[index], v);
    if (list.size() > MessageGraph::kPiece) continue;
    max_of(list, x, features, &tape.maxima[(first_row + v) * features], &tape.winners[(first_row + v) * features]);
  }
}

void route_chunk(const MessageGraph& graph, const MessageTape& tape, std::size_t features, std::size_t begin,
                 std::size_t end, float* dh) {
  for (std::size_t s = 0; s < graph.sides().size(); ++s) {
    const std::size_t at = s * graph.num_nodes() * features;
    for (std::size_t u = begin; u < end; ++u) {
      const auto listeners = neighbours(graph.sides()[s ^ 1], u);  // those who heard u on side s
      if (listeners.size() > MessageGraph::kPiece) continue;
      add_routed(listeners, &tape.routed[at], &tape.winners[at], features, u, dh + u * features);
    }
  }
}

void route_heavy(const MessageGraph& graph, MessageTape& tape, std::size_t features, float* dh,
                 const ThreadPool& pool) {
  std::vector<const MessageGraph::Side*> lists;
  for (std::size_t s = 0; s < graph.sides().size(); ++s) lists.push_back(&graph.sides()[s ^ 1]);
  const HeavyPieces heavy = heavy_pieces(lists);
  tape.pieces.assign(heavy.pieces.size() * features, 0.0f);
  pool.for_chunks(heavy.pieces.size(), 1, piece_ns(features), [&](Chunk c) {
    const HeavyPieces::Piece& p = heavy.pieces[c.index];
    const std::size_t at = p.side * graph.num_nodes() * features;
    add_routed(lists[p.side]->list.subspan(p.begin, p.end - p.begin), &tape.routed[at], &tape.winners[at], features,
               p.node, &tape.pieces[c.index * features]);
  });
  for (const HeavyPieces::Sum& sum : heavy.sums)
    for (std::size_t p = sum.first; p < sum.last; ++p)
      for (std::size_t f = 0; f < features; ++f) dh[sum.node * features + f] += tape.pieces[p * features + f];
}

}  // namespace espalier
