// What the edit distance is computed with: a pair of graphs with labels as numbers, the cost of what a node mapping
// does, the assignment problem, and the search.
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

// The assignment problem, rows to columns, by shortest augmenting paths (Jonker and Volgenant, 1987). Work space is
// kept from call to call.
class AssignmentSolver {
 public:
  // Least cost over matchings in which any row and column may stay alone, at cost 0: so positive entries are
  // never used. cost [rows][columns]; entries above 0 are taken as 0.
  double solve(const double* cost, std::size_t rows, std::size_t columns, std::vector<std::int32_t>& column_of);

 private:
  void solve_wide(std::size_t rows, std::size_t columns);

  std::vector<double> matrix_, u_, v_, least_;
  std::vector<std::int32_t> row_of_, way_;
  std::vector<char> used_;
};

// The root's assignment problem: a lower bound of the distance and the mapping it suggests.
double assignment_bound(const EditProblem& problem, std::vector<std::int32_t>& mapping);

// Exchanges of two images, and of an image for a free node, while they help; small graphs only.
double improve_mapping(const EditProblem& problem, std::vector<std::int32_t>& mapping, double cost);

struct EditSearchResult {
  std::vector<std::int32_t> mapping;  // the best known
  double upper = 0;                   // its cost
  double lower = 0;                   // nothing is cheaper than this
  std::uint64_t searched = 0;
};

// Branch and bound over node mappings, depth first.
// Graphs of at most this many nodes are searched; larger ones keep the bounds they come with.
inline constexpr std::size_t kMaxSearchNodes = 128;

// Starts from a known mapping and a lower bound; ends with lower == upper unless the budget ran out.
EditSearchResult edit_search(const EditProblem& problem, std::vector<std::int32_t> mapping, double upper, double lower,
                             const EditDistanceOptions& options);

}  // namespace espalier
