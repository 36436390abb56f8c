// What DagNN, its topology and shared weights refuse, and that a refusal changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Small {
  DagNN n;
  NodeId x = n.add_node(NodeKind::kInput), h = n.add_node(NodeKind::kHidden), y = n.add_node(NodeKind::kOutput);
  EdgeId xh = n.add_edge(x, h, 2), hy = n.add_edge(h, y, 3), xy = n.add_edge(x, y, -1);
};

TEST(DagEdges, UnknownIdsAreRefusedEverywhere) {
  Small s;
  DagNN& n = s.n;
  EXPECT_THROW(n.weight(9), Error);
  EXPECT_THROW(n.bias(9), Error);
  EXPECT_THROW(n.set_weight(9, 1), Error);
  EXPECT_THROW(n.set_bias(9, 1), Error);
  EXPECT_THROW(n.weight_index(9), Error);
  EXPECT_THROW(n.bias_index(9), Error);
  EXPECT_THROW(n.bias_index(s.x), Error);  // inputs have none
  EXPECT_THROW(n.remove_edge(9), Error);
  EXPECT_THROW(n.remove_node(9), Error);
  EXPECT_THROW(n.split_edge(9), Error);
  EXPECT_THROW(n.add_shortcut(s.x, 9), Error);
  EXPECT_THROW(n.add_shortcut(9, s.y), Error);
  EXPECT_THROW(n.add_shortcut(s.h, s.x), Error);  // into an input
  EXPECT_THROW(n.accumulate_edge_grad(s.h, s.x, 1), Error);
  EXPECT_THROW(n.insert_edge(s.xh, s.x, s.y, 1), Error);  // an id twice
  EXPECT_THROW(n.insert_edge(20, s.x, 9, 1), Error);
  EXPECT_THROW(n.insert_edge(20, s.x, s.y, kNan), Error);
  EXPECT_THROW(n.insert_edge(0xFFFFFFFF, s.h, s.y, 1), Error);
  EXPECT_THROW(n.insert_node(s.h, NodeKind::kHidden, Activation::kLinear, 0), Error);
  EXPECT_THROW(n.insert_node(20, NodeKind::kInput, Activation::kLinear, 0.5f), Error);
  EXPECT_THROW(n.insert_node(20, NodeKind::kInput, Activation::kRelu, 0), Error);
  const DagTopology& t = n.topology();
  EXPECT_THROW(t.node(9), Error);
  EXPECT_THROW(t.edge(9), Error);
  EXPECT_EQ(t.nodes().size(), 3u);
  EXPECT_EQ(t.edges().size(), 3u);
  EXPECT_EQ(n.forward({1.0f}, 1)[0], 5.0f);
}

TEST(DagEdges, ASplitWithoutIdsLeftChangesNothing) {
  for (const bool nodes : {true, false}) {
    Small s;
    s.n.reserve_ids(nodes ? 0xFFFFFFFF : 0, nodes ? 0 : 0xFFFFFFFF);
    EXPECT_THROW(s.n.split_edge(s.xh), Error);
    EXPECT_EQ(s.n.topology().nodes().size(), 3u);
    EXPECT_EQ(s.n.topology().edge(s.xh).to, s.h);
    EXPECT_EQ(s.n.forward({1.0f}, 1)[0], 5.0f);
    EXPECT_THROW(nodes ? s.n.add_node(NodeKind::kHidden) : s.n.add_edge(s.x, s.h, 1), Error);
  }
}

TEST(DagEdges, LargeIdsSurviveAFile) {
  Small s;
  s.n.reserve_ids(0xFFFFFFF0, 4'000'000'000);
  SafetensorsFile file;
  s.n.save(file);
  DagNN again = DagNN::load(file);
  EXPECT_EQ(again.topology().next_node(), 0xFFFFFFF0u);
  EXPECT_EQ(again.topology().next_edge(), 4'000'000'000u);
  for (const char* bad : {"", "-1", "4294967296", "7x", " 7"}) {
    file.metadata["dag.next_edge"] = bad;
    EXPECT_THROW(DagNN::load(file), Error) << bad;
    EXPECT_THROW(DagNN::load_shape(file), Error) << bad;
  }
}

TEST(DagEdges, ShapesWithoutMeaningAreRefused) {
  for (const double bad : {0.0, -0.5, 1.5, std::nan("")})
    EXPECT_THROW(DagNN::layered({2, 2}, {.density = bad}), Error) << bad;
  EXPECT_THROW(DagNN::layered({2}), Error);
  EXPECT_THROW(DagNN::layered({2, 0, 1}), Error);
  EXPECT_THROW(DagNN::layered({std::size_t{1} << 40, 2}), Error);
  const WeightedEdge beyond[] = {{0, 5, 1.0f}}, circle[] = {{0, 1, 1.0f}, {1, 2, 1.0f}, {2, 1, 1.0f}},
                     nothing[] = {{0, 1, kNan}};
  EXPECT_THROW(DagNN::from_edges(3, beyond, Activation::kTanh), Error);
  EXPECT_THROW(DagNN::from_edges(3, circle, Activation::kTanh), Error);
  EXPECT_THROW(DagNN::from_edges(3, nothing, Activation::kTanh), Error);
  EXPECT_THROW(DagNN::from_edges(std::size_t{1} << 40, {}, Activation::kTanh), Error);
}

TEST(DagEdges, CallsOutOfOrderAreRefused) {
  Small s;
  EXPECT_THROW(s.n.input_gradients(), Error);
  EXPECT_THROW(std::as_const(s.n).parameters(), Error);  // edits wait
  s.n.forward({1.0f}, 1);
  EXPECT_THROW(s.n.input_gradients(), Error);
  EXPECT_THROW(s.n.backward_accumulate({1.0f, 1.0f}), Error);  // one sample of one output
  EXPECT_FALSE(s.n.has_gradients());
  s.n.backward_accumulate({1.0f});
  EXPECT_THAT(s.n.input_gradients(), testing::ElementsAre(5.0f));
}

TEST(DagEdges, WhatIsNoNumberIsRefused) {
  Small s;
  EXPECT_THROW(s.n.forward({kNan}, 1), Error);
  EXPECT_THROW(s.n.forward({INFINITY}, 1), Error);
  EXPECT_THROW(s.n.accumulate_edge_grad(s.x, s.h, kNan), Error);
  EXPECT_FALSE(s.n.has_gradients());
}

// The weights of backward must be those of forward, whoever moved them.
TEST(DagEdges, AnOptimizerNeedsANewForwardToo) {
  const auto ready = [](Small& s) {
    s.n.forward({1.0f}, 1);
    s.n.backward_accumulate({1.0f});
  };
  Small s;
  ready(s);
  Optimizer optimizer({}, s.n.parameters().num_parameters());
  optimizer.step(s.n.parameters(), 0.1f);
  EXPECT_THROW(s.n.backward_accumulate({1.0f}), Error);
  ready(s);
  sgd_step(s.n.parameters(), 0.1f);
  EXPECT_THROW(s.n.backward_accumulate({1.0f}), Error);
  ready(s);
  s.n.parameters().values()[0] = 1;
  EXPECT_THROW(s.n.backward_accumulate({1.0f}), Error);
  ready(s);
  SafetensorsFile file;
  file.add("bias", {2}, std::span<const float>(std::vector<float>(2)));
  file.add("weight", {3}, std::span<const float>(std::vector<float>(3)));
  load_parameters(s.n.parameters(), file);
  EXPECT_THROW(s.n.backward_accumulate({1.0f}), Error);
}

TEST(DagEdges, RemovedEdgesHaveNoGradients) {
  Small s;
  s.n.accumulate_edge_grad(s.x, s.y, 1);
  EXPECT_TRUE(s.n.has_gradients());
  s.n.remove_edge(s.xy);
  EXPECT_FALSE(s.n.has_gradients());
  s.n.accumulate_edge_grad(s.x, s.h, 0);
  s.n.apply_edits();
  EXPECT_TRUE(s.n.has_gradients());
  s.n.remove_node(s.h);
  EXPECT_FALSE(s.n.has_gradients());
  s.n.apply_edits();
  EXPECT_FALSE(s.n.has_gradients());
}

// A larger batch moves the memory of the outputs, which are the samples.
TEST(DagEdges, OutputsMayBeTheSamplesOfTheNextCall) {
  DagNN n = DagNN::layered({2, 3, 4}, {.seed = 3}), m = n;
  const std::vector<float> samples{1, 2, 3, 4, 5, 6};
  const std::span<const float> y = n.forward(samples, 3);
  const std::vector<float> kept(y.begin(), y.end());
  EXPECT_TRUE(std::ranges::equal(n.forward(y, 6), m.forward(kept, 6)));
}

TEST(DagEdges, SharedWeightsRefuseWhatIsNoNumber) {
  SymbolWeights shared;
  DagNN n = DagNN::from_text("ab");
  shared.tie(n);
  EXPECT_THROW(shared.step(kNan), Error);
  EXPECT_THROW(shared.step(INFINITY), Error);
  EXPECT_EQ(shared.weight('a', 'b'), 1.0f);
  for (const char* name : {"symbols.weight", "symbols.bias"}) {
    SafetensorsFile file;
    shared.save(file);
    StoredTensor& tensor = file.tensors.at(name);
    std::memcpy(tensor.bytes.data(), &kNan, sizeof kNan);
    EXPECT_THROW(SymbolWeights::load(file), Error) << name;
  }
}

TEST(DagEdges, EditsAreAppliedWithOptimizersThatAreThere) {
  Small s;
  s.n.split_edge(s.xh);
  Optimizer* const none[] = {nullptr};
  EXPECT_THROW(s.n.apply_edits(none), Error);
  EXPECT_NO_THROW(s.n.apply_edits(nullptr));
}

TEST(DagEdges, KindsAndActivationsThatAreNoneAreRefused) {
  Small s;
  EXPECT_THROW(s.n.add_node(static_cast<NodeKind>(9)), Error);
  EXPECT_THROW(s.n.add_node(NodeKind::kHidden, static_cast<Activation>(9)), Error);
  EXPECT_THROW(s.n.insert_node(77, NodeKind::kHidden, static_cast<Activation>(5), 0), Error);
  EXPECT_THROW(DagNN::layered({2, 2, 1}, {.hidden = static_cast<Activation>(9)}), Error);
}

}  // namespace
}  // namespace espalier
