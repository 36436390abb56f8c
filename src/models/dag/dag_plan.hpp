// A DagNN's shape as the kernels want it: nodes renumbered level by level ("ranks", inputs first), edges by
// target and by source. Rebuilt after edits, shared by every pass until then.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/dag_topology.hpp"
#include "espalier/graph.hpp"

namespace espalier {

struct DagPlan {
  Graph graph;                              // over ranks
  std::vector<NodeId> nodes;                // [N] id of each rank
  std::vector<EdgeId> edges;                // [E] id of each edge number of the graph
  std::vector<std::uint32_t> level_starts;  // ranks; level 0 is the inputs
  std::vector<std::uint32_t> inputs;        // ranks, by id
  std::vector<std::uint32_t> outputs;       // ranks, by id
  std::vector<std::uint8_t> activation;     // [N]
  std::vector<std::uint8_t> is_output;      // [N]
  std::vector<float> scale;                 // [N] s_v
  std::size_t num_inputs = 0;
};

DagPlan make_dag_plan(const DagTopology& topology, bool fan_in_scaling);

}  // namespace espalier
