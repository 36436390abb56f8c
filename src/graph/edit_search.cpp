// At every node of the search tree the rest is an assignment problem: an unmapped node of the first graph to an
// unused one of the second costs its labels, its edges to what is mapped already (exactly) and half the cheapest
// change of its other edges' labels (the other half is paid at their other end). Its optimum is a lower bound, and
// its solution a mapping that may lower the upper bound.
#include <cmath>
#include <limits>

#include "base/clock.hpp"
#include "graph/edit_problem.hpp"

namespace espalier {
namespace {

constexpr double kSlack = 1e-9;         // rounding of sums of costs
constexpr std::size_t kMaxLabels = 32;  // with more kinds of edges only their number is compared
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Search {
 public:
  Search(const EditProblem& problem, EditSearchResult& result, const EditDistanceOptions& options)
      : p_(problem),
        n_(problem.a.size),
        m_(problem.b.size),
        best_(result),
        options_(options),
        stop_at_(seconds_now() + options.max_seconds),
        edges_a_(n_ * n_),
        edges_b_(m_ * m_),
        levels_(n_ + 1),
        mapping_(n_, -1),
        used_(m_) {
    fill_matrix(p_.a, edges_a_);
    fill_matrix(p_.b, edges_b_);
    choose_order();
    for (Level& level : levels_) {
      level.fixed.resize(n_ * m_);
      level.remove.resize(n_);
      level.insert.resize(m_);
    }
    Level& root = levels_[0];
    for (std::size_t i = 0; i < n_; ++i) {
      root.remove[i] = p_.costs.node_delete + p_.edge_cost(p_.a.loop[i], 0);
      for (std::size_t j = 0; j < m_; ++j)
        root.fixed[i * m_ + j] = p_.node_cost(i, j) + p_.edge_cost(p_.a.loop[i], p_.b.loop[j]);
    }
    for (std::size_t j = 0; j < m_; ++j) root.insert[j] = p_.costs.node_insert + p_.edge_cost(0, p_.b.loop[j]);
  }

  void run() {
    visit(0, 0.0);
    best_.lower = std::max(best_.lower, std::min(best_.upper, open_));
  }

 private:
  // What is known of unmapped nodes at a depth: cost of the pair, of removal, of insertion, by labels and by
  // edges to mapped nodes.
  struct Level {
    std::vector<double> fixed, remove, insert;
  };
  struct Child {
    std::int32_t image;
    double cost, bound;
  };

  void fill_matrix(const EditGraph& g, std::vector<std::int32_t>& matrix) {
    for (std::size_t i = 0; i < g.size; ++i)
      for (const auto& n : g.out[i]) {
        matrix[i * g.size + n.node] = n.label;
        labels_ = std::max(labels_, static_cast<std::size_t>(n.label));
      }
  }

  // Nodes with many edges to those already chosen first: their costs are known early.
  void choose_order() {
    std::vector<char> chosen(n_);
    for (std::size_t k = 0; k < n_; ++k) {
      std::size_t best = n_, best_key = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        if (chosen[i]) continue;
        std::size_t key = 1 + p_.a.out[i].size() + p_.a.in[i].size();
        for (std::size_t q = 0; q < n_; ++q)
          if (chosen[q] && (edges_a_[i * n_ + q] || edges_a_[q * n_ + i])) key += 1000;
        if (best == n_ || key > best_key) best = i, best_key = key;
      }
      chosen[best] = 1;
      order_.push_back(best);
    }
  }

  std::int32_t edge_a(std::size_t i, std::size_t q) const { return edges_a_[i * n_ + q]; }
  std::int32_t edge_b(std::int32_t j, std::int32_t q) const {
    return j < 0 || q < 0 ? 0 : edges_b_[static_cast<std::size_t>(j) * m_ + static_cast<std::size_t>(q)];
  }
  // Edges between i and q when i goes to j and q to image.
  double between(std::size_t i, std::int32_t j, std::size_t q, std::int32_t image) const {
    double cost = p_.edge_cost(edge_a(i, q), edge_b(j, image));
    if (p_.directed) cost += p_.edge_cost(edge_a(q, i), edge_b(image, j));
    return cost;
  }

  // Level depth + 1 after order_[depth] went to `image`.
  void descend(std::size_t depth, std::int32_t image) {
    const Level& from = levels_[depth];
    Level& to = levels_[depth + 1];
    const std::size_t q = order_[depth];
    for (std::size_t k = depth + 1; k < n_; ++k) {
      const std::size_t i = order_[k];
      to.remove[i] = from.remove[i] + between(i, -1, q, -1);
      for (std::size_t j = 0; j < m_; ++j)
        if (!used_[j])
          to.fixed[i * m_ + j] = from.fixed[i * m_ + j] + between(i, static_cast<std::int32_t>(j), q, image);
    }
    for (std::size_t j = 0; j < m_; ++j) {
      if (used_[j]) continue;
      to.insert[j] = from.insert[j];
      if (image < 0) continue;
      const auto node = static_cast<std::int32_t>(j);
      to.insert[j] += p_.edge_cost(0, edge_b(node, image));
      if (p_.directed) to.insert[j] += p_.edge_cost(0, edge_b(image, node));
    }
  }

  // How many edges of each label a node has to the other nodes of a set, outgoing then incoming.
  void count_labels(const std::vector<std::size_t>& set, const std::vector<std::int32_t>& edges, std::size_t size,
                    std::vector<std::int32_t>& counts) const {
    const std::size_t kinds = label_kinds(), width = 2 * kinds;
    counts.assign(set.size() * width, 0);
    for (std::size_t x = 0; x < set.size(); ++x)
      for (std::size_t y = 0; y < set.size(); ++y) {
        const std::int32_t label = edges[set[x] * size + set[y]];
        if (x == y || label == 0) continue;
        const std::size_t kind = kinds == 1 ? 0 : static_cast<std::size_t>(label) - 1;
        ++counts[x * width + kind];
        if (p_.directed) ++counts[y * width + kinds + kind];
      }
  }
  std::size_t label_kinds() const { return labels_ > kMaxLabels || labels_ == 0 ? 1 : labels_; }

  double multiset_cost(const std::int32_t* x, const std::int32_t* y) const {
    double cost = 0;
    for (std::size_t way = 0; way < (p_.directed ? 2u : 1u); ++way, x += label_kinds(), y += label_kinds()) {
      std::int32_t common = 0, all_x = 0, all_y = 0;
      for (std::size_t l = 0; l < label_kinds(); ++l) {
        common += std::min(x[l], y[l]);
        all_x += x[l];
        all_y += y[l];
      }
      const std::int32_t both = std::min(all_x, all_y) - common;
      cost += both * p_.edge_substitute() + std::max(all_x - all_y, 0) * p_.costs.edge_delete +
              std::max(all_y - all_x, 0) * p_.costs.edge_insert;
    }
    return cost;
  }

  // Lower bound of all completions of the first `depth` decisions, which cost `cost` so far.
  double bound(std::size_t depth, double cost) {
    const Level& level = levels_[depth];
    rest_a_.assign(order_.begin() + static_cast<std::ptrdiff_t>(depth), order_.end());
    rest_b_.clear();
    for (std::size_t j = 0; j < m_; ++j)
      if (!used_[j]) rest_b_.push_back(j);
    count_labels(rest_a_, edges_a_, n_, counts_a_);
    count_labels(rest_b_, edges_b_, m_, counts_b_);
    const std::size_t width = 2 * label_kinds();
    const std::vector<std::int32_t> none(width);
    double total = cost;
    remove_.resize(rest_a_.size());
    insert_.resize(rest_b_.size());
    for (std::size_t x = 0; x < rest_a_.size(); ++x)
      total += remove_[x] = level.remove[rest_a_[x]] + 0.5 * multiset_cost(&counts_a_[x * width], none.data());
    for (std::size_t y = 0; y < rest_b_.size(); ++y)
      total += insert_[y] = level.insert[rest_b_[y]] + 0.5 * multiset_cost(none.data(), &counts_b_[y * width]);
    gain_.resize(rest_a_.size() * rest_b_.size());
    for (std::size_t x = 0; x < rest_a_.size(); ++x)
      for (std::size_t y = 0; y < rest_b_.size(); ++y)
        gain_[x * rest_b_.size() + y] = level.fixed[rest_a_[x] * m_ + rest_b_[y]] +
                                        0.5 * multiset_cost(&counts_a_[x * width], &counts_b_[y * width]) - remove_[x] -
                                        insert_[y];
    total += solver_.solve(gain_.data(), rest_a_.size(), rest_b_.size(), assigned_);
    try_assignment();
    return p_.grain > 0 ? std::ceil((total - kSlack) / p_.grain) * p_.grain : total;
  }

  // The assignment's own mapping may be the best so far.
  void try_assignment() {
    candidate_ = mapping_;
    for (std::size_t x = 0; x < rest_a_.size(); ++x)
      candidate_[rest_a_[x]] =
          assigned_[x] < 0 ? -1 : static_cast<std::int32_t>(rest_b_[static_cast<std::size_t>(assigned_[x])]);
    const double cost = p_.mapping_cost(candidate_);
    if (cost < best_.upper - kSlack) {
      best_.upper = cost;
      best_.mapping = candidate_;
    }
  }

  bool out_of_budget() {
    if (!stopped_ && (best_.searched >= options_.max_nodes || (best_.searched % 64 == 0 && seconds_now() > stop_at_)))
      stopped_ = true;
    return stopped_;
  }

  // All images of order_[depth], the most promising first. Decisions so far cost `cost`.
  void visit(std::size_t depth, double cost) {
    if (depth == n_) return;  // the last bound() was exact and its mapping is recorded
    const std::size_t i = order_[depth];
    const Level& level = levels_[depth];
    std::vector<Child> children;
    for (std::int32_t image = -1; image < static_cast<std::int32_t>(m_); ++image) {
      if (image >= 0 && used_[static_cast<std::size_t>(image)]) continue;
      children.push_back(
          {image, cost + (image < 0 ? level.remove[i] : level.fixed[i * m_ + static_cast<std::size_t>(image)]), 0});
    }
    for (Child& child : children) {
      if (out_of_budget()) {
        open_ = std::min(open_, std::max(child.cost, best_.lower));  // unjudged: only its own cost is sure
        child.bound = kInfinity;
        continue;
      }
      ++best_.searched;
      enter(depth, child.image);
      child.bound = bound(depth + 1, child.cost);
      leave(depth, child.image);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& x, const Child& y) { return x.bound < y.bound; });
    for (const Child& child : children) {
      if (child.bound >= best_.upper - kSlack) continue;  // also those that were not judged
      if (stopped_) {
        open_ = std::min(open_, child.bound);
        continue;
      }
      enter(depth, child.image);
      visit(depth + 1, child.cost);
      leave(depth, child.image);
    }
  }

  void enter(std::size_t depth, std::int32_t image) {
    mapping_[order_[depth]] = image;
    if (image >= 0) used_[static_cast<std::size_t>(image)] = 1;
    descend(depth, image);
  }
  void leave(std::size_t depth, std::int32_t image) {
    mapping_[order_[depth]] = -1;
    if (image >= 0) used_[static_cast<std::size_t>(image)] = 0;
  }

  const EditProblem& p_;
  std::size_t n_, m_, labels_ = 0;
  EditSearchResult& best_;
  const EditDistanceOptions& options_;
  double stop_at_, open_ = kInfinity;  // open_: least bound of what the budget left unsearched
  bool stopped_ = false;
  std::vector<std::int32_t> edges_a_, edges_b_;  // [n][n] and [m][m], 0 = none
  std::vector<std::size_t> order_;
  std::vector<Level> levels_;
  std::vector<std::int32_t> mapping_;
  std::vector<char> used_;
  // Work space of bound().
  AssignmentSolver solver_;
  std::vector<std::size_t> rest_a_, rest_b_;
  std::vector<std::int32_t> counts_a_, counts_b_, assigned_, candidate_;
  std::vector<double> remove_, insert_, gain_;
};

}  // namespace

EditSearchResult edit_search(const EditProblem& problem, std::vector<std::int32_t> mapping, double upper, double lower,
                             const EditDistanceOptions& options) {
  EditSearchResult result{std::move(mapping), upper, lower, 0};
  if (lower < upper - kSlack) Search(problem, result, options).run();
  return result;
}

}  // namespace espalier
