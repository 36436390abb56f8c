// The edit distance against its definition: Dijkstra over whole graphs, one edit at a time. Nothing here knows of
// mappings. A node must have lost all its edges before it is deleted.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "espalier/graph.hpp"
#include "espalier/random.hpp"
#include "graph/edit_reference.hpp"

namespace espalier {
namespace {

// Graphs of up to `places` nodes as numbers, two bits for every node (0: none) and every possible edge.
struct World {
  std::size_t places;
  bool directed, loops;
  unsigned node_labels, edge_labels;  // at most 3

  using State = std::uint64_t;
  static unsigned get(State s, std::size_t slot) { return static_cast<unsigned>(s >> (2 * slot) & 3); }
  static State set(State s, std::size_t slot, unsigned value) {
    return (s & ~(State{3} << (2 * slot))) | State{value} << (2 * slot);
  }
  std::size_t edge(std::size_t i, std::size_t j) const {
    return directed || i <= j ? places + i * places + j : places + j * places + i;
  }
  bool possible(std::size_t i, std::size_t j) const { return (i != j || loops) && (directed || i <= j); }

  State state(const LabelledGraph& g, const std::vector<std::size_t>& place) const {
    State s = 0;
    for (std::size_t i = 0; i < g.labels.size(); ++i) s = set(s, place[i], static_cast<unsigned>(g.labels[i][0] - '@'));
    for (const LabelledEdge& e : g.edges)
      s = set(s, edge(place[e.from], place[e.to]), static_cast<unsigned>(e.label[0] - '`'));
    return s;
  }

  template <class Visit>  // visit(state, cost) for every graph one edit away
  void edits(State s, const EditCosts& c, const Visit& visit) const {
    bool inserted = false;
    for (std::size_t i = 0; i < places; ++i) {
      const unsigned label = get(s, i);
      if (label == 0 && inserted) continue;  // the first free place is as good as any
      for (unsigned other = 1; other <= node_labels; ++other)
        if (other != label) visit(set(s, i, other), label == 0 ? c.node_insert : c.node_substitute);
      inserted = inserted || label == 0;
      bool bare = label != 0;
      for (std::size_t j = 0; j < places && bare; ++j) bare = get(s, edge(i, j)) == 0 && get(s, edge(j, i)) == 0;
      if (bare) visit(set(s, i, 0), c.node_delete);
    }
    for (std::size_t i = 0; i < places; ++i)
      for (std::size_t j = 0; j < places; ++j) {
        if (!possible(i, j) || get(s, i) == 0 || get(s, j) == 0) continue;
        const unsigned label = get(s, edge(i, j));
        for (unsigned other = 0; other <= edge_labels; ++other)
          if (other != label)
            visit(set(s, edge(i, j), other), label == 0   ? c.edge_insert
                                             : other == 0 ? c.edge_delete
                                                          : c.edge_substitute);
      }
  }

  using Distances = std::unordered_map<State, double>;
  Distances from(State start, const EditCosts& costs) const {
    Distances distances{{start, 0.0}};
    std::priority_queue<std::pair<double, State>, std::vector<std::pair<double, State>>, std::greater<>> open;
    open.push({0, start});
    while (!open.empty()) {
      const auto [cost, s] = open.top();
      open.pop();
      if (cost > distances.at(s)) continue;
      edits(s, costs, [&](State next, double more) {
        const auto [at, fresh] = distances.emplace(next, cost + more);
        if (!fresh && at->second <= cost + more) return;
        at->second = cost + more;
        open.push({cost + more, next});
      });
    }
    return distances;
  }

  // To the graph wherever its nodes are put.
  double to(const Distances& distances, const LabelledGraph& g) const {
    std::vector<std::size_t> place(places);
    std::iota(place.begin(), place.end(), 0u);
    double best = 1e300;
    do {
      const auto found = distances.find(state(g, place));
      if (found != distances.end()) best = std::min(best, found->second);
    } while (std::ranges::next_permutation(place).found);
    return best;
  }

  LabelledGraph random(const Random& random, std::uint64_t& draw) const {
    LabelledGraph g{.directed = directed};
    for (std::size_t n = random.choice(draw++, places + 1); n > 0; --n)
      g.labels.push_back(std::string(1, static_cast<char>('A' + random.choice(draw++, node_labels))));
    for (std::uint32_t i = 0; i < g.labels.size(); ++i)
      for (std::uint32_t j = 0; j < g.labels.size(); ++j)
        if (possible(i, j) && random.choice(draw++, 2) == 0)
          g.edges.push_back({i, j, std::string(1, static_cast<char>('a' + random.choice(draw++, edge_labels)))});
    return g;
  }
};

EditCosts random_costs(const Random& random, std::uint64_t& draw) {
  EditCosts costs;
  for (double* c : {&costs.node_insert, &costs.node_delete, &costs.node_substitute, &costs.edge_insert,
                    &costs.edge_delete, &costs.edge_substitute}) {
    constexpr double kCosts[] = {0, 0, 0.5, 1, 1, 2, 5};
    const std::uint64_t which = random.choice(draw++, 9);
    *c = which < 7 ? kCosts[which] : 3 * static_cast<double>(random.uniform(draw++));
  }
  return costs;
}

TEST(EditPath, TheDistanceIsTheCheapestSequenceOfEditsForAnyCosts) {
  const World worlds[] = {{3, false, true, 2, 2},
                          {3, true, false, 2, 2},
                          {3, true, true, 2, 1},
                          {4, false, false, 2, 2},
                          {4, false, false, 3, 1}};
  std::size_t dear = 0, pairs = 0;
  for (std::uint64_t round = 0; round < 100; ++round) {
    const Random random(round, Purpose::kData);
    std::uint64_t draw = 0;
    const World& world = worlds[round % std::size(worlds)];
    const EditCosts costs = round < 5 ? EditCosts{.node_substitute = 5} : random_costs(random, draw);
    const LabelledGraph a = world.random(random, draw);
    std::vector<std::size_t> place(world.places);
    std::iota(place.begin(), place.end(), 0u);
    const World::Distances distances = world.from(world.state(a, place), costs);
    for (int k = 0; k < 25; ++k) {
      const LabelledGraph b = world.random(random, draw);
      const double expected = world.to(distances, b);
      const EditDistanceReport r = edit_distance(a, b, {.costs = costs});
      ASSERT_TRUE(r.exact);
      ASSERT_NEAR(r.distance, expected, 1e-9) << "round " << round << ", graph " << k;
      double sum = 0;
      for (const GraphEdit& e : r.edits) sum += e.cost;
      ASSERT_NEAR(sum, expected, 1e-9) << round;
      const EditDistanceReport bounds = edit_bounds(a, b, costs);
      ASSERT_LE(bounds.lower, expected + 1e-9) << round;
      ASSERT_GE(bounds.upper, expected - 1e-9) << round;
      ASSERT_NEAR(reference::EditSearch(EditProblem(a, b, costs)).run(r.distance + 0.5), expected, 1e-9) << round;
      dear += costs.node_substitute > costs.node_insert + costs.node_delete;
      ++pairs;
    }
  }
  EXPECT_GT(dear, pairs / 8) << "too few pairs where relabelling a node costs more than replacing it";
}

// One end of an edge is to be relabelled. Were it replaced without its edge, 2 would be enough.
TEST(EditPath, ADearRelabellingIsReplacedWithItsEdges) {
  const LabelledGraph a{.labels = {"A", "A"}, .edges = {{0, 1, ""}}}, b{.labels = {"A", "B"}, .edges = {{0, 1, ""}}};
  const EditDistanceReport r = edit_distance(a, b, {.costs = {.node_substitute = 5}});
  EXPECT_TRUE(r.exact);
  EXPECT_EQ(r.distance, 4);  // delete the edge and a node, insert a node and the edge
  EXPECT_EQ(r.edits.size(), 4u);
  EXPECT_EQ(edit_distance(a, b, {.costs = {.node_substitute = 3}}).distance, 3);  // it keeps its edge
}

}  // namespace
}  // namespace espalier
