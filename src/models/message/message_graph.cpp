#include "espalier/message_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"

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

}  // namespace espalier
