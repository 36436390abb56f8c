// Graphs in memory: names of activations, Graph, batches, the checks of LabelledGraph.
#include "espalier/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::string_view kActivationNames[kNumActivations] = {"linear", "relu", "leaky-relu", "sigmoid", "tanh"};

constexpr std::size_t kMaxCount = std::numeric_limits<std::uint32_t>::max() - 1;

// Stable counting sort of `order` by key; offsets [keys+1] come out as the starts of the runs.
std::vector<std::uint32_t> sort_by(std::span<const std::uint32_t> order, std::size_t keys, auto&& key,
                                   std::vector<std::uint32_t>& offsets) {
  offsets.assign(keys + 1, 0);
  for (const std::uint32_t item : order) ++offsets[key(item) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1), sorted(order.size());
  for (const std::uint32_t item : order) sorted[next[key(item)]++] = item;
  return sorted;
}

}  // namespace

Activation activation_named(std::string_view name) {
  for (int i = 0; i < kNumActivations; ++i)
    if (kActivationNames[i] == name) return static_cast<Activation>(i);
  fail("activation", fmt::format("\"{}\"", name), "linear, relu, leaky-relu, sigmoid or tanh");
}

std::string_view name_of(Activation activation) {
  const auto place = static_cast<std::size_t>(activation);
  if (place >= std::size(kActivationNames))
    fail("activation", fmt::format("number {}", place), fmt::format("below {}", std::size(kActivationNames)));
  return kActivationNames[place];
}

Graph::Graph(std::size_t nodes, std::span<const Edge> edges, Repeats repeats) {
  if (nodes > kMaxCount || edges.size() > kMaxCount)
    fail("graph", fmt::format("{} nodes and {} edges", nodes, edges.size()), "fewer than 2^32 of each");
  for (const Edge& e : edges)
    if (e.from >= nodes || e.to >= nodes)
      fail("graph", fmt::format("an edge from {} to {}", e.from, e.to), fmt::format("nodes below {}", nodes));
  std::vector<std::uint32_t> order(edges.size()), unused;
  std::iota(order.begin(), order.end(), 0u);
  order = sort_by(
      order, nodes, [&](std::uint32_t i) { return edges[i].from; }, unused);
  given_ = sort_by(
      order, nodes, [&](std::uint32_t i) { return edges[i].to; }, in_offsets_);
  sources_.resize(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    sources_[e] = edges[given_[e]].from;
    if (repeats == Repeats::kRefuse && e > 0 && edges[given_[e]] == edges[given_[e - 1]])
      fail("graph", fmt::format("the edge from {} to {} twice", sources_[e], edges[given_[e]].to), "every edge once",
           "repeats may be kept: then a neighbour is heard as often as its edge is there");
  }
  std::iota(order.begin(), order.end(), 0u);
  out_edges_ = sort_by(
      order, nodes, [&](std::uint32_t e) { return sources_[e]; }, out_offsets_);
  targets_.resize(edges.size());
  for (std::size_t k = 0; k < edges.size(); ++k) targets_[k] = edges[given_[out_edges_[k]]].to;
}

GraphBatch batch_graphs(std::span<const Graph* const> graphs) {
  GraphBatch batch;
  batch.first_node.push_back(0);
  std::vector<Edge> edges;
  for (const Graph* g : graphs) {
    if (!g) fail("batch graphs", "no graph at one place", "a graph everywhere");
    const std::uint32_t base = batch.first_node.back();
    if (g->num_nodes() > kMaxCount - base) fail("batch graphs", "too many nodes", "fewer than 2^32");
    for (std::uint32_t v = 0; v < g->num_nodes(); ++v)
      for (std::uint32_t e = g->in_offsets()[v]; e < g->in_offsets()[v + 1]; ++e)
        edges.push_back({base + g->sources()[e], base + v});
    batch.first_node.push_back(base + static_cast<std::uint32_t>(g->num_nodes()));
  }
  batch.graph = Graph(batch.first_node.back(), edges, Repeats::kKeep);  // what they repeat was allowed
  return batch;
}

void LabelledGraph::check() const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
  seen.reserve(edges.size());
  for (const LabelledEdge& e : edges) {
    if (e.from >= labels.size() || e.to >= labels.size())
      fail("graph", fmt::format("an edge from {} to {}", e.from, e.to), fmt::format("nodes below {}", labels.size()));
    const bool turn = !directed && e.from > e.to;
    seen.emplace_back(turn ? e.to : e.from, turn ? e.from : e.to);
  }
  std::ranges::sort(seen);
  if (const auto twice = std::ranges::adjacent_find(seen); twice != seen.end())
    fail("graph", fmt::format("the edge {} - {} twice", twice->first, twice->second), "every edge once");
}

}  // namespace espalier
