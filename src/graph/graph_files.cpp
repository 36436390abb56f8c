// LabelledGraph from and to JSON, and from GXL.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "base/files.hpp"
#include "base/json.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

// Labels and ids may be texts, numbers or booleans; "1" and 1 are the same.
std::string word(const Json& value, std::string_view what) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (value.is_null()) return {};
  fail("graph json", fmt::format("{} = {}", what, value.dump().substr(0, 60)), "a text or a number");
}

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

LabelledGraph graph_from_json(std::string_view text, const std::string& what) {
  const auto bad = [&](std::string_view got, std::string_view expected) {
    fail("graph json", fmt::format("{} in {}", got, what), expected);
  };
  const Json json = parse_json(text, what);
  if (!json.is_object() || !json.contains("nodes") || !json["nodes"].is_array())
    bad("no \"nodes\"", "{\"nodes\": [...], \"edges\": [...]}");
  LabelledGraph graph;
  if (json.contains("directed")) {
    if (!json["directed"].is_boolean()) bad("\"directed\" that is not true or false", "true or false");
    graph.directed = json["directed"].get<bool>();
  }
  std::map<std::string, std::uint32_t> places;
  for (const Json& node : json["nodes"]) {
    const auto place = static_cast<std::uint32_t>(graph.labels.size());
    const bool object = node.is_object();
    const std::string id = object && node.contains("id") ? word(node["id"], "id") : std::to_string(place);
    if (!places.emplace(id, place).second) bad(fmt::format("the node \"{}\" twice", id), "every id once");
    graph.labels.push_back(object ? (node.contains("label") ? word(node["label"], "label") : std::string())
                                  : word(node, "a node"));
  }
  const auto end = [&](const Json& value) {
    const std::string id = word(value, "an end of an edge");
    const auto found = places.find(id);
    if (found == places.end()) bad(fmt::format("an edge to node \"{}\"", id), "the id of a node");
    return found->second;
  };
  if (json.contains("edges") && !json["edges"].is_array()) bad("\"edges\" that is not a list", "a list");
  for (const Json& edge : json.value("edges", Json::array())) {
    const bool list = edge.is_array() && (edge.size() == 2 || edge.size() == 3);
    if (!list && !(edge.is_object() && edge.contains("from") && edge.contains("to")))
      bad(fmt::format("the edge {}", edge.dump().substr(0, 60)),
          "[from, to], [from, to, label] or {\"from\", \"to\", \"label\"}");
    const std::uint32_t from = end(list ? edge[0] : edge["from"]), to = end(list ? edge[1] : edge["to"]);
    const Json label = list ? (edge.size() == 3 ? edge[2] : Json()) : edge.value("label", Json());
    graph.edges.push_back({from, to, word(label, "a label")});
  }
  graph.check();
  return graph;
}

std::string graph_to_json(const LabelledGraph& graph) {
  Json edges = Json::array();
  for (const LabelledEdge& e : graph.edges) edges.push_back({e.from, e.to, e.label});
  return Json{{"directed", graph.directed}, {"nodes", graph.labels}, {"edges", edges}}.dump();
}

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

}  // namespace espalier
