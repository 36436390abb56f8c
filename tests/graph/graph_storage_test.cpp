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

std::vector<Edge> random_edges(std::size_t nodes, std::uint64_t seed) {
  const Random r(seed, Purpose::kData);
  std::vector<Edge> edges;
  for (std::uint32_t u = 0; u < nodes; ++u)
    for (std::uint32_t v = 0; v < nodes; ++v)
      if (r.uniform(u * 1000 + v) < 0.3f) edges.push_back({u, v});
  return edges;
}

TEST(GraphStorage, BothOrdersHoldEveryEdgeOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Edge> edges = random_edges(17, seed);
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
  std::vector<Edge> edges = random_edges(12, 3);
  const Graph a(12, edges);
  Random(9, Purpose::kData).shuffle(std::span(edges));
  const Graph b(12, edges);
  EXPECT_TRUE(std::ranges::equal(a.sources(), b.sources()));
  EXPECT_TRUE(std::ranges::equal(a.targets(), b.targets()));
  EXPECT_TRUE(std::ranges::equal(a.out_edges(), b.out_edges()));
}

TEST(GraphStorage, EmptyAndOneNodeGraphsWork) {
  EXPECT_EQ(Graph().num_nodes(), 0u);
  EXPECT_EQ(Graph(1, {}).num_nodes(), 1u);
}

TEST(GraphStorage, MistakesAreNamed) {
  EXPECT_NE(message_of([] { Graph(2, std::vector<Edge>{{0, 2}}); }).find("from 0 to 2"), std::string::npos);
  EXPECT_NE(message_of([] { Graph(2, std::vector<Edge>{{0, 1}, {0, 1}}); }).find("twice"), std::string::npos);
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

TEST(GraphStorage, RepeatedEdgesAreKeptWhereThatIsAskedFor) {
  EXPECT_EQ(Graph(2, {{0, 1}, {0, 1}}, Repeats::kKeep).num_edges(), 2u);
}

}  // namespace
}  // namespace espalier
