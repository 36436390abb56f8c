// Graphs with text labels on nodes and edges, directed or not, as they come from files: JSON and GXL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct Expression;

struct LabelledEdge {
  std::uint32_t from, to;
  std::string label;
};

struct LabelledGraph {
  bool directed = false;
  std::vector<std::string> labels;  // of nodes
  std::vector<LabelledEdge> edges;

  // Unknown nodes and an edge given twice (either way round when undirected) are Errors.
  void check() const;
};

// {"directed": false, "nodes": [...], "edges": [...]}
// A node is a label ("C", 7) or {"id": ..., "label": ...}; without ids nodes are numbered from 0. An edge is
// [from, to], [from, to, label] or {"from": ..., "to": ..., "label": ...}. Labels may be missing.
LabelledGraph graph_from_json(std::string_view text, const std::string& what);
std::string graph_to_json(const LabelledGraph& graph);

// GXL (Graph eXchange Language) as the graph benchmark sets use it: the first <graph>, edgemode "directed" or
// "undirected" (the default); a label is the node's or edge's attributes, "name=value" joined by ";".
LabelledGraph graph_from_gxl(std::string_view text, const std::string& what);

// By the file's ending: .json, .gxl or .xml.
LabelledGraph read_graph(const std::string& path);

// Edges from operand to user, labelled left and right.
LabelledGraph graph_of_expression(const Expression& expression);

}  // namespace espalier
