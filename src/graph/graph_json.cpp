// LabelledGraph from and to JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "espalier/fields.hpp"
#include "espalier/graph.hpp"

namespace espalier {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  Reader(const Json& json, const std::string& what) : json_(json), what_(what) {}

  LabelledGraph read() {
    if (!json_.is_object() || !json_.contains("nodes") || !json_["nodes"].is_array())
      bad("no \"nodes\"", "{\"nodes\": [...], \"edges\": [...]}");
    check_keys(json_, "the graph", {"directed", "multigraph", "graph", "nodes", "edges", "links"});
    graph_.directed = flag("directed");
    if (flag("multigraph")) bad("a multigraph", "at most one edge between two nodes", "\"multigraph\": false");
    if (json_.contains("edges") && json_.contains("links")) bad("both \"edges\" and \"links\"", "one of them");
    for (const Json& node : json_["nodes"]) read_node(node);
    for (const char* list : {"edges", "links"}) {
      if (!json_.contains(list)) continue;
      if (!json_[list].is_array()) bad(fmt::format("\"{}\" that is not a list", list), "a list");
      for (const Json& edge : json_[list]) read_edge(edge);
    }
    graph_.check();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void bad(std::string_view got, std::string_view expected, std::string_view hint = {}) const {
    fail("graph json", fmt::format("{} in {}", got, what_), expected, hint);
  }
  bool flag(const char* name) const {
    if (!json_.contains(name)) return false;
    if (!json_[name].is_boolean()) bad(fmt::format("\"{}\" that is not true or false", name), "true or false");
    return json_[name].get<bool>();
  }
  // A key that nobody reads may be a misspelt one, and then the answer would be that of another graph.
  void check_keys(const Json& object, std::string_view of, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      const std::string nearest = nearest_word(key, known);
      bad(fmt::format("the key {} of {}", in_quotes(key), of), fmt::format("{}", fmt::join(known, ", ")),
          nearest.empty() ? std::string() : fmt::format("did you mean {}?", nearest));
    }
  }
  // Labels and ids may be texts, numbers or booleans; "1" and 1 are the same.
  std::string word(const Json& value, std::string_view of) const {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number() || value.is_boolean()) return value.dump();
    if (value.is_null()) return {};
    bad(fmt::format("{} = {}", of, shown_json(value)), "a text or a number");
  }

  void read_node(const Json& node) {
    const auto place = static_cast<std::uint32_t>(graph_.labels.size());
    if (node.is_object()) check_keys(node, fmt::format("node {}", place), {"id", "label"});
    const bool object = node.is_object();
    const std::string id = object && node.contains("id") ? word(node["id"], "id") : std::to_string(place);
    if (!places_.emplace(id, place).second) bad(fmt::format("the node {} twice", in_quotes(id)), "every id once");
    graph_.labels.push_back(object ? (node.contains("label") ? word(node["label"], "label") : std::string())
                                   : word(node, "a node"));
  }

  std::uint32_t end_of(const Json& value) const {
    const std::string id = word(value, "an end of an edge");
    const auto found = places_.find(id);
    if (found == places_.end()) bad(fmt::format("an edge to node {}", in_quotes(id)), "the id of a node");
    return found->second;
  }
  void read_edge(const Json& edge) {
    const auto has = [&](const char* from, const char* to) {
      return edge.is_object() && edge.contains(from) && edge.contains(to);
    };
    const bool list = edge.is_array() && (edge.size() == 2 || edge.size() == 3), linked = has("source", "target");
    if (!list && !linked && !has("from", "to"))
      bad(fmt::format("edge {} as {}", graph_.edges.size(), shown_json(edge)),
          "[from, to], [from, to, label], {\"from\", \"to\", \"label\"} or {\"source\", \"target\", \"label\"}");
    if (list) {
      graph_.edges.push_back(
          {end_of(edge[0]), end_of(edge[1]), edge.size() == 3 ? word(edge[2], "a label") : std::string()});
      return;
    }
    const char *from = linked ? "source" : "from", *to = linked ? "target" : "to";
    check_keys(edge, fmt::format("edge {}", graph_.edges.size()), {from, to, "label"});
    graph_.edges.push_back({end_of(edge[from]), end_of(edge[to]),
                            edge.contains("label") ? word(edge["label"], "a label") : std::string()});
  }

  const Json& json_;
  const std::string& what_;
  LabelledGraph graph_;
  std::map<std::string, std::uint32_t> places_;
};

}  // namespace

LabelledGraph graph_from_json(std::string_view text, const std::string& what) {
  const Json json = parse_json(text, what);
  return Reader(json, what).read();
}

std::string graph_to_json(const LabelledGraph& graph) {
  graph.check();
  Json edges = Json::array();
  for (const LabelledEdge& e : graph.edges) edges.push_back({e.from, e.to, e.label});
  try {
    return Json{{"directed", graph.directed}, {"nodes", graph.labels}, {"edges", edges}}.dump();
  } catch (const Json::exception&) {
    fail("graph to JSON", "a label that is not UTF-8", "labels in UTF-8");
  }
}

}  // namespace espalier
