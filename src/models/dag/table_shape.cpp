#include "models/dag/table_shape.hpp"

#include <fmt/format.h>

#include <cmath>

#include "espalier/error.hpp"

namespace espalier {
namespace {

// Tensors of the parameters. "edges" [E][4]: from and to as two digits each, plus 1 on the first so that 0 is no
// edge; "nodes" [N][2]: kind + 1 (0 = none) and activation. "unit" [1] is what 1 has become: weight decay shrinks
// all of these alike, so a digit is its value over the unit.
enum Tensor : std::size_t { kWeight = 0, kBias = 1, kEdges = 2, kNodes = 3, kUnit = 4 };
constexpr std::size_t kMaxNodes = 65536;

struct Digits {
  float unit;
  explicit Digits(float one) : unit(one) {
    if (!(unit > 1e-30f) || !std::isfinite(unit))
      fail("table network", fmt::format("a shape whose unit is {}", unit), "a number above 0",
           "weight decay times learning rate must be well below 1");
  }
  std::uint32_t operator()(float x) const {
    const float value = x / unit;
    return value > 0 && value < 1e6f ? static_cast<std::uint32_t>(std::lround(value)) : 0;
  }
};

}  // namespace

TableShape::TableShape(DagNN network, std::size_t growth) : network_(std::move(network)) {
  max_nodes_ = network_.topology().next_node() + growth;
  max_edges_ = network_.topology().next_edge() + 2 * growth;
  if (max_nodes_ > kMaxNodes)
    fail("table network", fmt::format("{} nodes", max_nodes_), fmt::format("at most {}", kMaxNodes));
  parameters_.add("weight", {max_edges_});
  parameters_.add("bias", {max_nodes_});
  parameters_.add("edges", {max_edges_, 4});
  parameters_.add("nodes", {max_nodes_, 2});
  parameters_.add("unit", {1});
  write_shape();
}

bool TableShape::room_to_grow() const {
  return network_.topology().next_node() < max_nodes_ && network_.topology().next_edge() + 1 < max_edges_;
}

void TableShape::index() {
  edge_ids_.clear(), node_ids_.clear(), weight_places_.clear(), bias_places_.clear();
  for (const auto& [id, edge] : network_.topology().edges()) {
    edge_ids_.push_back(id);
    weight_places_.push_back(network_.weight_index(id));
  }
  for (const auto& [id, node] : network_.topology().nodes()) {
    if (node.kind == NodeKind::kInput) continue;
    node_ids_.push_back(id);
    bias_places_.push_back(network_.bias_index(id));
  }
}

void TableShape::write_shape() {
  const std::span<float> weight = parameters_.values(kWeight), bias = parameters_.values(kBias);
  const std::span<float> edges = parameters_.values(kEdges), nodes = parameters_.values(kNodes);
  std::fill(parameters_.values().begin(), parameters_.values().end(), 0.0f);
  parameters_.values(kUnit)[0] = 1;
  for (const auto& [id, edge] : network_.topology().edges()) {
    weight[id] = network_.weight(id);
    const std::uint32_t digits[] = {edge.from / 256 + 1, edge.from % 256, edge.to / 256, edge.to % 256};
    for (std::size_t i = 0; i < 4; ++i) edges[4 * id + i] = static_cast<float>(digits[i]);
  }
  for (const auto& [id, node] : network_.topology().nodes()) {
    bias[id] = network_.bias(id);
    nodes[2 * id] = static_cast<float>(node.kind) + 1;
    nodes[2 * id + 1] = static_cast<float>(node.activation);
  }
  index();
}

DagNN TableShape::decode(const Parameters& layout, std::span<const float> values, bool fan_in_scaling) {
  if (values.size() != layout.num_parameters())
    fail("table network", fmt::format("{} values", values.size()), fmt::format("{}", layout.num_parameters()));
  const auto part = [&](std::size_t tensor) {
    return values.subspan(layout.tensors()[tensor].offset, layout.tensors()[tensor].size);
  };
  const auto weight = part(kWeight), bias = part(kBias), edges = part(kEdges), nodes = part(kNodes);
  const Digits digit(part(kUnit)[0]);
  DagNN network(DagOptions{fan_in_scaling});
  std::uint32_t next_node = 0, next_edge = 0;
  for (std::uint32_t id = 0; id < bias.size(); ++id) {
    const std::uint32_t kind = digit(nodes[2 * id]), activation = digit(nodes[2 * id + 1]);
    if (kind == 0) continue;
    if (kind > 3 || activation >= kNumActivations)
      fail("table network", fmt::format("node {} of kind {}, activation {}", id, kind, activation), "values in range");
    network.restore_node(id, static_cast<NodeKind>(kind - 1), static_cast<Activation>(activation), bias[id]);
    next_node = id + 1;
  }
  for (std::uint32_t id = 0; id < weight.size(); ++id) {
    const float* d = &edges[4 * id];
    if (digit(d[0]) == 0) continue;
    network.restore_edge(id, (digit(d[0]) - 1) * 256 + digit(d[1]), digit(d[2]) * 256 + digit(d[3]), weight[id]);
    next_edge = id + 1;
  }
  network.reserve_ids(next_node, next_edge);
  return network;
}

bool TableShape::same_shape() const {
  const auto edges = parameters_.values(kEdges), nodes = parameters_.values(kNodes);
  const Digits digit(parameters_.values(kUnit)[0]);
  const DagTopology& t = network_.topology();
  std::size_t count = 0;
  for (std::size_t id = 0; id < max_edges_; ++id) count += digit(edges[4 * id]) != 0;
  if (count != t.edges().size()) return false;
  for (const auto& [id, edge] : t.edges()) {
    const float* d = &edges[4 * id];
    if (digit(d[0]) != edge.from / 256 + 1 || digit(d[1]) != edge.from % 256 || digit(d[2]) != edge.to / 256 ||
        digit(d[3]) != edge.to % 256)
      return false;
  }
  count = 0;
  for (std::size_t id = 0; id < max_nodes_; ++id) count += digit(nodes[2 * id]) != 0;
  if (count != t.nodes().size()) return false;
  for (const auto& [id, node] : t.nodes())
    if (digit(nodes[2 * id]) != static_cast<std::uint32_t>(node.kind) + 1) return false;
  return true;
}

DagNN& TableShape::network() {
  if (!same_shape()) {
    // A restored checkpoint: the values come from elsewhere.
    const bool training = network_.is_training();
    network_ = decode(parameters_, parameters_.values(), network_.options().fan_in_scaling);
    network_.train(training);
    index();
  }
  const std::span<float> values = network_.parameters().values();
  const std::span<const float> weight = parameters_.values(kWeight), bias = parameters_.values(kBias);
  for (std::size_t i = 0; i < edge_ids_.size(); ++i) values[weight_places_[i]] = weight[edge_ids_[i]];
  for (std::size_t i = 0; i < node_ids_.size(); ++i) values[bias_places_[i]] = bias[node_ids_[i]];
  return network_;
}

void TableShape::take_gradients() {
  const std::span<const float> from = network_.parameters().gradients();
  const std::span<float> weight = parameters_.gradients(kWeight), bias = parameters_.gradients(kBias);
  for (std::size_t i = 0; i < edge_ids_.size(); ++i) weight[edge_ids_[i]] += from[weight_places_[i]];
  for (std::size_t i = 0; i < node_ids_.size(); ++i) bias[node_ids_[i]] += from[bias_places_[i]];
}

}  // namespace espalier
