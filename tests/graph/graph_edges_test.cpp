// What graphs, their names and their files refuse.
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

TEST(GraphEdges, DegreesOfUnknownNodesAreRefused) {
  const Graph g(3, {{0, 1}, {2, 1}});
  EXPECT_EQ(g.in_degree(1), 2u);
  EXPECT_EQ(g.out_degree(2), 1u);
  for (const std::size_t node : {std::size_t{3}, std::size_t{99}, ~std::size_t{0}}) {
    EXPECT_THROW(g.in_degree(node), Error);
    EXPECT_THROW(g.out_degree(node), Error);
  }
  EXPECT_THROW(Graph().in_degree(0), Error);
}

TEST(GraphEdges, ActivationsThatAreNoneAreRefused) {
  for (int i = 0; i < kNumActivations; ++i)
    EXPECT_EQ(activation_named(name_of(static_cast<Activation>(i))), static_cast<Activation>(i));
  EXPECT_THROW(activation_named("swish"), Error);
  EXPECT_THROW(activation_named(""), Error);
  EXPECT_THROW(name_of(static_cast<Activation>(9)), Error);
}

TEST(GraphEdges, LabelsThatAreNotUtf8AreNotWritten) {
  EXPECT_THROW(graph_to_json({.labels = {"\xff"}}), Error);
  EXPECT_THROW(graph_to_json({.labels = {"a", "b"}, .edges = {{0, 1, "\xc3"}}}), Error);
}

TEST(GraphEdges, AFileIsReadByItsEnding) {
  const TempFolder folder;
  write_atomically(folder / "graph.txt", std::string_view(R"({"nodes": ["a"], "edges": []})"));
  EXPECT_THROW(read_graph(folder / "graph.txt"), Error);
  EXPECT_THROW(read_graph(folder / "missing.json"), Error);
  EXPECT_THROW(read_graph(std::string(5000, 'a') + ".json"), Error);
  write_atomically(folder / "graph.json", std::string_view(R"({"nodes": ["a"], "edges": []})"));
  EXPECT_EQ(read_graph(folder / "graph.json").labels.size(), 1u);
}

TEST(GraphEdges, PairsNeedNoOptions) {
  const LabelledGraph a{.labels = {"x"}}, b{.labels = {"y"}};
  const GraphPair pairs[] = {{&a, &b}, {&a, &a}};
  const std::vector<EditDistanceReport> reports = edit_distances(pairs);
  EXPECT_EQ(reports[0].distance, 1);
  EXPECT_EQ(reports[1].distance, 0);
  const GraphPair none[] = {{&a, nullptr}};
  EXPECT_THROW(edit_distances(none), Error);
}

}  // namespace
}  // namespace espalier
