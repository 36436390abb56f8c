// Bounds for whole graphs: by an assignment problem, or by counting and a greedy mapping; and exchanges that improve a
// mapping.
#include <map>

#include "graph/assignment.hpp"
#include "graph/edit_problem.hpp"

namespace espalier {
namespace {

// The labels of a node's edges, ascending, and how many of each there are: a dense graph has few kinds of many edges.
struct LabelCount {
  std::int32_t label;
  std::uint32_t count;
};
using LabelCounts = std::vector<LabelCount>;

std::vector<LabelCounts> label_counts(const std::vector<std::vector<EditGraph::Neighbour>>& lists) {
  std::vector<LabelCounts> counts(lists.size());
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    labels.clear();
    for (const auto& n : lists[i]) labels.push_back(n.label);
    std::sort(labels.begin(), labels.end());
    for (const std::int32_t label : labels) {
      if (counts[i].empty() || counts[i].back().label != label) counts[i].push_back({label, 0});
      ++counts[i].back().count;
    }
  }
  return counts;
}

// EditProblem::multiset_cost of edges, to the bit.
double counts_cost(const EditProblem& p, const LabelCounts& x, const LabelCounts& y) {
  std::size_t common = 0, all_x = 0, all_y = 0;
  for (const LabelCount& l : x) all_x += l.count;
  for (const LabelCount& l : y) all_y += l.count;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].label == y[j].label)
      common += std::min(x[i++].count, y[j++].count);
    else if (x[i].label < y[j].label)
      ++i;
    else
      ++j;
  }
  return p.multiset_cost(all_x, all_y, common);
}

std::size_t total_size(const std::vector<LabelCounts>& counts) {
  std::size_t size = 0;
  for (const LabelCounts& c : counts) size += c.size();
  return size;
}

// A mapping that grows along edges: a node's neighbours go to its image's, those that look most alike first.
class GreedyMapping {
 public:
  GreedyMapping(const EditProblem& problem, std::vector<std::int32_t>& mapping)
      : p_(problem), mapping_(mapping), used_(problem.b.size), look_a_(looks(p_.a)), look_b_(looks(p_.b)) {
    mapping_.assign(p_.a.size, -1);
  }

  void run() {
    // Seeds: nodes of the same look, then of the same label, then any that are left.
    pair_equal(look_a_, look_b_);
    pair_equal(p_.a.labels, p_.b.labels);
    const std::vector<std::int32_t> same_a(p_.a.size), same_b(p_.b.size);
    pair_equal(same_a, same_b);
  }

 private:
  static constexpr std::size_t kMaxNeighbours = 64;  // so that two hubs are not compared neighbour by neighbour

  // A node's label and its edges' labels as one number, the same for both graphs; unlike nodes may share one.
  static std::vector<std::int32_t> looks(const EditGraph& g) {
    std::vector<std::int32_t> result(g.size);
    for (std::size_t i = 0; i < g.size; ++i) {
      std::uint32_t sum = 0;  // whatever the order of the edges
      for (const auto& e : g.out[i]) sum += mixed(2 * static_cast<std::uint32_t>(e.label));
      for (const auto& e : g.in[i]) sum += mixed(2 * static_cast<std::uint32_t>(e.label) + 1);
      sum += mixed(static_cast<std::uint32_t>(g.labels[i]) ^ mixed(static_cast<std::uint32_t>(g.loop[i])));
      result[i] = static_cast<std::int32_t>(sum & 0x7fffffff);
    }
    return result;
  }
  static std::uint32_t mixed(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    x = (x ^ (x >> 16)) * 0x45d9f3bu;
    return x ^ (x >> 16);
  }

  // Free nodes with equal keys, rare keys first.
  void pair_equal(const std::vector<std::int32_t>& keys_a, const std::vector<std::int32_t>& keys_b) {
    std::map<std::int32_t, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> classes;
    for (std::uint32_t i = 0; i < keys_a.size(); ++i)
      if (mapping_[i] < 0) classes[keys_a[i]].first.push_back(i);
    for (std::uint32_t j = 0; j < keys_b.size(); ++j)
      if (!used_[j]) classes[keys_b[j]].second.push_back(j);
    std::vector<const std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>*> order;
    for (const auto& [key, members] : classes)
      if (!members.first.empty() && !members.second.empty()) order.push_back(&members);
    std::stable_sort(order.begin(), order.end(), [](const auto* x, const auto* y) {
      return x->first.size() + x->second.size() < y->first.size() + y->second.size();
    });
    for (const auto* members : order) {
      auto j = members->second.begin();
      for (const std::uint32_t i : members->first) {
        if (mapping_[i] >= 0) continue;
        while (j != members->second.end() && used_[*j]) ++j;
        if (j == members->second.end()) break;
        take(i, *j);
        grow();
      }
    }
  }

  void take(std::uint32_t i, std::uint32_t j) {
    mapping_[i] = static_cast<std::int32_t>(j);
    used_[j] = 1;
    queue_.push_back(i);
  }

  void grow() {
    for (; next_ < queue_.size(); ++next_) {
      const std::uint32_t i = queue_[next_];
      const auto j = static_cast<std::size_t>(mapping_[i]);
      grow_along(p_.a.out[i], p_.b.out[j]);
      grow_along(p_.a.in[i], p_.b.in[j]);
    }
  }
  void grow_along(const std::vector<EditGraph::Neighbour>& from, const std::vector<EditGraph::Neighbour>& to) {
    for (std::size_t x = 0; x < std::min(from.size(), kMaxNeighbours); ++x) {
      if (mapping_[from[x].node] >= 0) continue;
      int best = 0;
      std::uint32_t image = 0;
      for (std::size_t y = 0; y < std::min(to.size(), kMaxNeighbours); ++y) {
        if (used_[to[y].node]) continue;
        const int alike = 1 + (from[x].label == to[y].label) +
                          2 * (p_.a.labels[from[x].node] == p_.b.labels[to[y].node]) +
                          (look_a_[from[x].node] == look_b_[to[y].node]);
        if (alike > best) best = alike, image = to[y].node;
      }
      if (best > 0) take(from[x].node, image);
    }
  }

  const EditProblem& p_;
  std::vector<std::int32_t>& mapping_;
  std::vector<char> used_;
  std::vector<std::int32_t> look_a_, look_b_;
  std::vector<std::uint32_t> queue_;
  std::size_t next_ = 0;
};

// All edges' labels, sorted; those of loops apart, because a loop stays a loop.
std::vector<std::int32_t> edge_labels(const EditProblem& p, const EditGraph& g) {
  std::vector<std::int32_t> labels;
  for (std::uint32_t i = 0; i < g.size; ++i)
    for (const auto& e : g.out[i])
      if (p.directed || i < e.node) labels.push_back(e.label);
  std::sort(labels.begin(), labels.end());
  return labels;
}
std::vector<std::int32_t> loop_labels(const EditGraph& g) {
  std::vector<std::int32_t> labels;
  for (const std::int32_t label : g.loop)
    if (label) labels.push_back(label);
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

double quick_bound(const EditProblem& p, std::vector<std::int32_t>& mapping) {
  GreedyMapping(p, mapping).run();
  std::vector<std::int32_t> a = p.a.labels, b = p.b.labels;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double substitute = std::min(p.costs.node_substitute, p.costs.node_insert + p.costs.node_delete);
  return p.multiset_cost(a, b, substitute, p.costs.node_delete, p.costs.node_insert) +
         p.multiset_cost(edge_labels(p, p.a), edge_labels(p, p.b)) +
         p.multiset_cost(loop_labels(p.a), loop_labels(p.b));
}

std::optional<double> assignment_bound(const EditProblem& p, std::size_t max_work, std::vector<std::int32_t>& mapping) {
  const std::size_t n = p.a.size, m = p.b.size;
  if (n > 0 && m > max_work / n) return std::nullopt;
  if (n > m) {
    const std::optional<double> bound = assignment_bound(p.turned(), max_work, mapping);
    if (bound) mapping = turned(mapping, n);
    return bound;
  }
  const auto out_a = label_counts(p.a.out), out_b = label_counts(p.b.out);
  const auto in_a = label_counts(p.a.in), in_b = label_counts(p.b.in);
  // Every pair looks at the labels of both its nodes. A few labels a node are as much work as the pair itself.
  constexpr std::size_t kFreeLabels = 16;
  const std::size_t labels_a = total_size(out_a) + total_size(in_a), labels_b = total_size(out_b) + total_size(in_b);
  if ((m * labels_a + n * labels_b) / kFreeLabels > max_work) return std::nullopt;
  const LabelCounts none;
  // Edges are seen from both ends, so each end carries half. Both nodes of a pair may be left alone: no gain, no loss.
  std::vector<double> remove(n), insert(m), gain(n * m);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i)
    total += remove[i] = p.costs.node_delete + p.edge_cost(p.a.loop[i], 0) +
                         0.5 * (counts_cost(p, out_a[i], none) + counts_cost(p, in_a[i], none));
  for (std::size_t j = 0; j < m; ++j)
    total += insert[j] = p.costs.node_insert + p.edge_cost(0, p.b.loop[j]) +
                         0.5 * (counts_cost(p, none, out_b[j]) + counts_cost(p, none, in_b[j]));
  const auto pair_gain = [&](std::size_t i, std::size_t j) {
    return p.node_cost(i, j) + p.edge_cost(p.a.loop[i], p.b.loop[j]) +
           0.5 * (counts_cost(p, out_a[i], out_b[j]) + counts_cost(p, in_a[i], in_b[j])) - remove[i] - insert[j];
  };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) gain[i * m + j] = std::min(0.0, pair_gain(i, j));
  AssignmentSolver solver;
  if (n > 0) total += solver.solve(gain.data(), n, m, m);
  mapping = solver.column_of();
  for (std::size_t i = 0; i < n; ++i)
    if (pair_gain(i, static_cast<std::size_t>(mapping[i])) > 1e-9) mapping[i] = -1;
  return total;
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
