// The public face of the edit distance: reports, lists of edits, costs from text; and the Weisfeiler-Lehman similarity.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "graph/edit_problem.hpp"

namespace espalier {
namespace {

constexpr double kSlack = 1e-9;

// Every edit of a mapping, in words.
std::vector<GraphEdit> edits_of(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs,
                                const std::vector<std::int32_t>& mapping) {
  std::vector<GraphEdit> edits;
  std::vector<std::int32_t> back(b.labels.size(), -1);
  const auto text = [](const std::vector<std::string>& labels, std::int32_t i) {
    return labels[static_cast<std::size_t>(i)];
  };
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(a.labels.size()); ++i) {
    const std::int32_t j = mapping[static_cast<std::size_t>(i)];
    if (j < 0) {
      edits.push_back({EditKind::kDeleteNode, i, -1, -1, -1, text(a.labels, i), {}, costs.node_delete});
      continue;
    }
    back[static_cast<std::size_t>(j)] = i;
    if (text(a.labels, i) == text(b.labels, j)) continue;
    edits.push_back(
        {EditKind::kSubstituteNode, i, -1, j, -1, text(a.labels, i), text(b.labels, j), costs.node_substitute});
  }
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(b.labels.size()); ++j)
    if (back[static_cast<std::size_t>(j)] < 0)
      edits.push_back({EditKind::kInsertNode, -1, -1, j, -1, {}, text(b.labels, j), costs.node_insert});

  struct Candidate {
    std::pair<std::int32_t, std::int32_t> ends;
    const LabelledEdge* edge;  // null once it is used
  };
  const auto key = [&](std::int32_t x, std::int32_t y) {
    return a.directed || x <= y ? std::pair(x, y) : std::pair(y, x);
  };
  const auto node = [](std::uint32_t v) { return static_cast<std::int32_t>(v); };
  std::vector<Candidate> edges_b;  // by their ends
  for (const LabelledEdge& e : b.edges) edges_b.push_back({key(node(e.from), node(e.to)), &e});
  std::ranges::sort(edges_b, {}, &Candidate::ends);
  const auto find = [&](std::int32_t x, std::int32_t y) -> Candidate* {
    const auto found = std::ranges::lower_bound(edges_b, key(x, y), {}, &Candidate::ends);
    return found != edges_b.end() && found->ends == key(x, y) ? &*found : nullptr;
  };
  const auto remove_edge = [&](const LabelledEdge& e) {
    edits.push_back({EditKind::kDeleteEdge, node(e.from), node(e.to), -1, -1, e.label, {}, costs.edge_delete});
  };
  const auto insert_edge = [&](const LabelledEdge& e) {
    const std::int32_t from = node(e.from), to = node(e.to);
    edits.push_back({EditKind::kInsertEdge, back[e.from], back[e.to], from, to, {}, e.label, costs.edge_insert});
  };
  for (const LabelledEdge& e : a.edges) {
    const std::int32_t x = mapping[e.from], y = mapping[e.to];
    Candidate* found = x < 0 || y < 0 ? nullptr : find(x, y);
    if (!found) {
      remove_edge(e);
      continue;
    }
    const LabelledEdge& other = *std::exchange(found->edge, nullptr);
    if (e.label != other.label) {
      if (costs.edge_substitute <= costs.edge_insert + costs.edge_delete) {
        edits.push_back(
            {EditKind::kSubstituteEdge, node(e.from), node(e.to), x, y, e.label, other.label, costs.edge_substitute});
      } else {
        remove_edge(e);
        insert_edge(other);
      }
    }
  }
  for (const Candidate& c : edges_b)
    if (c.edge) insert_edge(*c.edge);
  for (GraphEdit& edit : edits) edit.directed = a.directed;
  return edits;
}

EditDistanceReport make_report(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs,
                               EditSearchResult found) {
  EditDistanceReport r;
  r.distance = r.upper = found.upper;
  r.lower = std::min(found.lower, found.upper);
  r.exact = r.lower >= r.upper - kSlack;
  if (r.exact) r.lower = r.upper;
  r.searched = found.searched;
  r.edits = edits_of(a, b, costs, found.mapping);
  r.mapping = std::move(found.mapping);
  return r;
}

// The assignment problem where it is no more work than so many pairs of nodes; else what can be had in about linear
// time.
EditSearchResult bounds_of(const EditProblem& p, std::size_t max_work) {
  EditSearchResult r;
  const std::optional<double> assigned = assignment_bound(p, max_work, r.mapping);
  r.lower = assigned ? *assigned : quick_bound(p, r.mapping);
  if (p.grain > 0) r.lower = std::ceil((r.lower - kSlack) / p.grain) * p.grain;
  r.upper = improve_mapping(p, r.mapping, p.mapping_cost(r.mapping));
  return r;
}

}  // namespace

EditDistanceReport edit_bounds(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& costs) {
  const EditProblem p(a, b, costs);
  constexpr std::size_t kMaxPairs = 25'000'000;  // beyond, an assignment would take minutes
  return make_report(a, b, costs, bounds_of(p, kMaxPairs));
}

EditDistanceReport edit_distance(const LabelledGraph& a, const LabelledGraph& b, const EditDistanceOptions& options) {
  if (!(options.max_seconds >= 0))
    fail("edit distance", fmt::format("a budget of {} seconds", options.max_seconds), "0 or more");
  const EditProblem p(a, b, options.costs);
  constexpr std::size_t kMaxPairs = 512 * 512;  // an assignment of some milliseconds, whatever the budget
  EditSearchResult found = bounds_of(p, kMaxPairs);
  if (options.max_nodes > 0 && std::max(p.a.size, p.b.size) <= kMaxSearchNodes)
    found = edit_search(p, std::move(found.mapping), found.upper, found.lower, options);
  return make_report(a, b, options.costs, std::move(found));
}

std::vector<EditDistanceReport> edit_distances(std::span<const GraphPair> pairs, const EditDistanceOptions& options,
                                               const ThreadPool& pool) {
  for (const GraphPair& p : pairs)
    if (!p.first || !p.second) fail("edit distances", "a pair without a graph", "two graphs in every pair");
  std::vector<EditDistanceReport> reports(pairs.size());
  pool.for_chunks(pairs.size(), 1, 1e5, [&](Chunk c) {
    reports[c.index] = edit_distance(*pairs[c.index].first, *pairs[c.index].second, options);
  });
  return reports;
}

std::string to_text(const GraphEdit& e) {
  const auto edge = [&](std::int32_t x, std::int32_t y, const char* prime) {
    return fmt::format("{}{} {} {}{}", x, prime, e.directed ? "->" : "-", y, prime);
  };
  switch (e.kind) {
    case EditKind::kInsertNode: return fmt::format("insert node {}' \"{}\"", e.second, e.after);
    case EditKind::kDeleteNode: return fmt::format("delete node {} \"{}\"", e.first, e.before);
    case EditKind::kSubstituteNode:
      return fmt::format("relabel node {} \"{}\" as \"{}\" ({}')", e.first, e.before, e.after, e.second);
    case EditKind::kInsertEdge: return fmt::format("insert edge {} \"{}\"", edge(e.second, e.second_to, "'"), e.after);
    case EditKind::kDeleteEdge: return fmt::format("delete edge {} \"{}\"", edge(e.first, e.first_to, ""), e.before);
    case EditKind::kSubstituteEdge:
      return fmt::format("relabel edge {} \"{}\" as \"{}\"", edge(e.first, e.first_to, ""), e.before, e.after);
  }
  return {};
}

EditCosts edit_costs_from(std::string_view text) {
  EditCosts costs;
  const std::map<std::string_view, double*> names{
      {"node-insert", &costs.node_insert},         {"node-delete", &costs.node_delete},
      {"node-substitute", &costs.node_substitute}, {"edge-insert", &costs.edge_insert},
      {"edge-delete", &costs.edge_delete},         {"edge-substitute", &costs.edge_substitute}};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    const auto found = names.find(word.substr(0, equals));
    double value = -1;
    const std::string_view digits = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (found == names.end() || error != std::errc() || end != digits.data() + digits.size() ||
        !(value >= 0 && value < 1e12))
      fail("edit costs", fmt::format("\"{}\"", word), "NAME=NUMBER with a number from 0",
           "names: node-insert, node-delete, node-substitute, edge-insert, edge-delete, edge-substitute");
    *found->second = value;
  }
  return costs;
}

namespace {

using Colours = std::vector<std::uint32_t>;

// One number per different look, the same for both graphs.
template <class Look>
class Palette {
 public:
  std::uint32_t colour(const Look& look) {
    return numbers_.emplace(look, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Look, std::uint32_t> numbers_;
};
using NodePalette = Palette<std::vector<std::uint64_t>>;

// The number of every edge's label.
Colours edge_colours(const LabelledGraph& g, Palette<std::string>& palette) {
  Colours colours;
  for (const LabelledEdge& e : g.edges) colours.push_back(palette.colour(e.label));
  return colours;
}

// A node's new colour: its own, then what it sees along its edges (way, label, colour there), sorted.
Colours refine(const LabelledGraph& g, const Colours& edges, const Colours& before, NodePalette& palette) {
  std::vector<std::vector<std::uint64_t>> seen(before.size());
  const auto sight = [&](bool against, std::size_t e, std::uint32_t there) {
    return std::uint64_t{against} << 63 | std::uint64_t{edges[e]} << 32 | before[there];
  };
  for (std::size_t e = 0; e < g.edges.size(); ++e) {
    const auto& [from, to, label] = g.edges[e];
    seen[from].push_back(sight(false, e, to));
    seen[to].push_back(sight(g.directed, e, from));
  }
  Colours after;
  for (std::size_t v = 0; v < before.size(); ++v) {
    std::sort(seen[v].begin(), seen[v].end());
    seen[v].push_back(before[v]);
    after.push_back(palette.colour(seen[v]));
  }
  return after;
}

double multiset_jaccard(Colours a, Colours b) {
  if (a.empty() && b.empty()) return 1;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Colours common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size() - common.size());
}

}  // namespace

double wl_similarity(const LabelledGraph& a, const LabelledGraph& b, int rounds) {
  if (rounds < 0) fail("wl similarity", fmt::format("{} rounds", rounds), "0 or more");
  a.check();
  b.check();
  Palette<std::string> labels, edge_labels;
  Colours x, y;
  for (const std::string& l : a.labels) x.push_back(labels.colour(l));
  for (const std::string& l : b.labels) y.push_back(labels.colour(l));
  const Colours edges_a = edge_colours(a, edge_labels), edges_b = edge_colours(b, edge_labels);
  double sum = 0, weights = 0;
  for (int i = 0; i <= rounds; ++i) {
    const double weight = 1.0 / (1 + i);
    sum += weight * multiset_jaccard(x, y);
    weights += weight;
    if (i == rounds) break;
    NodePalette palette;
    x = refine(a, edges_a, x, palette);
    y = refine(b, edges_b, y, palette);
  }
  return sum / weights;
}

}  // namespace espalier
