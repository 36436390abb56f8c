// DagNN in a safetensors file: "dag.nodes" [N][4] id, kind, activation, symbol; "dag.edges" [E][3] id, from, to;
// "dag.bias" [N] and "dag.weight" [E] in the same order. Nothing in a file is trusted.
#include <fmt/format.h>

#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"
#include "models/dag/dag_nn_state.hpp"

namespace espalier {
namespace {

std::int32_t as_int(std::uint32_t value) { return static_cast<std::int32_t>(value); }
std::uint32_t as_id(std::int32_t value) { return static_cast<std::uint32_t>(value); }

[[noreturn]] void bad(std::string_view got, std::string_view expected) { fail("load dag", got, expected); }

bool flag(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.meta(key);
  if (text != "true" && text != "false") bad(fmt::format("{} = \"{}\"", key, text), "true or false");
  return text == "true";
}

std::uint32_t counter(const SafetensorsFile& file, const std::string& key) {
  const std::string& text = file.meta(key);
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    bad(fmt::format("{} = \"{}\"", key, text), "a whole number");
  return static_cast<std::uint32_t>(std::stoul(text));
}

}  // namespace

void DagNN::save(SafetensorsFile& file) const {
  std::vector<std::int32_t> nodes, edges;
  std::vector<float> biases, weights;
  for (const auto& [id, node] : topology_.nodes()) {
    for (const std::uint32_t field :
         {id, static_cast<std::uint32_t>(node.kind), static_cast<std::uint32_t>(node.activation), node.symbol})
      nodes.push_back(as_int(field));
    biases.push_back(bias(id));
  }
  for (const auto& [id, edge] : topology_.edges()) {
    for (const std::uint32_t field : {id, edge.from, edge.to}) edges.push_back(as_int(field));
    weights.push_back(weight(id));
  }
  file.add("dag.nodes", {biases.size(), 4}, nodes);
  file.add("dag.edges", {weights.size(), 3}, edges);
  file.add("dag.bias", {biases.size()}, biases);
  file.add("dag.weight", {weights.size()}, weights);
  file.metadata["dag.training"] = training_ ? "true" : "false";
  file.metadata["dag.fan_in_scaling"] = options_.fan_in_scaling ? "true" : "false";
  file.metadata["dag.next_node"] = std::to_string(topology_.next_node());
  file.metadata["dag.next_edge"] = std::to_string(topology_.next_edge());
}

DagNN DagNN::load(const SafetensorsFile& file) {
  const std::vector<std::int32_t> nodes = file.ints("dag.nodes"), edges = file.ints("dag.edges");
  const std::vector<float> biases = file.floats("dag.bias"), weights = file.floats("dag.weight");
  if (nodes.size() != 4 * biases.size() || edges.size() != 3 * weights.size())
    bad(fmt::format("{} and {} numbers of nodes and edges", nodes.size(), edges.size()),
        fmt::format("4 x {} and 3 x {}", biases.size(), weights.size()));
  DagNN network(DagOptions{flag(file, "dag.fan_in_scaling")});
  network.training_ = flag(file, "dag.training");
  const std::uint32_t next_node = counter(file, "dag.next_node"), next_edge = counter(file, "dag.next_edge");
  for (std::size_t i = 0; i < biases.size(); ++i) {
    const std::int32_t* n = &nodes[4 * i];
    if (as_id(n[0]) >= next_node || n[1] < 0 || n[1] > 2 || n[2] < 0 || n[2] >= kNumActivations)
      bad(fmt::format("node {}, kind {}, activation {}", n[0], n[1], n[2]), "values in range");
    const auto kind = static_cast<NodeKind>(n[1]);
    network.restore_node(as_id(n[0]), kind, static_cast<Activation>(n[2]), biases[i], as_id(n[3]));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int32_t* e = &edges[3 * i];
    if (as_id(e[0]) >= next_edge) bad(fmt::format("edge {}", e[0]), fmt::format("ids below {}", next_edge));
    network.restore_edge(as_id(e[0]), as_id(e[1]), as_id(e[2]), weights[i]);
  }
  network.reserve_ids(next_node, next_edge);
  return network;
}

}  // namespace espalier
