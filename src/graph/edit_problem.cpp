// Costs of mappings, the assignment problem, and the bounds it gives for whole graphs.
#include "graph/edit_problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
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

std::vector<std::vector<std::int32_t>> label_multisets(const std::vector<std::vector<EditGraph::Neighbour>>& lists) {
  std::vector<std::vector<std::int32_t>> sets(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (const auto& n : lists[i]) sets[i].push_back(n.label);
    std::sort(sets[i].begin(), sets[i].end());
  }
  return sets;
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

double EditProblem::multiset_cost(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) const {
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] == y[j])
      ++common, ++i, ++j;
    else if (x[i] < y[j])
      ++i;
    else
      ++j;
  }
  const std::size_t only_x = x.size() - common, only_y = y.size() - common, both = std::min(only_x, only_y);
  return static_cast<double>(both) * edge_substitute() + static_cast<double>(only_x - both) * costs.edge_delete +
         static_cast<double>(only_y - both) * costs.edge_insert;
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

// rows <= columns, matrix_ [rows][columns]. Index 0 of u_, v_, row_of_ is a sentinel; rows and columns count
// from 1. Column minima as first prices let most rows find a free column at once.
void AssignmentSolver::solve_wide(std::size_t rows, std::size_t columns) {
  u_.assign(rows + 1, 0.0);
  v_.assign(columns + 1, 0.0);
  row_of_.assign(columns + 1, 0);
  way_.assign(columns + 1, 0);
  least_.resize(columns + 1);
  used_.resize(columns + 1);
  if (rows == columns) {
    // Prices may start at the column minima only when every column is matched in the end.
    for (std::size_t j = 1; j <= columns; ++j) {
      double least = matrix_[j - 1];
      for (std::size_t i = 1; i < rows; ++i) least = std::min(least, matrix_[i * columns + j - 1]);
      v_[j] = least;
    }
  }
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of_[0] = static_cast<std::int32_t>(row);
    std::size_t at = 0;
    std::fill(least_.begin(), least_.end(), std::numeric_limits<double>::infinity());
    std::fill(used_.begin(), used_.end(), char{0});
    do {
      used_[at] = 1;
      const auto i = static_cast<std::size_t>(row_of_[at]);
      const double* costs = &matrix_[(i - 1) * columns];
      double delta = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (used_[j]) continue;
        const double reduced = costs[j - 1] - u_[i] - v_[j];
        if (reduced < least_[j]) {
          least_[j] = reduced;
          way_[j] = static_cast<std::int32_t>(at);
        }
        if (least_[j] < delta) {
          delta = least_[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (used_[j]) {
          u_[static_cast<std::size_t>(row_of_[j])] += delta;
          v_[j] -= delta;
        } else {
          least_[j] -= delta;
        }
      }
      at = next;
    } while (row_of_[at] != 0);
    do {
      const auto from = static_cast<std::size_t>(way_[at]);
      row_of_[at] = row_of_[from];
      at = from;
    } while (at != 0);
  }
}

double AssignmentSolver::solve(const double* cost, std::size_t rows, std::size_t columns,
                               std::vector<std::int32_t>& column_of) {
  column_of.assign(rows, -1);
  if (rows == 0 || columns == 0) return 0;
  const bool wide = rows <= columns;
  const std::size_t height = std::min(rows, columns), width = std::max(rows, columns);
  matrix_.resize(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      matrix_[wide ? i * columns + j : j * rows + i] = std::min(0.0, cost[i * columns + j]);
  solve_wide(height, width);
  double total = 0;
  for (std::size_t j = 1; j <= width; ++j) {
    if (row_of_[j] == 0) continue;
    const auto i = static_cast<std::size_t>(row_of_[j]) - 1;
    const std::size_t row = wide ? i : j - 1, column = wide ? j - 1 : i;
    if (cost[row * columns + column] >= 0) continue;  // staying alone is as good
    column_of[row] = static_cast<std::int32_t>(column);
    total += cost[row * columns + column];
  }
  return total;
}

double assignment_bound(const EditProblem& p, std::vector<std::int32_t>& mapping) {
  constexpr std::size_t kMaxPairs = 50'000'000;
  const std::size_t n = p.a.size, m = p.b.size;
  if (n > 0 && m > kMaxPairs / n)
    fail("edit distance", fmt::format("graphs of {} and {} nodes", n, m), "at most 50 million pairs of nodes");
  const auto out_a = label_multisets(p.a.out), out_b = label_multisets(p.b.out);
  const auto in_a = label_multisets(p.a.in), in_b = label_multisets(p.b.in);
  const std::vector<std::int32_t> none;
  // Edges are seen from both ends, so each end carries half.
  std::vector<double> remove(n), insert(m), gain(n * m);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i)
    total += remove[i] = p.costs.node_delete + p.edge_cost(p.a.loop[i], 0) +
                         0.5 * (p.multiset_cost(out_a[i], none) + p.multiset_cost(in_a[i], none));
  for (std::size_t j = 0; j < m; ++j)
    total += insert[j] = p.costs.node_insert + p.edge_cost(0, p.b.loop[j]) +
                         0.5 * (p.multiset_cost(none, out_b[j]) + p.multiset_cost(none, in_b[j]));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      gain[i * m + j] = p.node_cost(i, j) + p.edge_cost(p.a.loop[i], p.b.loop[j]) +
                        0.5 * (p.multiset_cost(out_a[i], out_b[j]) + p.multiset_cost(in_a[i], in_b[j])) - remove[i] -
                        insert[j];
  AssignmentSolver solver;
  return total + solver.solve(gain.data(), n, m, mapping);
}

double improve_mapping(const EditProblem& p, std::vector<std::int32_t>& mapping, double cost) {
  constexpr std::size_t kMaxNodes = 20;
  if (p.a.size > kMaxNodes || p.b.size > kMaxNodes) return cost;
  for (bool better = true; better;) {
    better = false;
    std::vector<char> used(p.b.size);
    for (const std::int32_t j : mapping)
      if (j >= 0) used[static_cast<std::size_t>(j)] = 1;
    const auto try_it = [&](std::int32_t& x, std::int32_t value, std::int32_t* y, std::int32_t other) {
      const std::int32_t keep_x = x, keep_y = y ? *y : 0;
      x = value;
      if (y) *y = other;
      const double now = p.mapping_cost(mapping);
      if (now < cost - 1e-9) {
        cost = now;
        return true;
      }
      x = keep_x;
      if (y) *y = keep_y;
      return false;
    };
    for (std::size_t i = 0; i < mapping.size() && !better; ++i) {
      for (std::size_t k = i + 1; k < mapping.size() && !better; ++k)
        better = mapping[i] != mapping[k] && try_it(mapping[i], mapping[k], &mapping[k], mapping[i]);
      for (std::size_t j = 0; j < used.size() && !better; ++j)
        better = !used[j] && try_it(mapping[i], static_cast<std::int32_t>(j), nullptr, 0);
      if (!better && mapping[i] >= 0) better = try_it(mapping[i], -1, nullptr, 0);
    }
  }
  return cost;
}

}  // namespace espalier
