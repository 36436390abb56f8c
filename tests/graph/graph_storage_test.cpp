#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::vector<Edge> random_edges(std::size_t nodes, std::uint64_t seed, bool acyclic) {
  const Random r(seed, Purpose::kData);
  std::vector<Edge> edges;
  for (std::uint32_t u = 0; u < nodes; ++u)
    for (std::uint32_t v = acyclic ? u + 1 : 0; v < nodes; ++v)
      if (r.uniform(u * 1000 + v) < 0.3f) edges.push_back({u, v});
  return edges;
}

TEST(GraphStorage, BothOrdersHoldEveryEdgeOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Edge> edges = random_edges(17, seed, false);
    const Graph g(17, edges);
    ASSERT_EQ(g.num_edges(), edges.size());
    std::vector<int> seen(edges.size());
    for (std::uint32_t v = 0; v < 17; ++v)
      for (std::uint32_t e = g.in_offsets()[v]; e < g.in_offsets()[v + 1]; ++e) {
        EXPECT_EQ(edges[g.given()[e]], (Edge{g.sources()[e], v}));
        ++seen[g.given()[e]];
      }
    for (std::uint32_t u = 0; u < 17; ++u)
      for (std::uint32_t k = g.out_offsets()[u]; k < g.out_offsets()[u + 1]; ++k) {
        EXPECT_EQ(edges[g.given()[g.out_edges()[k]]], (Edge{u, g.targets()[k]}));
        ++seen[g.given()[g.out_edges()[k]]];
      }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 2; }));
  }
}

TEST(GraphStorage, TheGivenOrderOfEdgesDoesNotMatter) {
  std::vector<Edge> edges = random_edges(12, 3, false);
  const Graph a(12, edges);
  Random(9, Purpose::kData).shuffle(std::span(edges));
  const Graph b(12, edges);
  EXPECT_TRUE(std::ranges::equal(a.sources(), b.sources()));
  EXPECT_TRUE(std::ranges::equal(a.targets(), b.targets()));
  EXPECT_TRUE(std::ranges::equal(a.out_edges(), b.out_edges()));
}

TEST(GraphStorage, LevelsAreLongestPaths) {
  const Graph g(5, std::vector<Edge>{{0, 1}, {1, 2}, {0, 2}, {3, 2}});
  EXPECT_EQ(dag_levels(g), (std::vector<std::uint32_t>{0, 1, 2, 0, 0}));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph random(15, random_edges(15, seed, true));
    const auto level = dag_levels(random);
    for (std::uint32_t v = 0; v < 15; ++v) {
      std::uint32_t expected = 0;
      for (std::uint32_t e = random.in_offsets()[v]; e < random.in_offsets()[v + 1]; ++e)
        expected = std::max(expected, level[random.sources()[e]] + 1);
      EXPECT_EQ(level[v], expected);
    }
  }
}

TEST(GraphStorage, EmptyAndOneNodeGraphsWork) {
  EXPECT_EQ(Graph().num_nodes(), 0u);
  EXPECT_TRUE(dag_levels(Graph()).empty());
  EXPECT_EQ(dag_levels(Graph(1, {})), std::vector<std::uint32_t>{0});
}

TEST(GraphStorage, MistakesAreNamed) {
  EXPECT_NE(message_of([] { Graph(2, std::vector<Edge>{{0, 2}}); }).find("from 0 to 2"), std::string::npos);
  EXPECT_NE(message_of([] { Graph(2, std::vector<Edge>{{0, 1}, {0, 1}}); }).find("twice"), std::string::npos);
  const std::string cycle = message_of([] { dag_levels(Graph(4, std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}, {3, 1}})); });
  EXPECT_TRUE(cycle.find("1 -> 2 -> 3 -> 1") != std::string::npos ||
              cycle.find("2 -> 3 -> 1 -> 2") != std::string::npos ||
              cycle.find("3 -> 1 -> 2 -> 3") != std::string::npos)
      << cycle;
}

TEST(GraphStorage, ABatchIsItsGraphsSideBySide) {
  const Graph a(3, std::vector<Edge>{{0, 1}, {1, 2}}), b(1, {}), c(2, std::vector<Edge>{{1, 0}});
  const std::vector<const Graph*> all{&a, &b, &c};
  const GraphBatch batch = batch_graphs(all);
  EXPECT_EQ(batch.first_node, (std::vector<std::uint32_t>{0, 3, 4, 6}));
  const Graph expected(6, std::vector<Edge>{{0, 1}, {1, 2}, {5, 4}});
  EXPECT_TRUE(std::ranges::equal(batch.graph.sources(), expected.sources()));
  EXPECT_TRUE(std::ranges::equal(batch.graph.in_offsets(), expected.in_offsets()));
}

TEST(GraphStorage, ABatchKeepsRepeatsAndRefusesNoGraph) {
  const Graph twice(2, {{0, 1}, {0, 1}}, Repeats::kKeep);
  const Graph* const both[] = {&twice, &twice};
  EXPECT_EQ(batch_graphs(both).graph.num_edges(), 4u);
  const Graph* const none[] = {&twice, nullptr};
  EXPECT_THROW(batch_graphs(none), Error);
}

TEST(GraphStorage, AdjacencyListsWithRepeatsRefusedOrKept) {
  const std::vector<std::vector<std::uint32_t>> lists{{2, 1}, {}, {0}}, repeated{{2, 1, 2}, {}, {0}};
  const Graph g = Graph::from_lists(lists), expected(3, {{0, 1}, {0, 2}, {2, 0}});
  EXPECT_TRUE(std::ranges::equal(g.sources(), expected.sources()));
  EXPECT_TRUE(std::ranges::equal(g.targets(), expected.targets()));
  EXPECT_NE(message_of([&] { Graph::from_lists(repeated); }).find("from 0 to 2 twice"), std::string::npos);
  const Graph kept = Graph::from_lists(repeated, Repeats::kKeep);
  EXPECT_EQ(kept.num_edges(), 4u);
  EXPECT_EQ(kept.in_degree(2), 2u);
  EXPECT_EQ(kept.out_degree(0), 3u);
  EXPECT_TRUE(std::ranges::equal(kept.targets(), std::vector<std::uint32_t>{1, 2, 2, 0}));
  EXPECT_EQ(dag_levels(Graph::from_lists(std::vector<std::vector<std::uint32_t>>{{1, 1}, {}}, Repeats::kKeep)),
            (std::vector<std::uint32_t>{0, 1}));
  EXPECT_THROW(Graph::from_lists(std::vector<std::vector<std::uint32_t>>{{1}}), Error);
  EXPECT_EQ(Graph(2, {{0, 1}, {0, 1}}, Repeats::kKeep).num_edges(), 2u);
}

}  // namespace
}  // namespace espalier
