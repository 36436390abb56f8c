// LabelledGraph from GXL.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <pugixml.hpp>

#include "espalier/error.hpp"
#include "espalier/graph.hpp"

namespace espalier {
namespace {

std::string label_of(const pugi::xml_node& node, GxlAttributes& attributes) {
  std::string label;
  for (const pugi::xml_node& attribute : node.children("attr")) {
    const std::string name = attribute.attribute("name").value();
    const pugi::xml_node value = attribute.first_child();
    std::string type = value.name();
    for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool use = attributes.wanted.empty() ? type != "float" && type != "double"
                                               : std::ranges::find(attributes.wanted, name) != attributes.wanted.end();
    (use ? attributes.used : attributes.ignored).insert(name);
    if (!use) continue;
    if (!label.empty()) label += ';';
    label += name + "=" + value.child_value();
  }
  return label;
}

}  // namespace

LabelledGraph graph_from_gxl(std::string_view text, const std::string& what, GxlAttributes* attributes) {
  GxlAttributes unasked;
  if (!attributes) attributes = &unasked;
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
    graph.labels.push_back(label_of(node, *attributes));
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
    graph.edges.push_back({from, end("to"), label_of(edge, *attributes)});
  }
  graph.check();
  return graph;
}

}  // namespace espalier
