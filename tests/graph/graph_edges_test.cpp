// What graphs, their names and their files refuse.
#include <gtest/gtest.h>

#include <ctime>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/random.hpp"
#include "graph/edit_problem.hpp"
#include "graph/graph_files.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

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

TEST(GraphEdges, FilesAreThoseOfAFolderOrThoseListed) {
  const TempFolder folder;
  for (const char* name : {"b.gxl", "a.json", "notes.txt"}) write_atomically(folder / name, std::string_view("-"));
  EXPECT_EQ(graph_files(folder.path()), (std::vector<std::string>{folder / "a.json", folder / "b.gxl"}));
  EXPECT_EQ(graph_files("no/such.json"), std::vector<std::string>{"no/such.json"});
  write_atomically(folder / "pairs.csv", std::string_view("second,first\nb.gxl,a.json\n/c.json,a.json\n"));
  EXPECT_EQ(listed_pairs(folder / "pairs.csv"),
            (FilePairs{{folder / "a.json", folder / "b.gxl"}, {folder / "a.json", "/c.json"}}));
  write_atomically(folder / "pairs.csv", std::string_view("first,other\na,b\n"));
  EXPECT_THROW(listed_pairs(folder / "pairs.csv"), Error);
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

TEST(GraphEdges, AGraphThatIsNoneIsNotWritten) {
  EXPECT_THROW(graph_to_json({.labels = {"A"}, .edges = {{0, 3, "x"}}}), Error);
  EXPECT_THROW(graph_to_json({.labels = {"A", "B"}, .edges = {{0, 1, "x"}, {1, 0, "y"}}}), Error);
}

// A complete graph whose labels are drawn by a seed.
LabelledGraph dense_graph(std::uint32_t nodes, std::uint64_t seed, std::uint64_t labels) {
  const Random random(seed, Purpose::kData);
  LabelledGraph g;
  for (std::uint32_t v = 0; v < nodes; ++v) g.labels.push_back(std::to_string(random.choice(v, 4)));
  for (std::uint32_t v = 0; v < nodes; ++v)
    for (std::uint32_t w = v + 1; w < nodes; ++w)
      g.edges.push_back({v, w, std::to_string(random.choice(1000 + v * std::uint64_t{nodes} + w, labels))});
  return g;
}

TEST(GraphEdges, AnAssignmentIsBoundedByPairsAndByTheirLabels) {
  constexpr std::size_t kWork = 512 * 512;
  std::vector<std::int32_t> mapping;
  const auto assigned = [&](std::uint32_t nodes, std::uint64_t labels) {
    const EditProblem problem(dense_graph(nodes, 1, labels), dense_graph(nodes, 2, labels), {});
    return assignment_bound(problem, kWork, mapping).has_value();
  };
  EXPECT_TRUE(assigned(300, 3));
  EXPECT_EQ(mapping.size(), 300u);
  EXPECT_FALSE(assigned(300, 1'000'000'000));  // every edge has a label of its own
  EXPECT_TRUE(assigned(60, 1'000'000'000));
  EXPECT_FALSE(assigned(520, 3));
}

TEST(GraphEdges, WithoutABudgetDenseGraphsTakeLittleTime) {
  // Few labels, and as many as there are edges: then the work of comparing them is what must be bounded.
  for (const std::uint64_t labels : {std::uint64_t{3}, std::uint64_t{1'000'000'000}})
    for (const std::uint32_t nodes : {120u, 128u, 500u}) {
      const LabelledGraph a = dense_graph(nodes, 1, labels), b = dense_graph(nodes, 2, labels);
      for (const std::uint64_t budget : {0, 1}) {
        const std::clock_t before = std::clock();
        const EditDistanceReport r = edit_distance(a, b, {.max_nodes = budget});
        EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 3.0) << nodes << ", " << labels;
        EXPECT_LE(r.searched, budget);
        EXPECT_LE(r.lower, r.upper);
      }
    }
}

}  // namespace
}  // namespace espalier
