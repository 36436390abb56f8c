// Ready-made shapes of a DagNN: layers, an edge list, a text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/dag/dag_nn_state.hpp"
#include "models/dag/utf8.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxEdges = 1u << 28;  // a guard against a mistyped shape, not a limit of the method

// Which of the rows x columns edges exist: every pair with probability `density`, then one edge for a node
// that would have none.
std::vector<bool> choose_edges(std::size_t rows, std::size_t columns, double density, const Random& random,
                               std::uint64_t base) {
  std::vector<bool> keep(rows * columns);
  for (std::size_t i = 0; i < keep.size(); ++i)
    keep[i] = density >= 1 || static_cast<double>(random.uniform(base + i)) < density;
  for (std::size_t c = 0; c < columns; ++c) {
    bool any = false;
    for (std::size_t r = 0; r < rows; ++r) any = any || keep[r * columns + c];
    if (!any) keep[random.choice(base + rows * columns + c, rows) * columns + c] = true;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = keep.begin() + static_cast<std::ptrdiff_t>(r * columns);
    if (std::find(row, row + static_cast<std::ptrdiff_t>(columns), true) == row + static_cast<std::ptrdiff_t>(columns))
      keep[r * columns + random.choice(base + rows * columns + columns + r, columns)] = true;
  }
  return keep;
}

}  // namespace

DagNN DagNN::layered(std::span<const std::size_t> sizes, const LayeredOptions& options) {
  if (sizes.size() < 2) fail("layered", fmt::format("{} layers", sizes.size()), "inputs and outputs at least");
  if (!(options.density > 0 && options.density <= 1))
    fail("layered", fmt::format("density {}", options.density), "more than 0, at most 1");
  std::size_t pairs = 0;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    if (sizes[l] == 0) fail("layered", "an empty layer", "one node or more in every layer");
    if (sizes[l] > kMaxEdges) fail("layered", fmt::format("a layer of {}", sizes[l]), "at most 2^28 nodes");
    if (l > 0 && sizes[l - 1] > (kMaxEdges - pairs) / sizes[l])
      fail("layered", "more than 2^28 possible edges", "smaller layers");
    if (l > 0) pairs += sizes[l - 1] * sizes[l];
  }
  DagNN network(DagOptions{options.fan_in_scaling});
  const Random weights(options.seed, Purpose::kInit), choices(options.seed, Purpose::kWiring);
  std::vector<NodeId> before;
  std::uint64_t base = 0;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    const bool first = l == 0, last = l + 1 == sizes.size();
    std::vector<NodeId> layer;
    for (std::size_t i = 0; i < sizes[l]; ++i)
      layer.push_back(first ? network.add_node(NodeKind::kInput)
                            : network.add_node(last ? NodeKind::kOutput : NodeKind::kHidden,
                                               last ? options.output : options.hidden));
    if (!first) {
      const std::vector<bool> keep = choose_edges(before.size(), layer.size(), options.density, choices, base);
      for (std::size_t v = 0; v < layer.size(); ++v) {
        std::size_t fan_in = 0;
        for (std::size_t u = 0; u < before.size(); ++u) fan_in += keep[u * layer.size() + v];
        // Variance 1/fan_in (2/fan_in before a relu), whether the network scales or the weights do.
        const Activation f = last ? options.output : options.hidden;
        const double gain = f == Activation::kRelu || f == Activation::kLeakyRelu ? std::sqrt(2.0) : 1.0;
        const double scale = options.fan_in_scaling ? gain : gain / std::sqrt(static_cast<double>(fan_in));
        for (std::size_t u = 0; u < before.size(); ++u)
          if (keep[u * layer.size() + v])
            network.add_edge(
                before[u], layer[v],
                static_cast<float>(scale * static_cast<double>(weights.normal(base + u * layer.size() + v))));
      }
      base += before.size() * layer.size() + before.size() + layer.size();
    }
    before = std::move(layer);
  }
  return network;
}

DagNN DagNN::from_edges(std::size_t nodes, std::span<const WeightedEdge> edges, Activation hidden,
                        const DagOptions& options) {
  if (nodes > kMaxEdges) fail("dag from edges", fmt::format("{} nodes", nodes), "at most 2^28");
  std::vector<std::uint8_t> has_in(nodes), has_out(nodes);
  for (const WeightedEdge& e : edges) {
    if (e.from >= nodes || e.to >= nodes)
      fail("dag from edges", fmt::format("an edge from {} to {}", e.from, e.to), fmt::format("nodes below {}", nodes));
    has_out[e.from] = has_in[e.to] = 1;
  }
  DagNN network(options);
  for (std::size_t v = 0; v < nodes; ++v)
    network.add_node(!has_in[v]   ? NodeKind::kInput
                     : has_out[v] ? NodeKind::kHidden
                                  : NodeKind::kOutput,
                     has_in[v] && has_out[v] ? hidden : Activation::kLinear);
  for (const WeightedEdge& e : edges) network.add_edge(e.from, e.to, e.weight);
  return network;
}

DagNN DagNN::from_text(std::string_view utf8) {
  const std::vector<std::uint32_t> points = decode_utf8(utf8);
  DagNN network;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const NodeKind kind = i == 0 ? NodeKind::kInput : i + 1 < points.size() ? NodeKind::kHidden : NodeKind::kOutput;
    const auto id = static_cast<NodeId>(i);
    network.restore_node(id, kind, Activation::kLinear, 0.0f, points[i]);
    if (i > 0) network.add_edge(id - 1, id, 1.0f);
  }
  return network;
}

std::string DagNN::to_text() const {
  std::vector<std::uint32_t> points;
  for (const auto& [id, node] : topology_.nodes())
    if (node.symbol != kNoSymbol) points.push_back(node.symbol);
  return encode_utf8(points);
}

}  // namespace espalier
