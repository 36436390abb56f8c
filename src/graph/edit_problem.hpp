// A pair of graphs with labels as numbers, and the cost of what a node mapping does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "espalier/edit_distance.hpp"

namespace espalier {

struct EditGraph {
  struct Neighbour {
    std::uint32_t node;
    std::int32_t label;  // from 1; 0 means no edge
  };
  std::size_t size = 0;
  std::vector<std::int32_t> labels;
  std::vector<std::vector<Neighbour>> out, in;  // in is empty for undirected graphs; loops are in `loop`
  std::vector<std::int32_t> loop;               // label of the edge to itself or 0
  std::size_t num_edges = 0;
};

struct EditProblem {
  EditGraph a, b;
  EditCosts costs;
  bool directed = false;
  double grain = 0;  // every possible distance is a multiple of this; 0 when unknown

  EditProblem(const LabelledGraph& first, const LabelledGraph& second, const EditCosts& edit_costs);

  double node_cost(std::size_t i, std::size_t j) const {
    return a.labels[i] == b.labels[j] ? 0 : std::min(costs.node_substitute, costs.node_insert + costs.node_delete);
  }
  // One possible edge against another; 0 is no edge.
  double edge_cost(std::int32_t first, std::int32_t second) const {
    if (first == second) return 0;
    if (first == 0) return costs.edge_insert;
    if (second == 0) return costs.edge_delete;
    return edge_substitute();
  }
  double edge_substitute() const { return std::min(costs.edge_substitute, costs.edge_insert + costs.edge_delete); }

  // Cheapest change of one multiset of edge labels (sorted) into another.
  double multiset_cost(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) const;

  // Exact cost of a whole mapping (-1 = deleted); what is not hit is inserted.
  double mapping_cost(const std::vector<std::int32_t>& mapping) const;
};

// The root's assignment problem: a lower bound of the distance and the mapping it suggests.
double assignment_bound(const EditProblem& problem, std::vector<std::int32_t>& mapping);

// Exchanges of two images, and of an image for a free node, while they help; small graphs only.
double improve_mapping(const EditProblem& problem, std::vector<std::int32_t>& mapping, double cost);

// Every edit of a mapping, in words.
std::vector<GraphEdit> edits_of(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs,
                                const std::vector<std::int32_t>& mapping);

}  // namespace espalier
