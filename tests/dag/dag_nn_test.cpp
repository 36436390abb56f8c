// The training contract of DagNN, its ids, its growth and pruning, its mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dag/random_dag.hpp"
#include "espalier/error.hpp"
#include "espalier/graph.hpp"

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

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::vector<float> outputs_of(DagNN& network, const std::vector<float>& samples, std::size_t batch) {
  const auto y = network.forward(samples, batch);
  return {y.begin(), y.end()};
}

TEST(DagNN, ATinyNetworkByHand) {
  DagNN n;
  const NodeId x = n.add_node(NodeKind::kInput), h = n.add_node(NodeKind::kHidden, Activation::kRelu, 1.0f),
               y = n.add_node(NodeKind::kOutput);
  n.add_edge(x, h, 2.0f);
  n.add_edge(h, y, 3.0f);
  n.add_edge(x, y, -1.0f);
  const float samples[] = {1.0f, -2.0f};
  EXPECT_EQ(outputs_of(n, {1.0f, -2.0f}, 2), (std::vector<float>{3 * (2 + 1) - 1, 0 + 2}));
  n.backward_accumulate(n.forward(samples, 2).pass, std::vector<float>{1.0f, 1.0f});
  EXPECT_EQ(n.edge_grad(x, h), 3.0f);  // only the first sample is above zero
  EXPECT_EQ(n.edge_grad(h, y), 3.0f);
  EXPECT_EQ(n.edge_grad(x, y), 1.0f - 2.0f);
  EXPECT_EQ(n.num_parameters(), 5u);
  n.step(0.5f);
  EXPECT_EQ(n.weight(*n.topology().find_edge(x, h)), 2 - 0.5f * 3);
  EXPECT_EQ(n.bias(y), -0.5f * 2);
}

TEST(DagNN, GradientsAddUpUntilCleared) {
  DagNN n = random_dag(1, 2, 6, 1, false);
  EXPECT_TRUE(n.is_training());
  EXPECT_FALSE(n.has_gradients());
  const DagEdge e = n.topology().edges().begin()->second;
  EXPECT_EQ(n.edge_grad(e.from, e.to), std::nullopt);
  const std::vector<float> samples = random_numbers(1, 8), ones(4, 1.0f);
  n.forward(samples, 4);
  n.backward_accumulate(ones);
  const std::vector<float> once(n.parameters().gradients().begin(), n.parameters().gradients().end());
  n.backward_accumulate(ones);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(n.parameters().gradients()[i], 2 * once[i]);
  EXPECT_TRUE(n.has_gradients());
  n.accumulate_edge_grad(e.from, e.to, 5.0f);
  const double norm = n.gradient_norm();
  EXPECT_DOUBLE_EQ(n.clip_gradients(0.25), norm);
  EXPECT_NEAR(n.gradient_norm(), 0.25, 1e-6);
  EXPECT_NEAR(n.clip_gradients(10), 0.25, 1e-6);
  n.zero_grad();
  EXPECT_FALSE(n.has_gradients());
  EXPECT_EQ(n.edge_grad(e.from, e.to), std::nullopt);
}

TEST(DagNN, EvaluationModeAccumulatesNothing) {
  DagNN n = random_dag(2, 2, 6, 1, false);
  n.train(false);
  const DagEdge e = n.topology().edges().begin()->second;
  n.forward(random_numbers(1, 4), 2);
  n.backward_accumulate(std::vector<float>{1, 1});
  n.accumulate_edge_grad(e.from, e.to, 1.0f);
  EXPECT_FALSE(n.has_gradients());
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(DagNN, BackwardAndUpdateIsAccumulateStepAndClear) {
  DagNN a = random_dag(3, 2, 6, 1, false), b = random_dag(3, 2, 6, 1, false);
  const std::vector<float> samples = random_numbers(1, 8), grad{1, 2, 3, 4};
  a.forward(samples, 4);
  b.forward(samples, 4);
  a.backward_and_update(grad, 0.1f);
  b.backward_accumulate(grad);
  b.step(0.1f);
  EXPECT_EQ(a.parameters().hash(), b.parameters().hash());
  EXPECT_FALSE(a.has_gradients());
}
#pragma GCC diagnostic pop

TEST(DagNN, MistakesChangeNothing) {
  DagNN n;
  const NodeId x = n.add_node(NodeKind::kInput), h = n.add_node(NodeKind::kHidden), y = n.add_node(NodeKind::kOutput);
  n.add_edge(x, h, 1);
  n.add_edge(h, y, 1);
  EXPECT_TRUE(contains(message_of([&] { n.add_edge(y, h, 1); }), "cycle"));
  EXPECT_TRUE(contains(message_of([&] { n.add_edge(h, h, 1); }), "different"));
  EXPECT_TRUE(contains(message_of([&] { n.add_edge(x, h, 1); }), "twice"));
  EXPECT_TRUE(contains(message_of([&] { n.add_edge(h, x, 1); }), "input"));
  EXPECT_TRUE(contains(message_of([&] { n.add_edge(x, 99, 1); }), "99"));
  EXPECT_TRUE(contains(message_of([&] { n.split_edge(7); }), "7"));
  EXPECT_TRUE(contains(message_of([&] { n.remove_node(7); }), "7"));
  EXPECT_TRUE(contains(message_of([&] { n.accumulate_edge_grad(x, y, 1); }), "0 -> 2"));
  EXPECT_TRUE(contains(message_of([&] { n.forward(std::vector<float>(3), 2); }), "2 samples x 1 inputs"));
  EXPECT_TRUE(contains(message_of([&] { n.backward_accumulate(std::vector<float>(2)); }), "forward"));
  EXPECT_EQ(n.num_parameters(), 4u);
  EXPECT_EQ(outputs_of(n, {5}, 1), std::vector<float>{5});
}

TEST(DagNN, AnyOrderOfAddedEdgesIsAcceptedWhenAcyclic) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    // A hidden order that the ids do not show.
    std::vector<NodeId> order(14);
    for (NodeId i = 0; i < 14; ++i) order[i] = i;
    Random(seed, Purpose::kData).shuffle(std::span(order));
    DagNN n;
    for (int i = 0; i < 14; ++i) n.add_node(NodeKind::kHidden);
    const Random r(seed, Purpose::kBatch);
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < 14; ++i)
      for (std::size_t j = i + 1; j < 14; ++j)
        if (r.uniform(i * 14 + j) < 0.4f) edges.push_back({order[i], order[j]});
    Random(seed, Purpose::kSplit).shuffle(std::span(edges));
    for (const Edge& e : edges) n.add_edge(e.from, e.to, 1);
    for (const auto& [id, node] : n.topology().nodes())
      for (const EdgeId e : node.in) EXPECT_LT(n.topology().node(n.topology().edge(e).from).order, node.order);
    for (const Edge& e : edges) EXPECT_THROW(n.add_edge(e.to, e.from, 1), Error);
    EXPECT_EQ(n.topology().edges().size(), edges.size());
  }
}

TEST(DagNN, SplittingAndShortcutsKeepTheFunction) {
  for (const bool scaling : {false, true}) {
    DagNN n = random_dag(5, 3, 10, 2, scaling);
    const std::vector<float> samples = random_numbers(9, 30), before = outputs_of(n, samples, 10);
    std::vector<EdgeId> ids;
    for (const auto& [id, edge] : n.topology().edges()) ids.push_back(id);
    for (std::size_t i = 0; i < ids.size(); i += 3) n.split_edge(ids[i]);
    std::size_t shortcuts = 0;
    for (NodeId u = 0; u < 3; ++u)
      for (NodeId v = 3; v < 15; ++v)
        if (!n.topology().find_edge(u, v)) {
          n.add_shortcut(u, v);
          ++shortcuts;
        }
    ASSERT_GT(shortcuts, 0u);
    const std::vector<float> after = outputs_of(n, samples, 10);
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 2e-5 * (1 + std::fabs(before[i])));
  }
}

TEST(DagNN, IdsGradientsAndOptimizerStateSurviveGrowthAndPruning) {
  DagNN n = random_dag(6, 3, 12, 2, false);
  Optimizer optimizer({}, n.num_parameters());
  n.forward(random_numbers(1, 24), 8);
  n.backward_accumulate(random_numbers(2, 16));
  optimizer.step(n.parameters(), 0.01f, calling_thread());
  struct Kept {
    float weight, gradient, first, second;
  };
  const auto read = [&] {
    std::map<EdgeId, Kept> all;
    const Parameters& p = n.parameters();
    for (const auto& [id, edge] : n.topology().edges()) {
      const std::optional<float> g = n.edge_grad(edge.from, edge.to);
      // Which flat index an edge has is found by its weight; all are different here.
      const auto at =
          static_cast<std::size_t>(std::find(p.values().begin(), p.values().end(), n.weight(id)) - p.values().begin());
      all[id] = {n.weight(id), g.value_or(0), optimizer.first_moment()[at], optimizer.second_moment()[at]};
    }
    return all;
  };
  const std::map<EdgeId, Kept> before = read();
  const NodeId grown = n.split_edge(before.begin()->first);
  const std::size_t pruned = n.prune_percentile(30);
  EXPECT_EQ(pruned, (before.size() + 1) * 3 / 10);
  Optimizer twin = optimizer;
  Optimizer* const both[] = {&optimizer, &twin};
  n.apply_edits(both);
  EXPECT_EQ(optimizer.first_moment().size(), n.num_parameters());
  EXPECT_TRUE(std::ranges::equal(twin.first_moment(), optimizer.first_moment()));
  EXPECT_TRUE(std::ranges::equal(twin.second_moment(), optimizer.second_moment()));
  EXPECT_EQ(twin.steps(), optimizer.steps());
  EXPECT_EQ(optimizer.steps(), 1u);
  std::size_t compared = 0;
  for (const auto& [id, kept] : read()) {
    const auto old = before.find(id);
    if (old == before.end()) continue;
    EXPECT_EQ(kept.weight, old->second.weight);
    EXPECT_EQ(kept.gradient, old->second.gradient);
    EXPECT_EQ(kept.first, old->second.first);
    EXPECT_EQ(kept.second, old->second.second);
    ++compared;
  }
  EXPECT_GT(compared, before.size() / 2);
  EXPECT_GE(grown, 17u);
  EXPECT_EQ(n.add_node(NodeKind::kHidden), grown + 1);  // never an old id
}

TEST(DagNN, PruningTakesTheSmallestAndUnseenNodesGo) {
  DagNN n;
  const NodeId x = n.add_node(NodeKind::kInput), h = n.add_node(NodeKind::kHidden), i = n.add_node(NodeKind::kHidden),
               y = n.add_node(NodeKind::kOutput);
  n.add_edge(x, h, 0.1f);
  n.add_edge(h, y, -0.05f);
  n.add_edge(x, i, 3.0f);
  n.add_edge(i, y, 2.0f);
  EXPECT_EQ(n.prune_below(0.08f), 1u);
  EXPECT_FALSE(n.topology().find_edge(h, y));
  EXPECT_EQ(n.remove_unseen(), 1u);
  EXPECT_FALSE(n.topology().has_node(h));
  EXPECT_TRUE(n.topology().has_node(i));
  EXPECT_EQ(outputs_of(n, {1}, 1), std::vector<float>{6});
  EXPECT_EQ(n.prune_percentile(100), 2u);
  EXPECT_EQ(n.prune_percentile(50), 0u);
}

TEST(DagNN, LayersHaveTheShapeAndDensityAskedFor) {
  const std::size_t dense[] = {4, 8, 1};
  DagNN n = DagNN::layered(dense);
  EXPECT_EQ(n.topology().edges().size(), 4u * 8 + 8);
  EXPECT_EQ(n.num_inputs(), 4u);
  EXPECT_EQ(n.num_outputs(), 1u);
  const std::size_t sparse[] = {50, 60, 10};
  const DagNN half = DagNN::layered(sparse, {.density = 0.5});
  EXPECT_NEAR(static_cast<double>(half.topology().edges().size()), 0.5 * (50 * 60 + 60 * 10), 150);
  const DagNN thin = DagNN::layered(sparse, {.density = 0.001});
  for (const auto& [id, node] : thin.topology().nodes()) EXPECT_FALSE(node.in.empty() && node.out.empty()) << id;
  EXPECT_THROW(DagNN::layered(std::span(dense, 1)), Error);
  const std::size_t huge[] = {1u << 20, 1u << 20};
  EXPECT_THROW(DagNN::layered(huge), Error);
}

TEST(DagNN, TextThereAndBackForAnyUnicode) {
  for (const std::string& text :
       {std::string(), std::string("a"), std::string("naïve Ω 漢字 🙂 \n"), std::string("\0x", 2)}) {
    const DagNN n = DagNN::from_text(text);
    EXPECT_EQ(n.to_text(), text);
    EXPECT_EQ(n.topology().edges().size(), n.topology().nodes().empty() ? 0 : n.topology().nodes().size() - 1);
  }
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "ok\x80"})
    EXPECT_THROW(DagNN::from_text(bad), Error) << bad;
  EXPECT_TRUE(contains(message_of([] { DagNN::from_text("ok\x80"); }), "byte 2"));
}

TEST(DagNN, EmptyAndOneNodeNetworksWork) {
  DagNN empty;
  EXPECT_TRUE(empty.forward({}, 0).empty());
  EXPECT_TRUE(empty.forward({}, 3).empty());
  DagNN one;
  one.add_node(NodeKind::kOutput, Activation::kLinear, 4.0f);
  EXPECT_EQ(outputs_of(one, {}, 2), (std::vector<float>{4, 4}));
  one.backward_accumulate(std::vector<float>{1, 2});
  one.step(1);
  EXPECT_EQ(outputs_of(one, {}, 1), std::vector<float>{1});
}

}  // namespace
}  // namespace espalier
