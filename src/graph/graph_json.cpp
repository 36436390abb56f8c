// LabelledGraph from and to JSON.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

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

}  // namespace espalier
