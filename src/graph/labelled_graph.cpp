#include "espalier/labelled_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "models/message/expression.hpp"

namespace espalier {

void LabelledGraph::check() const {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const LabelledEdge& e : edges) {
    if (e.from >= labels.size() || e.to >= labels.size())
      fail("graph", fmt::format("an edge from {} to {}", e.from, e.to), fmt::format("nodes below {}", labels.size()));
    const bool turn = !directed && e.from > e.to;
    if (!seen.emplace(turn ? e.to : e.from, turn ? e.from : e.to).second)
      fail("graph", fmt::format("the edge {} - {} twice", e.from, e.to), "every edge once");
  }
}

namespace {

std::string attributes(const pugi::xml_node& node) {
  std::string label;
  for (const pugi::xml_node& attribute : node.children("attr")) {
    if (!label.empty()) label += ';';
    const pugi::xml_node value = attribute.first_child();
    label += std::string(attribute.attribute("name").value()) + "=" + value.child_value();
  }
  return label;
}

}  // namespace

LabelledGraph graph_from_gxl(std::string_view text, const std::string& what) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(text.data(), text.size());
  if (!result)
    fail("gxl", fmt::format("{} at byte {} of {}", result.description(), result.offset, what), "well-formed XML");
  const pugi::xml_node root = document.child("gxl") ? document.child("gxl").child("graph") : document.child("graph");
  if (!root) fail("gxl", fmt::format("no <graph> in {}", what), "<gxl><graph>...</graph></gxl>");
  const std::string mode = root.attribute("edgemode").as_string("undirected");
  if (mode != "directed" && mode != "undirected" && mode != "defaultdirected" && mode != "defaultundirected")
    fail("gxl", fmt::format("edgemode \"{}\" in {}", mode, what), "directed or undirected");
  LabelledGraph graph;
  graph.directed = mode.ends_with("directed") && !mode.ends_with("undirected");
  std::map<std::string, std::uint32_t> places;
  for (const pugi::xml_node& node : root.children("node")) {
    const std::string id = node.attribute("id").as_string();
    if (id.empty()) fail("gxl", fmt::format("a node without id in {}", what), "<node id=\"...\">");
    if (!places.emplace(id, graph.labels.size()).second)
      fail("gxl", fmt::format("the node \"{}\" twice in {}", id, what), "every id once");
    graph.labels.push_back(attributes(node));
  }
  for (const pugi::xml_node& edge : root.children("edge")) {
    const auto end = [&](const char* name) {
      const auto found = places.find(edge.attribute(name).as_string());
      if (found == places.end())
        fail("gxl", fmt::format("an edge {} \"{}\" in {}", name, edge.attribute(name).as_string(), what),
             "the id of a node");
      return found->second;
    };
    const std::uint32_t from = end("from");
    graph.edges.push_back({from, end("to"), attributes(edge)});
  }
  graph.check();
  return graph;
}

LabelledGraph read_graph(const std::string& path) {
  const std::string text = read_text(path);
  if (path.ends_with(".json")) return graph_from_json(text, path);
  if (path.ends_with(".gxl") || path.ends_with(".xml")) return graph_from_gxl(text, path);
  fail("read graph", fmt::format("\"{}\"", path), "a file that ends in .json, .gxl or .xml");
}

LabelledGraph graph_of_expression(const Expression& expression) {
  LabelledGraph graph;
  graph.directed = true;
  for (std::uint32_t i = 0; i < expression.nodes.size(); ++i) {
    const ExpressionNode& n = expression.nodes[i];
    graph.labels.push_back(n.label);
    if (n.left >= 0 && n.left == n.right) {  // a shared operand on both sides is one edge
      graph.edges.push_back({static_cast<std::uint32_t>(n.left), i, "both"});
      continue;
    }
    if (n.left >= 0) graph.edges.push_back({static_cast<std::uint32_t>(n.left), i, "left"});
    if (n.right >= 0) graph.edges.push_back({static_cast<std::uint32_t>(n.right), i, "right"});
  }
  return graph;
}

}  // namespace espalier
