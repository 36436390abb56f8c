#include "models/dag/dag_plan.hpp"

#include <cmath>
#include <unordered_map>

namespace espalier {

DagPlan make_dag_plan(const DagTopology& topology, bool fan_in_scaling) {
  DagPlan plan;
  DagTopology::Order order = topology.levels();
  plan.nodes = std::move(order.nodes);
  plan.level_starts = std::move(order.level_starts);
  std::unordered_map<NodeId, std::uint32_t> rank;
  for (std::uint32_t r = 0; r < plan.nodes.size(); ++r) {
    const DagNode& node = topology.node(plan.nodes[r]);
    rank.emplace(plan.nodes[r], r);
    plan.activation.push_back(static_cast<std::uint8_t>(node.activation));
    plan.is_output.push_back(node.kind == NodeKind::kOutput);
    plan.scale.push_back(fan_in_scaling && !node.in.empty()
                             ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(node.in.size())))
                             : 1.0f);
  }
  std::vector<Edge> edges;
  std::vector<EdgeId> ids;
  for (const auto& [id, edge] : topology.edges()) {
    edges.push_back({rank.at(edge.from), rank.at(edge.to)});
    ids.push_back(id);
  }
  plan.graph = Graph(plan.nodes.size(), edges);
  for (const std::uint32_t given : plan.graph.given()) plan.edges.push_back(ids[given]);
  for (const auto& [id, node] : topology.nodes()) {
    if (node.kind == NodeKind::kInput) plan.inputs.push_back(rank.at(id));
    if (node.kind == NodeKind::kOutput) plan.outputs.push_back(rank.at(id));
  }
  plan.num_inputs = plan.inputs.size();
  return plan;
}

}  // namespace espalier
