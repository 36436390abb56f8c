// A directed graph, built once: neighbours by target (CSR) and by source (CSC), and how the two orders relate.
// An edge's place in the target order is its number. Edges are sorted by (target, source), so the order in
// which they were given changes nothing. Labels and weights live with whoever needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier {

struct Edge {
  std::uint32_t from = 0, to = 0;
  bool operator==(const Edge&) const = default;
};

class Graph {
 public:
  Graph() : in_offsets_(1), out_offsets_(1) {}
  // Unknown nodes and an edge given twice are Errors. N and E must fit in 32 bits.
  //   Graph triangle(3, std::vector<Edge>{{0, 1}, {1, 2}, {2, 0}});
  Graph(std::size_t nodes, std::span<const Edge> edges);

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

  std::size_t in_degree(std::size_t v) const { return in_offsets_[v + 1] - in_offsets_[v]; }
  std::size_t out_degree(std::size_t u) const { return out_offsets_[u + 1] - out_offsets_[u]; }

 private:
  std::vector<std::uint32_t> in_offsets_, sources_, given_, out_offsets_, targets_, out_edges_;
};

// Level of every node of a DAG: 0 without incoming edges, else 1 + the largest level of its sources.
// A cycle is an Error that names the nodes on it.
std::vector<std::uint32_t> dag_levels(const Graph& graph);

// Many graphs side by side as one: node i of graph g becomes node first_node[g] + i.
struct GraphBatch {
  Graph graph;
  std::vector<std::uint32_t> first_node;  // [graphs + 1]
};
GraphBatch batch_graphs(std::span<const Graph* const> graphs);

}  // namespace espalier
