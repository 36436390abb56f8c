// The edges of DagNN's training contract: what counts as a gradient, what is refused, copies, an embedding in front.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dag/random_dag.hpp"
#include "espalier/error.hpp"
#include "espalier/message_passing.hpp"

namespace espalier {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// x -> h -> y and x -> y, trained on one sample.
struct Tiny {
  DagNN n;
  NodeId x = n.add_node(NodeKind::kInput), h = n.add_node(NodeKind::kHidden), y = n.add_node(NodeKind::kOutput);
  EdgeId xh = n.add_edge(x, h, 2), hy = n.add_edge(h, y, 3), xy = n.add_edge(x, y, -1);
  void backward() {
    n.forward({1.0f}, 1);
    n.backward_accumulate({1.0f});
  }
};

TEST(DagContract, ListsInBracesAreAccepted) {
  DagNN n = DagNN::layered({4, 8, 1});
  EXPECT_EQ(n.num_inputs(), 4u);
  EXPECT_EQ(n.forward({1.0f, 2.0f, 3.0f, 4.0f}, 1).size(), 1u);
  n.backward_accumulate({1.0f});
  EXPECT_EQ(DagNN::layered({2, 3}, {.density = 0.5, .seed = 3}).num_outputs(), 3u);
}

TEST(DagContract, RemovedEdgesAndNodesDoNotCount) {
  Tiny t;
  t.backward();
  EXPECT_EQ(t.n.edge_grad(t.x, t.h), 3.0f);
  EXPECT_EQ(t.n.edge_grad(t.h, t.y), 2.0f);
  EXPECT_EQ(t.n.edge_grad(t.x, t.y), 1.0f);
  EXPECT_EQ(t.n.bias_grad(t.h), 3.0f);
  EXPECT_EQ(t.n.bias_grad(t.y), 1.0f);
  EXPECT_DOUBLE_EQ(t.n.gradient_norm(), std::sqrt(9.0 + 4 + 1 + 9 + 1));
  t.n.remove_edge(t.xy);
  EXPECT_DOUBLE_EQ(t.n.gradient_norm(), std::sqrt(9.0 + 4 + 9 + 1));  // before the edit is in effect ...
  EXPECT_EQ(t.n.edge_grad(t.x, t.y), std::nullopt);
  t.n.apply_edits();
  EXPECT_DOUBLE_EQ(t.n.gradient_norm(), std::sqrt(9.0 + 4 + 9 + 1));  // ... and after
  t.n.remove_node(t.h);
  EXPECT_DOUBLE_EQ(t.n.gradient_norm(), 1.0);
  EXPECT_EQ(t.n.bias_grad(t.h), std::nullopt);
  EXPECT_DOUBLE_EQ(t.n.clip_gradients(0.5), 1.0);
  EXPECT_EQ(t.n.bias_grad(t.y), 0.5f);
  EXPECT_EQ(t.n.num_parameters(), 1u);
}

TEST(DagContract, OnlyWhatWasAddedIsAGradient) {
  Tiny t;
  EXPECT_EQ(t.n.edge_grad(t.x, t.h), std::nullopt);
  EXPECT_EQ(t.n.bias_grad(t.h), std::nullopt);
  t.n.accumulate_edge_grad(t.x, t.h, 0.0f);
  EXPECT_TRUE(t.n.has_gradients());  // although it is zero
  EXPECT_EQ(t.n.edge_grad(t.x, t.h), 0.0f);
  EXPECT_EQ(t.n.edge_grad(t.h, t.y), std::nullopt);
  t.n.zero_grad();
  EXPECT_FALSE(t.n.has_gradients());
  EXPECT_EQ(t.n.edge_grad(t.x, t.h), std::nullopt);

  t.n.forward({0.0f}, 1);
  t.n.backward_accumulate({0.0f});
  EXPECT_TRUE(t.n.has_gradients());
  EXPECT_EQ(t.n.edge_grad(t.x, t.y), 0.0f);
  EXPECT_EQ(t.n.bias_grad(t.y), 0.0f);
  EXPECT_EQ(t.n.bias_grad(t.x), std::nullopt);  // inputs have none
  EXPECT_EQ(t.n.bias_grad(99), std::nullopt);
  const NodeId middle = t.n.split_edge(t.xy);  // the first half keeps the gradient, the second is new
  t.n.apply_edits();
  EXPECT_EQ(t.n.edge_grad(t.x, middle), 0.0f);
  EXPECT_EQ(t.n.edge_grad(middle, t.y), std::nullopt);
  EXPECT_EQ(t.n.bias_grad(middle), std::nullopt);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(DagContract, BackwardAndUpdateForgetsWhatWasPending) {
  Tiny a, b;
  a.backward();  // pending
  const float one[] = {1.0f};
  for (Tiny* t : {&a, &b}) {
    t->n.forward({1.0f}, 1);
    t->n.backward_and_update(one, 0.1f);
  }
  EXPECT_EQ(a.n.parameters().hash(), b.n.parameters().hash());
  EXPECT_FALSE(a.n.has_gradients());
  Tiny c;
  c.backward();
  c.n.train(false);
  c.n.backward_and_update(one, 0.1f);
  EXPECT_EQ(c.n.weight(c.xh), 2.0f);
  EXPECT_TRUE(c.n.has_gradients());  // evaluation changes nothing at all
}
#pragma GCC diagnostic pop

TEST(DagContract, ANewForwardIsNeededAfterTheWeightsMoved) {
  Tiny t;
  const float one[] = {1.0f};
  t.backward();
  t.n.step(0.1f);
  EXPECT_THROW(t.n.backward_accumulate(one), Error);
  t.backward();
  t.n.set_weight(t.xh, 1.0f);
  EXPECT_THROW(t.n.backward_accumulate(one), Error);
  t.backward();
  t.n.set_bias(t.h, 1.0f);
  EXPECT_THROW(t.n.backward_accumulate(one), Error);
  t.backward();
  t.n.prune_below(0.1f);  // nothing went
  t.n.backward_accumulate(one);
}

TEST(DagContract, AForwardThatWasStoppedLeavesNothingForBackward) {
  DagNN n = random_dag(1, 4, 30, 2, false);
  const std::vector<float> samples = random_numbers(1, 4 * 300), dy = random_numbers(2, 2 * 300);
  n.forward(samples, 300);
  ThreadPool pool(1);
  StopFlag stop;
  stop.raise();
  pool.watch(&stop);
  EXPECT_THROW(n.forward(samples, 300, pool), Cancelled);
  EXPECT_THROW(n.backward_accumulate(dy), Error);
  n.forward(samples, 300);
  n.backward_accumulate(dy);
}

TEST(DagContract, NumbersWithoutMeaningAreRefused) {
  Tiny t;
  t.backward();
  for (const double bad : {-1.0, std::nan("")}) EXPECT_THROW(t.n.clip_gradients(bad), Error);
  EXPECT_DOUBLE_EQ(t.n.clip_gradients(0), std::sqrt(24.0));
  EXPECT_EQ(t.n.gradient_norm(), 0.0);
  EXPECT_THROW(t.n.step(kNan), Error);
  EXPECT_THROW(t.n.set_weight(t.xh, kNan), Error);
  EXPECT_THROW(t.n.set_bias(t.y, INFINITY), Error);
  EXPECT_THROW(t.n.set_bias(t.x, 1), Error);
  EXPECT_THROW(t.n.add_edge(t.x, t.y, kNan), Error);
  EXPECT_THROW(t.n.add_node(NodeKind::kHidden, Activation::kRelu, kNan), Error);
  EXPECT_THROW(t.n.prune_below(kNan), Error);
  EXPECT_THROW(t.n.prune_percentile(101), Error);
  EXPECT_THROW(t.n.insert_node(0xFFFFFFFF, NodeKind::kHidden, Activation::kLinear, 0), Error);
  EXPECT_THROW(t.n.forward({1.0f}, std::size_t{1} << 63), Error);
  Optimizer other({}, 3);
  EXPECT_THROW(t.n.apply_edits(&other), Error);
  EXPECT_EQ(t.n.topology().nodes().size(), 3u);
  EXPECT_EQ(t.n.topology().edges().size(), 3u);
  EXPECT_EQ(t.n.forward({1.0f}, 1)[0], 2 * 3 - 1.0f);  // nothing has changed
}

TEST(DagContract, ACopyLivesItsOwnLife) {
  DagNN a = random_dag(4, 3, 12, 2, true);
  const std::vector<float> samples = random_numbers(1, 30), dy = random_numbers(2, 20);
  a.forward(samples, 10);
  a.backward_accumulate(dy);
  a.split_edge(a.topology().edges().begin()->first);  // an edit that waits
  DagNN b = a;
  EXPECT_EQ(b.parameters().hash(), a.parameters().hash());
  EXPECT_EQ(b.gradient_norm(), a.gradient_norm());
  const std::string before = a.parameters().hash();
  b.step(0.1f);
  b.prune_percentile(50);
  b.forward(samples, 10);
  EXPECT_EQ(a.parameters().hash(), before);
  a = b;
  EXPECT_EQ(a.parameters().hash(), b.parameters().hash());
  EXPECT_TRUE(std::ranges::equal(a.forward(samples, 10), b.forward(samples, 10)));
}

TEST(DagContract, FrozenTensorsStayThroughEdits) {
  DagNN n = random_dag(4, 3, 12, 2, false);
  n.parameters().freeze(n.parameters().find("bias"));
  n.split_edge(n.topology().edges().begin()->first);
  const std::vector<float> samples = random_numbers(1, 30), dy = random_numbers(2, 20);
  n.forward(samples, 10);
  const std::vector<float> before(n.parameters().values(0).begin(), n.parameters().values(0).end());
  n.backward_accumulate(dy);
  n.step(0.1f);
  EXPECT_TRUE(std::ranges::equal(n.parameters().values(0), before));
}

// Two symbols of three features each are a sample. One call against the two it stands for.
TEST(DagContract, AnEmbeddingInFrontGetsItsGradients) {
  Parameters p, q;
  const Embedding e(p, "rows", 5, 3), f(q, "rows", 5, 3);
  e.initialize(p, 1);
  f.initialize(q, 1);
  const std::vector<std::uint32_t> symbols{0, 4, 2, 2, 1, 0};
  std::vector<float> samples(symbols.size() * 3);
  e.lookup(p, symbols, samples);
  DagNN a = DagNN::layered({6, 7, 2}), b = a;
  a.forward(samples, 3);
  b.forward(samples, 3);
  const std::vector<float> dy = random_numbers(3, 6);
  e.backward_through(a, dy, p, symbols);
  b.backward_accumulate(dy);
  f.backward(q, symbols, b.input_gradients(), q.gradients());
  EXPECT_TRUE(p.has_gradients());
  EXPECT_TRUE(std::ranges::equal(p.gradients(), q.gradients()));
  EXPECT_TRUE(std::ranges::equal(a.parameters().gradients(), b.parameters().gradients()));
  a.train(false);
  e.backward_through(a, dy, p, symbols);
  EXPECT_TRUE(std::ranges::equal(p.gradients(), q.gradients()));
}

}  // namespace
}  // namespace espalier
