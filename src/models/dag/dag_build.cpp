// Ready-made shapes of a DagNN: layers, an edge list, a text; and files.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/safetensors.hpp"
#include "models/dag/dag_run.hpp"

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

// Strict UTF-8: overlong forms, surrogates and truncation are Errors that say at which byte.
std::vector<std::uint32_t> decode_utf8(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (point.problem) fail("utf-8", fmt::format("{} at byte {}", point.problem, at), "valid UTF-8");
    points.push_back(point.value);
    at += point.bytes;
  }
  return points;
}

std::string encode_utf8(std::span<const std::uint32_t> code_points) {
  std::string text;
  for (const std::uint32_t p : code_points) {
    const int more = p < 0x80 ? 0 : p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;  // bytes of six bits after the first
    const std::uint32_t mark = more == 0 ? 0 : 0xF80u >> more & 0xFF;     // as many ones as there are bytes
    text.push_back(static_cast<char>(mark | p >> 6 * more));
    for (int k = more; k-- > 0;) text.push_back(static_cast<char>(0x80 | (p >> 6 * k & 0x3F)));
  }
  return text;
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
    network.insert_node(id, kind, Activation::kLinear, 0.0f, points[i]);
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

// --- Files: "dag.nodes" [N][4] id, kind, activation, symbol; "dag.edges" [E][3] id, from, to; "dag.bias" [N] and
// "dag.weight" [E] in the same order. Nothing in a file is trusted.
namespace {

std::int32_t as_int(std::uint32_t value) { return static_cast<std::int32_t>(value); }
std::uint32_t as_id(std::int32_t value) { return static_cast<std::uint32_t>(value); }

[[noreturn]] void bad(std::string_view got, std::string_view expected) { fail("load dag", got, expected); }

bool flag(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.meta(key);
  if (text != "true" && text != "false") bad(fmt::format("{} = \"{}\"", key, text), "true or false");
  return text == "true";
}

std::uint32_t counter(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.meta(key);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    bad(fmt::format("{} = \"{}\"", key, text), "a whole number below 2^32");
  return value;
}

}  // namespace

void DagNN::save_shape(SafetensorsFile& file) const {
  std::vector<std::int32_t> nodes, edges;
  for (const auto& [id, node] : topology_.nodes())
    for (const std::uint32_t field :
         {id, static_cast<std::uint32_t>(node.kind), static_cast<std::uint32_t>(node.activation), node.symbol})
      nodes.push_back(as_int(field));
  for (const auto& [id, edge] : topology_.edges())
    for (const std::uint32_t field : {id, edge.from, edge.to}) edges.push_back(as_int(field));
  file.add("dag.nodes", {nodes.size() / 4, 4}, nodes);
  file.add("dag.edges", {edges.size() / 3, 3}, edges);
  file.metadata["dag.training"] = training_ ? "true" : "false";
  file.metadata["dag.fan_in_scaling"] = options_.fan_in_scaling ? "true" : "false";
  file.metadata["dag.next_node"] = std::to_string(topology_.next_node());
  file.metadata["dag.next_edge"] = std::to_string(topology_.next_edge());
}

void DagNN::save(SafetensorsFile& file) const {
  save_shape(file);
  std::vector<float> biases, weights;
  for (const auto& [id, node] : topology_.nodes()) biases.push_back(bias(id));
  for (const auto& [id, edge] : topology_.edges()) weights.push_back(weight(id));
  file.add("dag.bias", {biases.size()}, biases);
  file.add("dag.weight", {weights.size()}, weights);
}

DagNN DagNN::load_shape(const SafetensorsFile& file) {
  const std::vector<std::int32_t> nodes = file.ints("dag.nodes"), edges = file.ints("dag.edges");
  if (nodes.size() % 4 != 0 || edges.size() % 3 != 0)
    bad(fmt::format("{} and {} numbers of nodes and edges", nodes.size(), edges.size()),
        "four per node and three per edge");
  DagNN network(DagOptions{flag(file, "dag.fan_in_scaling")});
  network.training_ = flag(file, "dag.training");
  const std::uint32_t next_node = counter(file, "dag.next_node"), next_edge = counter(file, "dag.next_edge");
  for (std::size_t i = 0; i < nodes.size(); i += 4) {
    const std::int32_t* n = &nodes[i];
    if (as_id(n[0]) >= next_node || n[1] < 0 || n[1] > 2 || n[2] < 0 || n[2] >= kNumActivations)
      bad(fmt::format("node {}, kind {}, activation {}", n[0], n[1], n[2]), "values in range");
    network.insert_node(as_id(n[0]), static_cast<NodeKind>(n[1]), static_cast<Activation>(n[2]), 0, as_id(n[3]));
  }
  for (std::size_t i = 0; i < edges.size(); i += 3) {
    const std::int32_t* e = &edges[i];
    if (as_id(e[0]) >= next_edge) bad(fmt::format("edge {}", e[0]), fmt::format("ids below {}", next_edge));
    network.insert_edge(as_id(e[0]), as_id(e[1]), as_id(e[2]), 0);
  }
  network.reserve_ids(next_node, next_edge);
  return network;
}

DagNN DagNN::load(const SafetensorsFile& file) {
  DagNN network = load_shape(file);
  // In the order of the shape's rows, which need not be that of the ids.
  const std::vector<std::int32_t> nodes = file.ints("dag.nodes"), edges = file.ints("dag.edges");
  const std::vector<float> biases = file.floats("dag.bias"), weights = file.floats("dag.weight");
  if (nodes.size() != 4 * biases.size() || edges.size() != 3 * weights.size())
    bad(fmt::format("{} biases and {} weights", biases.size(), weights.size()),
        fmt::format("{} nodes and {} edges", nodes.size() / 4, edges.size() / 3));
  for (std::size_t i = 0; i < biases.size(); ++i) {
    const NodeId id = as_id(nodes[4 * i]);
    if (network.topology().node(id).kind != NodeKind::kInput) network.set_bias(id, biases[i]);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) network.set_weight(as_id(edges[3 * i]), weights[i]);
  return network;
}

}  // namespace espalier
