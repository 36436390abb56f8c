// Graphs: Graph is the shape alone, built once for fast walks both ways; LabelledGraph has texts on nodes and edges, as
// files do; and the edit distance of two labelled graphs.
// Example:
//   const Graph path(3, {{0, 1}, {1, 2}});                                  // three nodes in a row
//   const std::uint32_t before_one = path.sources()[path.in_offsets()[1]];  // 0, the first of the edges into node 1
//   LabelledGraph water{.labels = {"H", "O", "H"}, .edges = {{0, 1, "single"}, {1, 2, "single"}}};
//   water.check();
//   const LabelledGraph a{.labels = {"C", "O"}, .edges = {{0, 1, "double"}}};
//   const LabelledGraph b{.labels = {"C", "N"}, .edges = {{0, 1, "single"}}};
//   const EditDistanceReport r = edit_distance(a, b, {.max_nodes = 100'000});
//   const bool two_relabelled = r.exact && r.distance == 2;
//   const std::string first = to_text(r.edits.at(0));  // relabel node 1 "O" as "N" (1')
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/thread_pool.hpp"

namespace espalier {

// The activation functions of nodes and layers. Values are part of the file format: append, never renumber.
enum class Activation : std::uint8_t { kLinear = 0, kRelu = 1, kLeakyRelu = 2, kSigmoid = 3, kTanh = 4 };
inline constexpr int kNumActivations = 5;
inline constexpr float kLeak = 0.01f;                // slope of leaky relu below zero
Activation activation_named(std::string_view name);  // "linear", "relu", "leaky-relu", "sigmoid", "tanh"
std::string_view name_of(Activation activation);

struct Edge {
  std::uint32_t from = 0, to = 0;
  bool operator==(const Edge&) const = default;
};

// What to make of an edge that is given more than once: an Error, or as many edges.
enum class Repeats { kRefuse, kKeep };

// A directed graph: neighbours by target (CSR) and by source (CSC), and how the two orders relate. An edge's place in
// the target order is its number. Edges are sorted by (target, source), so the order in which they were given changes
// nothing. Weights live with whoever needs them.
class Graph {
 public:
  Graph() : in_offsets_(1), out_offsets_(1) {}
  // Unknown nodes are Errors. N and E must fit in 32 bits.
  Graph(std::size_t nodes, std::span<const Edge> edges, Repeats repeats = Repeats::kRefuse);
  Graph(std::size_t nodes, std::initializer_list<Edge> edges, Repeats repeats = Repeats::kRefuse)
      : Graph(nodes, std::span(edges.begin(), edges.size()), repeats) {}

  std::size_t num_nodes() const { return in_offsets_.size() - 1; }
  std::size_t num_edges() const { return sources_.size(); }

  // Edges into v are numbers in_offsets()[v] .. in_offsets()[v+1], with ascending sources.
  std::span<const std::uint32_t> in_offsets() const { return in_offsets_; }  // [N+1]
  std::span<const std::uint32_t> sources() const { return sources_; }        // [E] by edge number
  std::span<const std::uint32_t> given() const { return given_; }            // [E] place in the list given

  // Edges out of u are places out_offsets()[u] .. out_offsets()[u+1] of the next two, with ascending targets.
  std::span<const std::uint32_t> out_offsets() const { return out_offsets_; }  // [N+1]
  std::span<const std::uint32_t> targets() const { return targets_; }          // [E]
  std::span<const std::uint32_t> out_edges() const { return out_edges_; }      // [E] edge number at that place

 private:
  std::vector<std::uint32_t> in_offsets_, sources_, given_, out_offsets_, targets_, out_edges_;
};

// Many graphs side by side as one: node i of graph g becomes node first_node[g] + i.
struct GraphBatch {
  Graph graph;
  std::vector<std::uint32_t> first_node;  // [graphs + 1]
};
GraphBatch batch_graphs(std::span<const Graph* const> graphs);

struct LabelledEdge {
  std::uint32_t from, to;
  std::string label;
};

// A graph with text labels on nodes and edges, directed or not.
struct LabelledGraph {
  bool directed = false;
  std::vector<std::string> labels = {};  // of nodes
  std::vector<LabelledEdge> edges = {};

  // Unknown nodes and an edge given twice (either way round when undirected) are Errors.
  void check() const;
};

// {"directed": false, "nodes": [...], "edges": [...]}
// A node is a label ("C", 7) or {"id": ..., "label": ...}; without ids nodes are numbered from 0. An edge is
// [from, to], [from, to, label] or {"from": ..., "to": ..., "label": ...}. Labels may be missing. The node-link form of
// networkx is read too: "links" or "edges" of {"source", "target", "label"}; its "multigraph" must be false. Other keys
// are Errors, except those of "graph", which belong to the graph as a whole.
LabelledGraph graph_from_json(std::string_view text, const std::string& what);
std::string graph_to_json(const LabelledGraph& graph);

// GXL (Graph eXchange Language) as the graph benchmark sets use it: the first <graph>, edgemode "directed" or
// "undirected" (the default); a label is the node's or edge's attributes, "name=value" joined by ";". Which attributes:
// those that are named, or else all but <float> ones. These are measurements, and as labels would be equal or not,
// however near.
struct GxlAttributes {
  std::vector<std::string> wanted = {};           // none: all but <float>
  std::set<std::string> used = {}, ignored = {};  // added to by every file that is read
};
LabelledGraph graph_from_gxl(std::string_view text, const std::string& what, GxlAttributes* attributes = nullptr);

// By the file's ending: .json, .gxl or .xml.
LabelledGraph read_graph(const std::string& path, GxlAttributes* attributes = nullptr);

// --- Edit distance: the cheapest way to turn one labelled graph into another by inserting, deleting and relabelling
// nodes and edges. Exact by branch and bound within a budget; bounds when the budget ends.
// The distance is the least cost of all sequences of such edits, in which a node can be deleted only once it has no
// edges left. So where node_substitute is more than node_insert + node_delete, a node may be replaced instead of
// relabelled, but its edges then cost edge_delete and edge_insert as well; an edge that is dear to relabel is replaced
// at once.

struct EditCosts {
  double node_insert = 1, node_delete = 1, node_substitute = 1;
  double edge_insert = 1, edge_delete = 1, edge_substitute = 1;
};
// "node-insert=1,edge-substitute=0.5": what is not named stays 1. Errors name the word.
EditCosts edit_costs_from(std::string_view text);

struct EditDistanceOptions {
  EditCosts costs = {};
  std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();  // of the search tree; the same everywhere
  double max_seconds = std::numeric_limits<double>::infinity();         // results then depend on the clock
};

enum class EditKind { kInsertNode, kDeleteNode, kSubstituteNode, kInsertEdge, kDeleteEdge, kSubstituteEdge };

// Nodes are numbered as in the first graph; a node it does not have is given by its number in the second.
struct GraphEdit {
  EditKind kind;
  std::int32_t first = -1, first_to = -1;    // node, or edge first -> first_to, in the first graph
  std::int32_t second = -1, second_to = -1;  // the same in the second graph
  std::string before, after;                 // labels
  double cost = 0;
  bool directed = false;
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

// Both graphs must be directed or both undirected. Graphs of more than 128 nodes are not searched and get bounds, and
// those of more than about 500 nodes get bounds in about linear time, whatever the budget.
EditDistanceReport edit_distance(const LabelledGraph& a, const LabelledGraph& b,
                                 const EditDistanceOptions& options = {});
// One assignment problem, O(n^3): a second for two thousand nodes; beyond 25 million pairs of nodes labels are counted
// and a mapping grown instead. `lower` and `upper` bracket the distance.
EditDistanceReport edit_bounds(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs = {});
// Many pairs in parallel.
struct GraphPair {
  const LabelledGraph *first, *second;
};
std::vector<EditDistanceReport> edit_distances(std::span<const GraphPair> pairs,
                                               const EditDistanceOptions& options = {},
                                               const ThreadPool& pool = calling_thread());

// Weisfeiler-Lehman similarity, 0 to 1: after rounds i = 0 (plain labels) to `rounds` of refinement by the
// neighbours' labels, the multisets of node labels are compared by Jaccard's index and averaged with weights
// 1/(1+i). Equal graphs give 1; so do two empty ones.
double wl_similarity(const LabelledGraph& a, const LabelledGraph& b, int rounds = 3);

}  // namespace espalier
