// Edit distance against a brute-force oracle, the laws of a metric, bounds on the right side.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "espalier/error.hpp"
#include "espalier/graph.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

LabelledGraph random_graph(std::uint64_t seed, std::size_t nodes, bool directed, int node_labels, int edge_labels,
                           float density = 0.4f) {
  const Random r(seed, Purpose::kData);
  LabelledGraph g;
  g.directed = directed;
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < nodes; ++i)
    g.labels.push_back(
        std::string(1, static_cast<char>('A' + r.choice(draw++, static_cast<std::uint64_t>(node_labels)))));
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = directed ? 0 : i; j < nodes; ++j)
      if (r.uniform(draw++) < (i == j ? density / 4 : density))
        g.edges.push_back(
            {i, j, std::string(1, static_cast<char>('a' + r.choice(draw++, static_cast<std::uint64_t>(edge_labels))))});
  return g;
}

// All injective partial mappings, costs straight from the definition.
double brute_force(const LabelledGraph& a, const LabelledGraph& b, const EditCosts& c) {
  const auto edges_of = [](const LabelledGraph& g) {
    std::map<std::pair<int, int>, std::string> edges;
    for (const LabelledEdge& e : g.edges) {
      edges[{static_cast<int>(e.from), static_cast<int>(e.to)}] = e.label;
      if (!g.directed) edges[{static_cast<int>(e.to), static_cast<int>(e.from)}] = e.label;
    }
    return edges;
  };
  const auto ea = edges_of(a), eb = edges_of(b);
  const int n = static_cast<int>(a.labels.size()), m = static_cast<int>(b.labels.size());
  std::vector<int> map(static_cast<std::size_t>(n), -1);
  double best = 1e300;
  const auto cost = [&] {
    double sum = 0;
    std::vector<int> back(static_cast<std::size_t>(m), -1);
    for (int i = 0; i < n; ++i) {
      const int j = map[static_cast<std::size_t>(i)];
      if (j < 0) {
        sum += c.node_delete;
      } else {
        back[static_cast<std::size_t>(j)] = i;
        if (a.labels[static_cast<std::size_t>(i)] != b.labels[static_cast<std::size_t>(j)]) sum += c.node_substitute;
      }
    }
    for (const int i : back) sum += i < 0 ? c.node_insert : 0;
    for (const auto& [ends, label] : ea) {
      if (!a.directed && ends.first > ends.second) continue;
      const int x = map[static_cast<std::size_t>(ends.first)], y = map[static_cast<std::size_t>(ends.second)];
      const auto found = x < 0 || y < 0 ? eb.end() : eb.find({x, y});
      if (found == eb.end())
        sum += c.edge_delete;
      else if (found->second != label)
        sum += std::min(c.edge_substitute, c.edge_insert + c.edge_delete);
    }
    for (const auto& [ends, label] : eb) {
      if (!b.directed && ends.first > ends.second) continue;
      const int x = back[static_cast<std::size_t>(ends.first)], y = back[static_cast<std::size_t>(ends.second)];
      if (x < 0 || y < 0 || !ea.contains({x, y})) sum += c.edge_insert;
    }
    return sum;
  };
  std::vector<bool> used(static_cast<std::size_t>(m));
  const std::function<void(int)> go = [&](int i) {
    if (i == n) {
      best = std::min(best, cost());
      return;
    }
    map[static_cast<std::size_t>(i)] = -1;
    go(i + 1);
    for (int j = 0; j < m; ++j) {
      if (used[static_cast<std::size_t>(j)]) continue;
      used[static_cast<std::size_t>(j)] = true;
      map[static_cast<std::size_t>(i)] = j;
      go(i + 1);
      used[static_cast<std::size_t>(j)] = false;
    }
    map[static_cast<std::size_t>(i)] = -1;
  };
  go(0);
  return best;
}

double sum_of(const std::vector<GraphEdit>& edits) {
  double sum = 0;
  for (const GraphEdit& e : edits) sum += e.cost;
  return sum;
}

TEST(EditDistance, EqualsBruteForceOnThousandsOfPairs) {
  const EditCosts odd{1.5, 0.7, 0.4, 0.9, 1.1, 3.0};  // a substitution dearer than delete and insert
  const EditCosts cheap_edges{2, 2, 3, 0.25, 0.25, 0};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::size_t most = i % 10 == 0 ? 7 : 5;  // up to 6 nodes, now and then
    const LabelledGraph a = random_graph(2 * i, i % most, i % 2, 1 + i % 3, 1 + i % 2),
                        b = random_graph(2 * i + 1, (i / 7) % most, i % 2, 1 + i % 3, 1 + i % 2);
    const EditCosts costs = i % 3 == 0 ? EditCosts{} : i % 3 == 1 ? odd : cheap_edges;
    EditDistanceOptions o;
    o.costs = costs;
    const double expected = brute_force(a, b, costs);
    const EditDistanceReport r = edit_distance(a, b, o);
    ASSERT_TRUE(r.exact);
    ASSERT_NEAR(r.distance, expected, 1e-9) << i;
    ASSERT_NEAR(sum_of(r.edits), expected, 1e-9) << i;
    const EditDistanceReport bounds = edit_bounds(a, b, costs);
    ASSERT_LE(bounds.lower, expected + 1e-9) << i;
    ASSERT_GE(bounds.upper, expected - 1e-9) << i;
    // A budget may end the search anywhere: the bounds must hold and "exact" must be true.
    o.max_nodes = i % 40;
    const EditDistanceReport cut = edit_distance(a, b, o);
    ASSERT_LE(cut.lower, expected + 1e-9) << i;
    ASSERT_GE(cut.upper, expected - 1e-9) << i;
    if (cut.exact) {
      ASSERT_NEAR(cut.distance, expected, 1e-9) << i;
    }
    ASSERT_NEAR(sum_of(cut.edits), cut.upper, 1e-9);
  }
}

TEST(EditDistance, IsAMetricUnderUnitCosts) {
  for (std::uint64_t i = 0; i < 150; ++i) {
    const bool directed = i % 2;
    const LabelledGraph a = random_graph(3 * i, 3 + i % 4, directed, 2, 2),
                        b = random_graph(3 * i + 1, 3 + i % 5, directed, 2, 2),
                        c = random_graph(3 * i + 2, 2 + i % 5, directed, 2, 2);
    const double ab = edit_distance(a, b).distance, ba = edit_distance(b, a).distance;
    const double bc = edit_distance(b, c).distance, ac = edit_distance(a, c).distance;
    EXPECT_EQ(ab, ba);
    EXPECT_LE(ac, ab + bc);
    EXPECT_EQ(edit_distance(a, a).distance, 0);
  }
}

TEST(EditDistance, ARelabelledCopyIsAtDistanceNought) {
  for (std::uint64_t i = 0; i < 30; ++i) {
    const LabelledGraph a = random_graph(i, 9, i % 2, 3, 2, 0.3f);
    std::vector<std::uint32_t> place(9);
    for (std::uint32_t k = 0; k < 9; ++k) place[k] = k;
    Random(i, Purpose::kSplit).shuffle(std::span(place));
    LabelledGraph b = a;
    for (std::size_t k = 0; k < 9; ++k) b.labels[place[k]] = a.labels[k];
    for (LabelledEdge& e : b.edges) e = {place[e.from], place[e.to], e.label};
    EXPECT_EQ(edit_distance(a, b).distance, 0);
    EXPECT_DOUBLE_EQ(wl_similarity(a, b), 1);
  }
}

TEST(EditDistance, ManyPairsInParallelEqualOneByOne) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  std::vector<LabelledGraph> graphs;
  for (std::uint64_t i = 0; i < 12; ++i) graphs.push_back(random_graph(i, 6, false, 2, 1));
  std::vector<GraphPair> pairs;
  for (const LabelledGraph& a : graphs)
    for (const LabelledGraph& b : graphs) pairs.push_back({&a, &b});
  const std::vector<EditDistanceReport> reports = edit_distances(pairs, {}, ThreadPool(3));
  for (std::size_t i = 0; i < pairs.size(); ++i)
    EXPECT_EQ(reports[i].distance, edit_distance(*pairs[i].first, *pairs[i].second).distance);
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(EditDistance, LargeGraphsGetBoundsAtOnce) {
  const LabelledGraph a = random_graph(1, 300, false, 4, 2, 0.02f), b = random_graph(2, 280, false, 4, 2, 0.02f);
  const EditDistanceReport r = edit_bounds(a, b);
  EXPECT_LE(r.lower, r.upper);
  EXPECT_GT(r.lower, 20);  // twenty nodes more
  EXPECT_NEAR(sum_of(r.edits), r.upper, 1e-6);
}

TEST(EditDistance, EmptyAndOneNodeGraphs) {
  const LabelledGraph empty, one{false, {"A"}, {}}, other{false, {"B"}, {{0, 0, "loop"}}};
  EXPECT_EQ(edit_distance(empty, empty).distance, 0);
  EXPECT_EQ(edit_distance(empty, one).distance, 1);
  EXPECT_EQ(edit_distance(one, other).distance, 2);
  EXPECT_EQ(wl_similarity(empty, empty), 1);
  EXPECT_EQ(wl_similarity(empty, one), 0);
  EXPECT_THROW(edit_distance(one, LabelledGraph{true, {"A"}, {}}), Error);
}

TEST(EditDistance, CostsFromText) {
  EXPECT_EQ(edit_costs_from("node-insert=2,edge-delete=0.5").edge_delete, 0.5);
  EXPECT_EQ(edit_costs_from("").node_insert, 1);
  for (const char* bad :
       {"node", "node-insert=", "node-insert=-1", "nod-insert=1", "node-insert=1x", "node-insert=nan"})
    EXPECT_THROW(edit_costs_from(bad), Error) << bad;
}

TEST(WlSimilarity, FallsWithDifferenceAndSeesFurtherThanLabels) {
  // Two triangles and a hexagon: the same labels and degrees, so WL cannot tell them apart; a path can be told.
  LabelledGraph triangles{false,
                          std::vector<std::string>(6, "C"),
                          {{0, 1, ""}, {1, 2, ""}, {2, 0, ""}, {3, 4, ""}, {4, 5, ""}, {5, 3, ""}}};
  LabelledGraph hexagon{false,
                        std::vector<std::string>(6, "C"),
                        {{0, 1, ""}, {1, 2, ""}, {2, 3, ""}, {3, 4, ""}, {4, 5, ""}, {5, 0, ""}}};
  LabelledGraph path = hexagon;
  path.edges.pop_back();
  EXPECT_DOUBLE_EQ(wl_similarity(triangles, hexagon), 1);
  EXPECT_LT(wl_similarity(path, hexagon), 0.7);
  EXPECT_GT(wl_similarity(path, hexagon), 0.4);
  EXPECT_DOUBLE_EQ(wl_similarity(path, hexagon), wl_similarity(hexagon, path));
}

TEST(LabelledGraph, JsonThereAndBackAndItsMistakes) {
  const LabelledGraph g = graph_from_json(
      R"({"directed": true, "nodes": [{"id": "a", "label": "C"}, {"id": 7, "label": "N"}, {"id": "c"}],
          "edges": [["a", 7], {"from": 7, "to": "c", "label": "x"}, ["c", "a", 2]]})",
      "test");
  EXPECT_TRUE(g.directed);
  EXPECT_EQ(g.labels, (std::vector<std::string>{"C", "N", ""}));
  EXPECT_EQ(g.edges[1].label, "x");
  EXPECT_EQ(g.edges[2].label, "2");
  const LabelledGraph back = graph_from_json(graph_to_json(g), "test");
  EXPECT_EQ(back.labels, g.labels);
  EXPECT_EQ(back.edges.size(), 3u);
  for (const char* bad : {"", "{", "[]", "{}", R"({"nodes": 3})", R"({"nodes": ["A"], "edges": 3})",
                          R"({"nodes": ["A"], "edges": [[0]]})", R"({"nodes": ["A"], "edges": [[0, 1]]})",
                          R"({"nodes": ["A", "B"], "edges": [[0, 1], [1, 0]]})", R"({"nodes": [{"id": 1}, {"id": 1}]})",
                          R"({"nodes": [[1]]})", R"({"directed": 1, "nodes": []})", R"({"nodes": [], "egdes": []})",
                          R"({"nodes": [], "multigraph": true})", R"({"nodes": [], "links": [], "edges": []})"})
    EXPECT_THROW(graph_from_json(bad, "test"), Error) << bad;
}

TEST(LabelledGraph, NodeLinkJsonOfNetworkxHasItsEdges) {
  const char* head = R"({"directed": false, "multigraph": false, "graph": {"name": "g"},
                         "nodes": [{"label": "C", "id": 0}, {"label": "N", "id": "b"}], )";
  for (const char* key : {"links", "edges"}) {
    const std::string edges = std::string("\"") + key + R"(": [{"label": "1", "source": 0, "target": "b"}]})";
    const LabelledGraph g = graph_from_json(head + edges, "test");
    ASSERT_EQ(g.edges.size(), 1u);
    EXPECT_EQ(g.edges[0].to, 1u);
    EXPECT_EQ(g.edges[0].label, "1");
  }
}

TEST(LabelledGraph, GxlAndItsMistakes) {
  const LabelledGraph g = graph_from_gxl(
      R"(<?xml version="1.0"?><gxl><graph id="m" edgeids="false" edgemode="undirected">
         <node id="_1"><attr name="symbol"><string>C</string></attr><attr name="charge"><int>0</int></attr></node>
         <node id="_2"><attr name="symbol"><string>O</string></attr></node>
         <edge from="_1" to="_2"><attr name="valence"><int>2</int></attr></edge></graph></gxl>)",
      "test");
  EXPECT_FALSE(g.directed);
  EXPECT_EQ(g.labels, (std::vector<std::string>{"symbol=C;charge=0", "symbol=O"}));
  EXPECT_EQ(g.edges[0].label, "valence=2");
  EXPECT_TRUE(graph_from_gxl(R"(<gxl><graph edgemode="directed"/></gxl>)", "test").directed);
  for (const char* bad :
       {"", "<gxl>", "<gxl/>", R"(<gxl><graph><node/></graph></gxl>)", R"(<gxl><graph edgemode="both"/></gxl>)",
        R"(<gxl><graph><node id="a"/><node id="a"/></graph></gxl>)",
        R"(<gxl><graph><node id="a"/><edge from="a" to="b"/></graph></gxl>)"})
    EXPECT_THROW(graph_from_gxl(bad, "test"), Error) << bad;
}

TEST(EditDistance, ArgumentsWithoutMeaningAreRefused) {
  const LabelledGraph a{.labels = {"x"}}, b{.labels = {"y"}};
  LabelledGraph directed{.directed = true, .labels = {"x"}};
  EXPECT_THROW(edit_distance(a, directed), Error);
  EXPECT_THROW(edit_distance(a, b, {.max_seconds = -1}), Error);
  EXPECT_THROW(edit_distance(a, b, {.max_seconds = std::nan("")}), Error);
  EXPECT_THROW(edit_distance(a, b, {.costs = {.node_insert = -1}}), Error);
  EXPECT_THROW(edit_bounds(a, b, {.edge_delete = std::nan("")}), Error);
  EXPECT_THROW(wl_similarity(a, b, -1), Error);
  const GraphPair half[] = {{&a, nullptr}};
  EXPECT_THROW(edit_distances(half, {}), Error);
  directed.edges.push_back({0, 1, ""});
  EXPECT_THROW(wl_similarity(directed, directed), Error);
}

}  // namespace
}  // namespace espalier
