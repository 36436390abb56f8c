// Labels as numbers, and what a mapping costs.
#include "graph/edit_problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "espalier/error.hpp"

namespace espalier {
namespace {

using Numbers = std::map<std::string, std::int32_t>;

std::int32_t number_of(Numbers& numbers, const std::string& label) {
  return numbers.emplace(label, static_cast<std::int32_t>(numbers.size()) + 1).first->second;
}

EditGraph numbered(const LabelledGraph& graph, Numbers& node_labels, Numbers& edge_labels) {
  graph.check();
  EditGraph g;
  g.size = graph.labels.size();
  g.num_edges = graph.edges.size();
  for (const std::string& label : graph.labels) g.labels.push_back(number_of(node_labels, label));
  g.out.resize(g.size);
  g.in.resize(g.size);
  g.loop.resize(g.size);
  for (const LabelledEdge& e : graph.edges) {
    const std::int32_t label = number_of(edge_labels, e.label);
    if (e.from == e.to) {
      g.loop[e.from] = label;
      continue;
    }
    g.out[e.from].push_back({e.to, label});
    if (graph.directed)
      g.in[e.to].push_back({e.from, label});
    else
      g.out[e.to].push_back({e.from, label});
  }
  for (auto* lists : {&g.out, &g.in})
    for (auto& list : *lists)
      std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.node < y.node; });
  return g;
}

std::int32_t label_to(const std::vector<EditGraph::Neighbour>& list, std::uint32_t node) {
  const auto at =
      std::lower_bound(list.begin(), list.end(), node, [](const auto& n, std::uint32_t v) { return n.node < v; });
  return at != list.end() && at->node == node ? at->label : 0;
}

// Every cost a whole number of these gives distances that are too.
double grain_of(const EditCosts& c) {
  for (const double grain : {1.0, 0.5, 0.25}) {
    bool all = true;
    for (const double x :
         {c.node_insert, c.node_delete, c.node_substitute, c.edge_insert, c.edge_delete, c.edge_substitute})
      all = all && std::floor(x / grain) == x / grain;
    if (all) return grain;
  }
  return 0;
}

}  // namespace

EditProblem::EditProblem(const LabelledGraph& first, const LabelledGraph& second, const EditCosts& edit_costs)
    : costs(edit_costs), directed(first.directed), grain(grain_of(edit_costs)) {
  if (first.directed != second.directed) fail("edit distance", "a directed and an undirected graph", "two of one kind");
  for (const double c : {costs.node_insert, costs.node_delete, costs.node_substitute, costs.edge_insert,
                         costs.edge_delete, costs.edge_substitute})
    if (!(c >= 0 && c < 1e12)) fail("edit distance", fmt::format("a cost of {}", c), "0 or more, below 1e12");
  Numbers node_labels, edge_labels;
  a = numbered(first, node_labels, edge_labels);
  b = numbered(second, node_labels, edge_labels);
}

double EditProblem::multiset_cost(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y,
                                  double substitute, double remove, double insert) {
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j])
      ++common, ++i, ++j;
    else if (x[i] < y[j])
      ++i;
    else
      ++j;
  }
  return multiset_cost(x.size(), y.size(), common, substitute, remove, insert);
}

double EditProblem::multiset_cost(std::size_t x, std::size_t y, std::size_t common, double substitute, double remove,
                                  double insert) {
  const std::size_t only_x = x - common, only_y = y - common, both = std::min(only_x, only_y);
  return static_cast<double>(both) * substitute + static_cast<double>(only_x - both) * remove +
         static_cast<double>(only_y - both) * insert;
}

double EditProblem::mapping_cost(const std::vector<std::int32_t>& mapping) const {
  double cost = 0;
  std::size_t kept_nodes = 0, kept_edges = 0;
  for (std::uint32_t i = 0; i < a.size; ++i) {
    const std::int32_t image = mapping[i];
    if (image < 0) {
      cost += costs.node_delete;
      if (a.loop[i]) cost += costs.edge_delete;
    } else {
      ++kept_nodes;
      const auto j = static_cast<std::uint32_t>(image);
      cost += node_cost(i, j);
      if (a.loop[i] && b.loop[j]) {
        cost += edge_cost(a.loop[i], b.loop[j]);
        ++kept_edges;
      } else if (a.loop[i]) {
        cost += costs.edge_delete;
      }
    }
    for (const auto& n : a.out[i]) {
      if (!directed && n.node < i) continue;  // each undirected edge once
      const std::int32_t other = mapping[n.node];
      const std::int32_t label =
          image < 0 || other < 0 ? 0
                                 : label_to(b.out[static_cast<std::size_t>(image)], static_cast<std::uint32_t>(other));
      cost += edge_cost(n.label, label);
      kept_edges += label != 0;
    }
  }
  return cost + static_cast<double>(b.size - kept_nodes) * costs.node_insert +
         static_cast<double>(b.num_edges - kept_edges) * costs.edge_insert;
}

EditProblem EditProblem::turned() const {
  EditProblem other = *this;
  std::swap(other.a, other.b);
  std::swap(other.costs.node_insert, other.costs.node_delete);
  std::swap(other.costs.edge_insert, other.costs.edge_delete);
  return other;
}

std::vector<std::int32_t> turned(const std::vector<std::int32_t>& mapping, std::size_t images) {
  std::vector<std::int32_t> back(images, -1);
  for (std::size_t i = 0; i < mapping.size(); ++i)
    if (mapping[i] >= 0) back[static_cast<std::size_t>(mapping[i])] = static_cast<std::int32_t>(i);
  return back;
}

}  // namespace espalier
