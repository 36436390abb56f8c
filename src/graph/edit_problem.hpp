// What the edit distance is computed with: a pair of graphs with labels as numbers, the cost of what a node mapping
// does, bounds for whole graphs, and the search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/graph.hpp"

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

  // A node that is relabelled keeps its edges. To delete it and insert another may cost less for the node, but is
  // another mapping, in which all its edges go and come, too.
  double node_cost(std::size_t i, std::size_t j) const {
    return a.labels[i] == b.labels[j] ? 0 : costs.node_substitute;
  }
  // One possible edge against another; 0 is no edge. Where both are, one may be deleted and the other inserted.
  double edge_cost(std::int32_t first, std::int32_t second) const {
    if (first == second) return 0;
    if (first == 0) return costs.edge_insert;
    if (second == 0) return costs.edge_delete;
    return edge_substitute();
  }
  double edge_substitute() const { return std::min(costs.edge_substitute, costs.edge_insert + costs.edge_delete); }

  // Cheapest change of one multiset of labels (sorted) into another.
  static double multiset_cost(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y, double substitute,
                              double remove, double insert);
  double multiset_cost(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) const {
    return multiset_cost(x, y, edge_substitute(), costs.edge_delete, costs.edge_insert);  // of edges
  }
  // The same of so many edges, `common` of them with labels in common.
  static double multiset_cost(std::size_t x, std::size_t y, std::size_t common, double substitute, double remove,
                              double insert);
  double multiset_cost(std::size_t x, std::size_t y, std::size_t common) const {
    return multiset_cost(x, y, common, edge_substitute(), costs.edge_delete, costs.edge_insert);
  }

  // Exact cost of a whole mapping (-1 = deleted); what is not hit is inserted.
  double mapping_cost(const std::vector<std::int32_t>& mapping) const;

  // The way back: the second graph into the first, at the same distances.
  EditProblem turned() const;
};
// A mapping the other way round, onto a graph of so many nodes.
std::vector<std::int32_t> turned(const std::vector<std::int32_t>& mapping, std::size_t images);

// One assignment problem over all pairs of nodes, O(n^3): a lower bound of the distance and the mapping it suggests.
// Nothing when there are more pairs than `max_work`, or as much work with the labels of their edges.
std::optional<double> assignment_bound(const EditProblem& problem, std::size_t max_work,
                                       std::vector<std::int32_t>& mapping);

// About linear in nodes and edges: labels are counted for the lower bound; the mapping grows along edges from nodes
// that look alike.
double quick_bound(const EditProblem& problem, std::vector<std::int32_t>& mapping);

// Exchanges of two images, and of an image for a free node, while they help; small graphs only.
double improve_mapping(const EditProblem& problem, std::vector<std::int32_t>& mapping, double cost);

struct EditSearchResult {
  std::vector<std::int32_t> mapping;  // the best known
  double upper = 0;                   // its cost
  double lower = 0;                   // nothing is cheaper than this
  std::uint64_t searched = 0;         // states whose bound was computed
};

// Graphs of at most this many nodes are searched; larger ones keep the bounds they come with.
inline constexpr std::size_t kMaxSearchNodes = 128;

// Starts from a known mapping and a lower bound; ends with lower == upper unless the budget ran out.
EditSearchResult edit_search(const EditProblem& problem, std::vector<std::int32_t> mapping, double upper, double lower,
                             const EditDistanceOptions& options);

}  // namespace espalier
