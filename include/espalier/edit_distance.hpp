// Graph edit distance: the cheapest way to turn one labelled graph into another by inserting, deleting and
// relabelling nodes and edges. Exact by branch and bound within a budget; bounds when the budget ends.
// Example:
//   const LabelledGraph a{.labels = {"C", "O"}, .edges = {{0, 1, "double"}}};
//   const LabelledGraph b{.labels = {"C", "N"}, .edges = {{0, 1, "single"}}};
//   const EditDistanceReport r = edit_distance(a, b, {.max_nodes = 100'000});
//   const bool two_relabelled = r.exact && r.distance == 2;
//   const std::string first = to_text(r.edits.at(0));  // relabel node 1 "O" as "N" (1')
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/graph.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

struct EditCosts {
  double node_insert = 1, node_delete = 1, node_substitute = 1;
  double edge_insert = 1, edge_delete = 1, edge_substitute = 1;
};
// "node-insert=1,edge-substitute=0.5": what is not named stays 1. Errors name the word.
EditCosts edit_costs_from(std::string_view text);

struct EditDistanceOptions {
  EditCosts costs = {};
  std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();  // of the search tree
  double max_seconds = std::numeric_limits<double>::infinity();
};

enum class EditKind { kInsertNode, kDeleteNode, kSubstituteNode, kInsertEdge, kDeleteEdge, kSubstituteEdge };

// Nodes are numbered as in the first graph; a node it does not have is given by its number in the second.
struct GraphEdit {
  EditKind kind;
  std::int32_t first = -1, first_to = -1;    // node, or edge first -> first_to, in the first graph
  std::int32_t second = -1, second_to = -1;  // the same in the second graph
  std::string before, after;                 // labels
  double cost = 0;
};
std::string to_text(const GraphEdit& edit);

struct EditDistanceReport {
  double distance = 0;  // of the best mapping found; the edit distance when exact
  double lower = 0, upper = 0;
  bool exact = false;
  std::vector<std::int32_t> mapping;  // node of the first graph -> node of the second, -1 deleted
  std::vector<GraphEdit> edits;       // what the mapping does, costing `distance`
  std::uint64_t searched = 0;         // nodes of the search tree
};

// Both graphs must be directed or both undirected.
EditDistanceReport edit_distance(const LabelledGraph& a, const LabelledGraph& b,
                                 const EditDistanceOptions& options = {});
// One assignment problem: quick for thousands of nodes. `lower` and `upper` bracket the distance.
EditDistanceReport edit_bounds(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs = {});
// Many pairs in parallel.
struct GraphPair {
  const LabelledGraph *first, *second;
};
std::vector<EditDistanceReport> edit_distances(std::span<const GraphPair> pairs, const EditDistanceOptions& options,
                                               const ThreadPool& pool = calling_thread());

// Weisfeiler-Lehman similarity, 0 to 1: after rounds i = 0 (plain labels) to `rounds` of refinement by the
// neighbours' labels, the multisets of node labels are compared by Jaccard's index and averaged with weights
// 1/(1+i). Equal graphs give 1; so do two empty ones.
double wl_similarity(const LabelledGraph& a, const LabelledGraph& b, int rounds = 3);

}  // namespace espalier
