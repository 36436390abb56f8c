// Branch and bound, depth first. At every state the rest is an assignment problem: an unmapped node of the first graph
// to an unused one of the second costs its labels, its edges to what is mapped already (exactly) and half the cheapest
// change of its other edges' labels (the other half is paid at their other end). Its optimum is a lower bound, its
// solution a mapping that may lower the upper bound, and its prices say of every pair at once by how much the bound
// grows when that pair is forced: pairs for which it grows too much are closed for everything below. The next node to
// map is the one with the fewest open pairs. A decision changes the costs of its neighbours alone, so a state is made
// from the one above by copying and mending a few rows and columns.
#include <cmath>
#include <limits>

#include "base/clock.hpp"
#include "graph/assignment.hpp"
#include "graph/edit_problem.hpp"

namespace espalier {
namespace {

constexpr double kSlack = 1e-9;         // rounding of sums of costs
constexpr std::size_t kMaxLabels = 32;  // with more kinds of edges only their number is compared
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The first graph has at most as many nodes as the second.
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
        mapping_(n_, -1) {
    fill_matrix(p_.a, edges_a_);
    fill_matrix(p_.b, edges_b_);
    kinds_ = labels_ > kMaxLabels || labels_ == 0 ? 1 : labels_;
    width_ = p_.directed ? 2 * kinds_ : kinds_;
    none_.assign(width_, 0);
    make_root();
  }

  void run() {
    if (best_.searched >= options_.max_nodes) return;
    ++best_.searched;
    const double bound = solve(levels_[0]);
    best_.lower = std::max(best_.lower, std::min(best_.upper, bound));
    if (bound < best_.upper - kSlack) visit(0);
    best_.lower = std::max(best_.lower, std::min(best_.upper, open_));
  }

 private:
  // Unmapped nodes of the first graph are rows, unused ones of the second columns.
  struct Level {
    std::size_t rows = 0, columns = 0;
    std::vector<std::uint32_t> row, column;      // their nodes
    std::vector<double> fixed;                   // [rows][m] a pair's labels and its edges to mapped nodes
    std::vector<double> gain;                    // [rows][m] the whole pair less both nodes left alone, or 0 for that
    std::vector<char> closed;                    // [rows][m] too dear for anything better than the best known
    std::vector<char> stays;                     // [rows] too dear to delete
    std::vector<double> remove, insert;          // a node alone: its label and its edges to mapped nodes
    std::vector<double> remove_all, insert_all;  // and half its other edges
    std::vector<std::int32_t> edges_row, edges_column;  // [..][width] other edges by label, outgoing then incoming
    std::vector<double> u, v;                           // prices of the assignment problem
    double cost = 0;                                    // of the decisions so far
    double total = 0;                                   // lower bound, before rounding
  };
  struct Child {
    std::int32_t column;  // -1 deletes
    double bound, slack;
  };

  void fill_matrix(const EditGraph& g, std::vector<std::int32_t>& matrix) {
    for (std::size_t i = 0; i < g.size; ++i)
      for (const auto& n : g.out[i]) {
        matrix[i * g.size + n.node] = n.label;
        labels_ = std::max(labels_, static_cast<std::size_t>(n.label));
      }
  }

  void make_root() {
    Level& root = levels_[0];
    resize(root, n_, m_);
    const auto count = [&](const EditGraph& g, std::vector<std::int32_t>& edges) {
      std::fill(edges.begin(), edges.end(), 0);
      for (std::size_t i = 0; i < g.size; ++i) {
        for (const auto& e : g.out[i]) ++edges[i * width_ + kind_of(e.label)];
        for (const auto& e : g.in[i]) ++edges[i * width_ + kinds_ + kind_of(e.label)];
      }
    };
    count(p_.a, root.edges_row);
    count(p_.b, root.edges_column);
    for (std::size_t i = 0; i < n_; ++i) {
      root.row[i] = static_cast<std::uint32_t>(i);
      root.remove[i] = p_.costs.node_delete + p_.edge_cost(p_.a.loop[i], 0);
      root.stays[i] = 0;
      for (std::size_t j = 0; j < m_; ++j) {
        root.fixed[i * m_ + j] = p_.node_cost(i, j) + p_.edge_cost(p_.a.loop[i], p_.b.loop[j]);
        root.closed[i * m_ + j] = 0;
      }
      price_row(root, i);
    }
    for (std::size_t j = 0; j < m_; ++j) {
      root.column[j] = static_cast<std::uint32_t>(j);
      root.insert[j] = p_.costs.node_insert + p_.edge_cost(0, p_.b.loop[j]);
      price_column(root, j);
    }
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < m_; ++j) price_pair(root, i, j);
    double all = 1;
    for (const double c : root.remove_all) all += c;
    for (const double c : root.insert_all) all += c;
    never_ = 2 * all;
  }

  void resize(Level& level, std::size_t rows, std::size_t columns) const {
    if (level.fixed.empty()) {
      level.row.resize(n_);
      level.column.resize(m_);
      level.fixed.resize(n_ * m_);
      level.gain.resize(n_ * m_);
      level.closed.resize(n_ * m_);
      level.stays.resize(n_);
      for (auto* x : {&level.remove, &level.remove_all, &level.u}) x->resize(n_);
      for (auto* x : {&level.insert, &level.insert_all, &level.v}) x->resize(m_);
      level.edges_row.resize(n_ * width_);
      level.edges_column.resize(m_ * width_);
    }
    level.rows = rows;
    level.columns = columns;
  }

  std::size_t kind_of(std::int32_t label) const { return kinds_ == 1 ? 0 : static_cast<std::size_t>(label) - 1; }
  std::int32_t edge_a(std::size_t i, std::size_t q) const { return edges_a_[i * n_ + q]; }
  std::int32_t edge_b(std::size_t j, std::size_t q) const { return edges_b_[j * m_ + q]; }

  double multiset_cost(const std::int32_t* x, const std::int32_t* y) const {
    double cost = 0;
    for (std::size_t way = 0; way < width_; way += kinds_) {
      std::int32_t common = 0, all_x = 0, all_y = 0;
      for (std::size_t l = way; l < way + kinds_; ++l) {
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

  void price_row(Level& level, std::size_t x) const {
    level.remove_all[x] = level.remove[x] + 0.5 * multiset_cost(&level.edges_row[x * width_], none_.data());
  }
  void price_column(Level& level, std::size_t y) const {
    level.insert_all[y] = level.insert[y] + 0.5 * multiset_cost(none_.data(), &level.edges_column[y * width_]);
  }
  // Above 0 where a dear substitution makes both nodes left alone the cheaper choice.
  double pair_gain(const Level& level, std::size_t x, std::size_t y) const {
    return level.fixed[x * m_ + y] +
           0.5 * multiset_cost(&level.edges_row[x * width_], &level.edges_column[y * width_]) - level.remove_all[x] -
           level.insert_all[y];
  }
  void price_pair(Level& level, std::size_t x, std::size_t y) const {
    level.gain[x * m_ + y] = std::min(0.0, pair_gain(level, x, y));
  }

  // The level below `from` after the node of row x went to that of column y, or was deleted.
  void descend(const Level& from, Level& to, std::size_t x, std::int32_t y) {
    const bool deleted = y < 0;
    const std::size_t gone = deleted ? from.columns : static_cast<std::size_t>(y);
    const std::uint32_t q = from.row[x], image = deleted ? 0 : from.column[gone];
    resize(to, from.rows - 1, from.columns - (deleted ? 0 : 1));
    to.cost = from.cost + (deleted ? from.remove[x] : from.fixed[x * m_ + gone]);
    const auto without = [](const auto* source, auto* target, std::size_t count, std::size_t skip, std::size_t width) {
      std::copy(source, source + skip * width, target);
      if (skip < count) std::copy(source + (skip + 1) * width, source + count * width, target + skip * width);
    };
    for (std::size_t r = 0; r < from.rows; ++r) {
      if (r == x) continue;
      const std::size_t s = r - (r > x), source = r * m_, target = s * m_;
      without(&from.fixed[source], &to.fixed[target], from.columns, gone, 1);
      without(&from.gain[source], &to.gain[target], from.columns, gone, 1);
      without(&from.closed[source], &to.closed[target], from.columns, gone, 1);
    }
    without(from.row.data(), to.row.data(), from.rows, x, 1);
    without(from.stays.data(), to.stays.data(), from.rows, x, 1);
    without(from.remove.data(), to.remove.data(), from.rows, x, 1);
    without(from.remove_all.data(), to.remove_all.data(), from.rows, x, 1);
    without(from.edges_row.data(), to.edges_row.data(), from.rows, x, width_);
    without(from.column.data(), to.column.data(), from.columns, gone, 1);
    without(from.insert.data(), to.insert.data(), from.columns, gone, 1);
    without(from.insert_all.data(), to.insert_all.data(), from.columns, gone, 1);
    without(from.edges_column.data(), to.edges_column.data(), from.columns, gone, width_);

    // Edges to q and to its image are now between a mapped node and an open one.
    dirty_rows_.clear();
    dirty_columns_.clear();
    for (std::size_t r = 0; r < to.rows; ++r) {
      const std::int32_t out = edge_a(to.row[r], q), in = p_.directed ? edge_a(q, to.row[r]) : 0;
      if (!out && !in) continue;
      dirty_rows_.push_back(r);
      if (out) --to.edges_row[r * width_ + kind_of(out)];
      if (in) --to.edges_row[r * width_ + kinds_ + kind_of(in)];
      to.remove[r] += p_.edge_cost(out, 0) + p_.edge_cost(in, 0);
      price_row(to, r);
      if (deleted)
        for (std::size_t c = 0; c < to.columns; ++c) to.fixed[r * m_ + c] += p_.edge_cost(out, 0) + p_.edge_cost(in, 0);
    }
    clean_.assign(to.columns, 1);
    for (std::size_t c = 0; c < to.columns && !deleted; ++c) {
      const std::int32_t out = edge_b(to.column[c], image), in = p_.directed ? edge_b(image, to.column[c]) : 0;
      if (!out && !in) continue;
      dirty_columns_.push_back(c);
      clean_[c] = 0;
      if (out) --to.edges_column[c * width_ + kind_of(out)];
      if (in) --to.edges_column[c * width_ + kinds_ + kind_of(in)];
      to.insert[c] += p_.edge_cost(0, out) + p_.edge_cost(0, in);
      price_column(to, c);
      for (std::size_t r = 0; r < to.rows; ++r) {
        to.fixed[r * m_ + c] += p_.edge_cost(edge_a(to.row[r], q), out);
        if (p_.directed) to.fixed[r * m_ + c] += p_.edge_cost(edge_a(q, to.row[r]), in);
        if (!to.closed[r * m_ + c]) price_pair(to, r, c);
      }
    }
    for (const std::size_t r : dirty_rows_) {
      if (!deleted) {
        const double gone_edges =
            p_.edge_cost(edge_a(to.row[r], q), 0) + (p_.directed ? p_.edge_cost(edge_a(q, to.row[r]), 0) : 0.0);
        for (std::size_t c = 0; c < to.columns; ++c)
          if (clean_[c]) to.fixed[r * m_ + c] += gone_edges;
      }
      for (std::size_t c = 0; c < to.columns; ++c)
        if (clean_[c] && !to.closed[r * m_ + c]) price_pair(to, r, c);
    }
  }

  // Lower bound of all completions; tries the assignment's own mapping.
  double solve(Level& level) {
    double total = level.cost;
    for (std::size_t x = 0; x < level.rows; ++x) total += level.remove_all[x];
    for (std::size_t y = 0; y < level.columns; ++y) total += level.insert_all[y];
    if (level.rows > 0) total += solver_.solve(level.gain.data(), level.rows, level.columns, m_);
    level.total = total;
    if (total >= limit()) return rounded(total);
    candidate_ = mapping_;
    for (std::size_t x = 0; x < level.rows; ++x) {
      const auto y = static_cast<std::size_t>(solver_.column_of()[x]);
      const bool alone = level.closed[x * m_ + y] || pair_gain(level, x, y) > kSlack;
      candidate_[level.row[x]] = alone ? -1 : static_cast<std::int32_t>(level.column[y]);
    }
    const double cost = p_.mapping_cost(candidate_);
    if (cost < best_.upper - kSlack) {
      best_.upper = cost;
      best_.mapping = candidate_;
    }
    return rounded(total);
  }
  double rounded(double bound) const {
    return p_.grain > 0 ? std::ceil((bound - kSlack) / p_.grain) * p_.grain : bound;
  }
  // Bounds from here on hold nothing better than the best known.
  double limit() const { return best_.upper - kSlack - (p_.grain > 0 ? p_.grain - 2 * kSlack : 0); }

  bool out_of_budget() {
    if (!stopped_ && (best_.searched >= options_.max_nodes || (best_.searched % 64 == 0 && seconds_now() > stop_at_)))
      stopped_ = true;
    return stopped_;
  }

  // By how much the assignment's cost grows at least when a pair is forced, for all pairs at once: its own reduced
  // cost, and the cheapest chain of moves by which the rest gets along without its column (and with the one it frees).
  // chains_[r][s]: row r leaves its column and the one of row s becomes free; the last place stands for the columns
  // without a row. All pairs of shortest paths, by Floyd and Warshall.
  void find_chains(const Level& level) {
    const std::size_t rows = level.rows, size = rows + 1;
    const auto& column_of = solver_.column_of();
    chains_.assign(size * size, kInfinity);
    owner_.assign(level.columns, rows);
    for (std::size_t r = 0; r < rows; ++r) owner_[static_cast<std::size_t>(column_of[r])] = r;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t y = 0; y < level.columns; ++y) {
        double& chain = chains_[r * size + owner_[y]];
        chain = std::min(chain, level.gain[r * m_ + y] - level.u[r] - level.v[y]);
      }
    for (std::size_t r = 0; r < rows; ++r) chains_[rows * size + r] = -level.v[static_cast<std::size_t>(column_of[r])];
    chains_[rows * size + rows] = 0;
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t r = 0; r < size; ++r) {
        const double first = chains_[r * size + k];
        const double* second = &chains_[k * size];
        double* chain = &chains_[r * size];
        for (std::size_t s = 0; s < size; ++s) chain[s] = std::min(chain[s], first + second[s]);
      }
  }

  // Closes what is too dear; the row with the fewest open ways, the dearest of equals.
  std::size_t close_and_choose(Level& level) {
    find_chains(level);
    const double room = limit() - level.total;
    const std::size_t size = level.rows + 1;
    std::size_t best = 0, fewest = std::numeric_limits<std::size_t>::max();
    double dearest = 0;
    for (std::size_t x = 0; x < level.rows; ++x) {
      const double alone = chains_[level.rows * size + x] - level.u[x];
      if (!level.stays[x] && alone >= room) {
        level.stays[x] = 1;
        for (std::size_t y = 0; y < level.columns; ++y)
          if (level.closed[x * m_ + y]) level.gain[x * m_ + y] = never_;
      }
      std::size_t open = level.stays[x] ? 0 : 1;
      double sum = level.stays[x] ? room : alone;
      for (std::size_t y = 0; y < level.columns; ++y) {
        if (level.closed[x * m_ + y]) continue;
        const double more = level.gain[x * m_ + y] - level.u[x] - level.v[y] + chains_[owner_[y] * size + x];
        if (more >= room) {
          level.closed[x * m_ + y] = 1;
          level.gain[x * m_ + y] = level.stays[x] ? never_ : 0;
        } else {
          ++open;
          sum += more;
        }
      }
      if (open < fewest || (open == fewest && sum > dearest)) best = x, fewest = open, dearest = sum;
    }
    return best;
  }

  // All ways of one row, the most promising first. solve(levels_[depth]) was the last call of solve.
  void visit(std::size_t depth) {
    Level& level = levels_[depth];
    if (level.rows == 0) return;  // the bound was exact and its mapping is recorded
    std::copy(solver_.u().begin(), solver_.u().end(), level.u.begin());
    std::copy(solver_.v().begin(), solver_.v().end(), level.v.begin());
    const std::size_t x = close_and_choose(level);
    std::vector<Child> children;
    for (std::size_t y = 0; y < level.columns; ++y)
      if (!level.closed[x * m_ + y])
        children.push_back({static_cast<std::int32_t>(y), kInfinity, level.gain[x * m_ + y] - level.v[y]});
    if (!level.stays[x]) children.push_back({-1, kInfinity, 0});
    Level& below = levels_[depth + 1];
    const auto enter = [&](std::int32_t y) {
      mapping_[level.row[x]] = y < 0 ? -1 : static_cast<std::int32_t>(level.column[static_cast<std::size_t>(y)]);
      descend(level, below, x, y);
    };
    for (Child& child : children) {
      if (out_of_budget()) {
        open_ = std::min(open_, rounded(level.total));  // unjudged: only the bound of all is sure
        continue;
      }
      ++best_.searched;
      enter(child.column);
      child.bound = solve(below);
    }
    std::stable_sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.slack < b.slack;
    });
    for (const Child& child : children) {
      if (child.bound >= best_.upper - kSlack) continue;  // also those that were not judged
      if (stopped_) {
        open_ = std::min(open_, child.bound);
        continue;
      }
      if (children.size() > 1) {  // else it is the state at hand
        enter(child.column);
        solve(below);
      }
      visit(depth + 1);
    }
    mapping_[level.row[x]] = -1;
  }

  const EditProblem& p_;
  std::size_t n_, m_, labels_ = 0, kinds_ = 1, width_ = 1;
  EditSearchResult& best_;
  const EditDistanceOptions& options_;
  double stop_at_, open_ = kInfinity;  // open_: least bound of what the budget left unsearched
  double never_ = 0;                   // more than any mapping gains or costs
  bool stopped_ = false;
  std::vector<std::int32_t> edges_a_, edges_b_;  // [n][n] and [m][m], 0 = none
  std::vector<Level> levels_;
  std::vector<std::int32_t> mapping_, none_;
  AssignmentSolver solver_;
  std::vector<std::int32_t> candidate_;
  std::vector<std::size_t> dirty_rows_, dirty_columns_;
  std::vector<char> clean_;
  std::vector<double> chains_;
  std::vector<std::size_t> owner_;
};

}  // namespace

EditSearchResult edit_search(const EditProblem& problem, std::vector<std::int32_t> mapping, double upper, double lower,
                             const EditDistanceOptions& options) {
  EditSearchResult result{std::move(mapping), upper, lower, 0};
  if (lower >= upper - kSlack) return result;
  if (problem.a.size <= problem.b.size) {
    Search(problem, result, options).run();
    return result;
  }
  const EditProblem other = problem.turned();
  result.mapping = turned(result.mapping, problem.b.size);
  Search(other, result, options).run();
  result.mapping = turned(result.mapping, problem.a.size);
  return result;
}

}  // namespace espalier
