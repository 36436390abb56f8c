// The edit distance by a plain search, which the fast one is held against: nodes in a fixed order, every way of each
// tried, one assignment problem per way. An unmapped node costs its labels, its edges to mapped nodes and half the
// cheapest change of its other edges' labels.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/assignment.hpp"
#include "graph/edit_problem.hpp"

namespace espalier::reference {

class EditSearch {
 public:
  explicit EditSearch(const EditProblem& problem)
      : p_(problem), n_(p_.a.size), m_(p_.b.size), a_(matrix(p_.a)), b_(matrix(p_.b)), mapping_(n_, -1), used_(m_) {
    // Nodes with many edges to those already chosen first: their costs are known early.
    std::vector<char> chosen(n_);
    while (order_.size() < n_) {
      std::size_t best = n_, most = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        std::size_t key = 1 + p_.a.out[i].size() + p_.a.in[i].size();
        for (const std::size_t q : order_) key += a_[i * n_ + q] || a_[q * n_ + i] ? 1000 : 0;
        if (!chosen[i] && key > most) best = i, most = key;
      }
      chosen[best] = 1;
      order_.push_back(best);
    }
  }

  // The least cost of all mappings. `upper` is that of some mapping.
  double run(double upper) {
    best_ = upper;
    visit(0, 0.0);
    return best_;
  }

 private:
  static std::vector<std::int32_t> matrix(const EditGraph& g) {
    std::vector<std::int32_t> labels(g.size * g.size);
    for (std::size_t i = 0; i < g.size; ++i)
      for (const auto& n : g.out[i]) labels[i * g.size + n.node] = n.label;
    return labels;
  }

  // Edges between node i, gone to j, and what is mapped; -1 is no node, on either side.
  double to_mapped(std::size_t depth, std::int32_t i, std::int32_t j) const {
    const auto label = [](const std::vector<std::int32_t>& labels, std::size_t size, std::int32_t x, std::int32_t y) {
      return x < 0 || y < 0 ? 0 : labels[static_cast<std::size_t>(x) * size + static_cast<std::size_t>(y)];
    };
    double cost = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      const auto q = static_cast<std::int32_t>(order_[k]);
      const std::int32_t image = mapping_[order_[k]];
      cost += p_.edge_cost(label(a_, n_, i, q), label(b_, m_, j, image));
      if (p_.directed) cost += p_.edge_cost(label(a_, n_, q, i), label(b_, m_, image, j));
    }
    return cost;
  }

  double alone_a(std::size_t i) const { return p_.costs.node_delete + p_.edge_cost(p_.a.loop[i], 0); }
  double alone_b(std::size_t j) const { return p_.costs.node_insert + p_.edge_cost(0, p_.b.loop[j]); }
  double pair(std::size_t i, std::size_t j) const {
    return p_.node_cost(i, j) + p_.edge_cost(p_.a.loop[i], p_.b.loop[j]);
  }

  // The labels of a node's edges to open nodes, sorted.
  template <class Open>
  static std::vector<std::int32_t> open_labels(const std::vector<EditGraph::Neighbour>& list, const Open& open) {
    std::vector<std::int32_t> labels;
    for (const auto& n : list)
      if (open(n.node)) labels.push_back(n.label);
    std::sort(labels.begin(), labels.end());
    return labels;
  }

  // Lower bound of what the nodes after the first `depth` will cost.
  double rest(std::size_t depth) {
    std::vector<std::size_t> rows(order_.begin() + static_cast<std::ptrdiff_t>(depth), order_.end()), columns;
    for (std::size_t j = 0; j < m_; ++j)
      if (!used_[j]) columns.push_back(j);
    const std::size_t size = std::max(rows.size(), columns.size());
    if (size == 0) return 0;
    const auto open_a = [&](std::size_t i) { return std::find(rows.begin(), rows.end(), i) != rows.end(); };
    const auto open_b = [&](std::size_t j) { return !used_[j]; };
    const std::vector<std::int32_t> none;
    std::vector<std::vector<std::int32_t>> out_a, in_a, out_b, in_b;
    std::vector<double> remove, insert, gain(size * size);
    double total = 0;
    for (const std::size_t i : rows) {
      out_a.push_back(open_labels(p_.a.out[i], open_a));
      in_a.push_back(open_labels(p_.a.in[i], open_a));
      remove.push_back(alone_a(i) + to_mapped(depth, static_cast<std::int32_t>(i), -1) +
                       0.5 * (p_.multiset_cost(out_a.back(), none) + p_.multiset_cost(in_a.back(), none)));
      total += remove.back();
    }
    for (const std::size_t j : columns) {
      out_b.push_back(open_labels(p_.b.out[j], open_b));
      in_b.push_back(open_labels(p_.b.in[j], open_b));
      insert.push_back(alone_b(j) + to_mapped(depth, -1, static_cast<std::int32_t>(j)) +
                       0.5 * (p_.multiset_cost(none, out_b.back()) + p_.multiset_cost(none, in_b.back())));
      total += insert.back();
    }
    for (std::size_t x = 0; x < rows.size(); ++x)
      for (std::size_t y = 0; y < columns.size(); ++y)
        gain[x * size + y] = std::min(
            0.0, pair(rows[x], columns[y]) +
                     to_mapped(depth, static_cast<std::int32_t>(rows[x]), static_cast<std::int32_t>(columns[y])) +
                     0.5 * (p_.multiset_cost(out_a[x], out_b[y]) + p_.multiset_cost(in_a[x], in_b[y])) - remove[x] -
                     insert[y]);
    return total + solver_.solve(gain.data(), size, size, size);
  }

  void visit(std::size_t depth, double cost) {
    if (depth == n_) {
      best_ = std::min(best_, p_.mapping_cost(mapping_));
      return;
    }
    struct Child {
      std::int32_t image;
      double cost, bound;
    };
    const std::size_t i = order_[depth];
    const auto enter = [&](std::int32_t image, char there) {
      mapping_[i] = there ? image : -1;
      if (image >= 0) used_[static_cast<std::size_t>(image)] = there;
    };
    std::vector<Child> children;
    for (std::int32_t image = -1; image < static_cast<std::int32_t>(m_); ++image) {
      if (image >= 0 && used_[static_cast<std::size_t>(image)]) continue;
      const double now = cost + (image < 0 ? alone_a(i) : pair(i, static_cast<std::size_t>(image))) +
                         to_mapped(depth, static_cast<std::int32_t>(i), image);
      enter(image, 1);
      children.push_back({image, now, now + rest(depth + 1)});
      enter(image, 0);
    }
    std::stable_sort(children.begin(), children.end(), [](const auto& x, const auto& y) { return x.bound < y.bound; });
    for (const Child& child : children) {
      if (child.bound >= best_ - 1e-9) continue;
      enter(child.image, 1);
      visit(depth + 1, child.cost);
      enter(child.image, 0);
    }
  }

  const EditProblem& p_;
  std::size_t n_, m_;
  std::vector<std::int32_t> a_, b_;  // [n][n], [m][m] labels of edges
  std::vector<std::size_t> order_;
  std::vector<std::int32_t> mapping_;
  std::vector<char> used_;
  AssignmentSolver solver_;
  double best_ = 0;
};

}  // namespace espalier::reference
