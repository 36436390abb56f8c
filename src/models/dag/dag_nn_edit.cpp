// Growth and pruning. Ids, weights and gradients of what stays, stay.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "espalier/error.hpp"
#include "models/dag/dag_nn_state.hpp"

namespace espalier {

// s_v w_uv is what an edge contributes; when s_v changes the weight follows, and its gradient the other way.
void DagNN::scale_incoming(NodeId node, std::size_t fan_in_before) {
  const std::vector<EdgeId>& in = topology_.node(node).in;
  if (!options_.fan_in_scaling || in.empty() || fan_in_before == 0 || in.size() == fan_in_before) return;
  const auto ratio = static_cast<float>(std::sqrt(static_cast<double>(in.size()) / static_cast<double>(fan_in_before)));
  for (const EdgeId e : in) {
    weight_ref(e) *= ratio;
    if (float* gradient = gradient_of(e)) *gradient /= ratio;
  }
}

NodeId DagNN::split_edge(EdgeId edge) {
  const DagTopology::Split split = topology_.split_edge(edge);
  state_->new_biases.emplace(split.node, 0.0f);
  state_->new_weights.emplace(split.second, 1.0f);
  edited();  // fan-in scaling: the new node has fan-in 1, the old target as many edges as before
  return split.node;
}

EdgeId DagNN::add_shortcut(NodeId from, NodeId to) {
  const std::size_t before = topology_.has_node(to) ? topology_.node(to).in.size() : 0;
  const EdgeId id = add_edge(from, to, 0.0f);
  scale_incoming(to, before);
  return id;
}

std::size_t DagNN::remove_edges(const std::vector<EdgeId>& edges) {
  std::map<NodeId, std::size_t> fan_in_before;
  for (const EdgeId e : edges) {
    const NodeId to = topology_.edge(e).to;
    fan_in_before.emplace(to, topology_.node(to).in.size());
  }
  for (const EdgeId e : edges) {
    topology_.remove_edge(e);
    state_->new_weights.erase(e);
  }
  for (const auto& [node, before] : fan_in_before) scale_incoming(node, before);
  if (!edges.empty()) edited();
  return edges.size();
}

std::size_t DagNN::prune_below(float threshold) {
  std::vector<EdgeId> small;
  for (const auto& [id, edge] : topology_.edges())
    if (std::fabs(weight(id)) < threshold) small.push_back(id);
  return remove_edges(small);
}

std::size_t DagNN::prune_percentile(double percent) {
  if (!(percent >= 0 && percent <= 100)) fail("prune", fmt::format("{} percent", percent), "0 to 100");
  std::vector<std::pair<float, EdgeId>> sorted;
  for (const auto& [id, edge] : topology_.edges()) sorted.emplace_back(std::fabs(weight(id)), id);
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(static_cast<std::size_t>(static_cast<double>(sorted.size()) * percent / 100));
  std::vector<EdgeId> small;
  for (const auto& [size, id] : sorted) small.push_back(id);
  return remove_edges(small);
}

std::size_t DagNN::remove_unseen() {
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  for (const auto& [id, node] : topology_.nodes())
    if (node.kind == NodeKind::kOutput && seen.insert(id).second) open.push_back(id);
  while (!open.empty()) {
    const NodeId v = open.back();
    open.pop_back();
    for (const EdgeId e : topology_.node(v).in)
      if (seen.insert(topology_.edge(e).from).second) open.push_back(topology_.edge(e).from);
  }
  std::vector<NodeId> unseen;
  for (const auto& [id, node] : topology_.nodes())
    if (node.kind == NodeKind::kHidden && !seen.contains(id)) unseen.push_back(id);
  for (const NodeId id : unseen) remove_node(id);
  return unseen.size();
}

void DagNN::remove_edge(EdgeId edge) {
  topology_.edge(edge);
  remove_edges({edge});
}

void DagNN::remove_node(NodeId node) {
  std::vector<EdgeId> edges = topology_.node(node).in;
  const std::vector<EdgeId>& out = topology_.node(node).out;
  edges.insert(edges.end(), out.begin(), out.end());
  remove_edges(edges);
  topology_.remove_node(node);
  state_->new_biases.erase(node);
  edited();
}

}  // namespace espalier
