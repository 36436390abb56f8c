// What message passing, embeddings and GraphTransformNet refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/optimizer.hpp"

namespace espalier {
namespace {

struct Layer {
  Parameters p;
  MessagePassingLayer layer{p, "layer", {3, 2}};
  MessageGraph graph{{Graph(4, {{0, 1}, {1, 2}, {3, 1}})}};
  std::vector<float> h = std::vector<float>(12, 0.5f), y = std::vector<float>(8), dy = std::vector<float>(8, 1.0f),
                     dh = std::vector<float>(12);
  MessageTape tape;
  Layer() { layer.initialize(p, 1); }
  void backward(std::span<const float> out, std::span<const float> grad, std::span<float> gradients,
                std::span<float> below) {
    layer.backward(p, graph, h, out, grad, tape, gradients, below);
  }
};

TEST(MessageEdges, BackwardNeedsItsForward) {
  Layer l;
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  l.backward(l.y, l.dy, l.p.gradients(), l.dh);
  l.backward(l.y, l.dy, l.p.gradients(), {});  // again, and without dh
  // A forward of another graph, or of another layer, is not the one.
  const MessageGraph other({Graph(2, {{0, 1}})});
  std::vector<float> small_h(6), small_y(4);
  l.layer.forward_batch(l.p, other, small_h, small_y, l.tape);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
  Parameters p;
  const MessagePassingLayer max(p, "max", {3, 2, 1, Aggregation::kMax});
  max.forward_batch(p, l.graph, l.h, l.y, l.tape);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
}

// Layers of equal options in one Parameters object, and graphs of equal size, are still others.
TEST(MessageEdges, BackwardNeedsTheForwardOfItsOwnLayerAndGraph) {
  Layer l;
  const MessagePassingLayer twin(l.p, "twin", l.layer.options());
  twin.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
  const MessageGraph other({Graph(4, {{0, 1}})});
  l.layer.forward_batch(l.p, other, l.h, l.y, l.tape);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
}

// Everything that a backward pass reads is as its forward pass had it, or nothing is added.
TEST(MessageEdges, BackwardNeedsTheNumbersOfItsForward) {
  Layer l;
  MessageTape train, validation;
  std::vector<float> other_h(12, 0.25f), other_y(8);
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, train);
  l.layer.forward_batch(l.p, l.graph, other_h, other_y, validation);
  const auto back = [&](MessageTape& tape, std::span<const float> h, std::span<const float> y) {
    l.layer.backward(l.p, l.graph, h, y, l.dy, tape, l.p.gradients(), l.dh);
  };
  EXPECT_THROW(back(validation, l.h, l.y), Error);
  EXPECT_THROW(back(train, other_h, l.y), Error);
  EXPECT_THROW(back(train, l.h, other_y), Error);
  const MessageGraph turned({Graph(4, {{0, 1}, {1, 2}, {1, 3}})});  // as many nodes and edges
  EXPECT_THROW(l.layer.backward(l.p, turned, l.h, l.y, l.dy, train, l.p.gradients(), l.dh), Error);
  EXPECT_FALSE(l.p.has_gradients());
  back(train, l.h, l.y);
  back(validation, other_h, other_y);
  const MessageGraph same = l.graph;  // a copy is the same graph
  l.layer.backward(l.p, same, l.h, l.y, l.dy, train, l.p.gradients(), l.dh);
  l.h[11] = 9;
  EXPECT_THROW(back(train, l.h, l.y), Error);
}

TEST(MessageEdges, BackwardNeedsTheWeightsOfItsForward) {
  Layer l;
  Optimizer optimizer({}, l.p.num_parameters());
  const auto moves = {std::function([&] { optimizer.step(l.p, 0.1f); }),
                      std::function([&] { l.layer.step(l.p, 0.1f); }),
                      std::function([&] { l.layer.initialize(l.p, 2); }), std::function([&] { l.p.values()[5] += 1; })};
  for (const auto& move : moves) {
    l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
    l.backward(l.y, l.dy, l.p.gradients(), l.dh);
    move();
    EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
  }
}

TEST(MessageEdges, ParametersOfOthersAreRefused) {
  Layer l;
  Parameters other;
  other.add("few", {3});
  EXPECT_THROW(l.layer.initialize(other, 1), Error);
  EXPECT_THROW(l.layer.zero_grad(other), Error);
  EXPECT_THROW(l.layer.step(other, 0.1f), Error);
  EXPECT_THROW(l.layer.step(l.p, std::nanf("")), Error);
  EXPECT_EQ(other.num_parameters(), 3u);
  EXPECT_THROW(aggregation_named("median"), Error);
}

TEST(MessageEdges, AStoppedForwardLeavesNothingForBackward) {
  Layer l;
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  ThreadPool pool(1);
  StopFlag stop;
  stop.raise();
  pool.watch(&stop);
  EXPECT_THROW(l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape, pool), Cancelled);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.dh), Error);
}

TEST(MessageEdges, ShortArraysAreRefused) {
  Layer l;
  std::vector<float> shorter(7), longer(13);
  EXPECT_THROW(l.layer.forward_batch(l.p, l.graph, l.h, shorter, l.tape), Error);
  EXPECT_THROW(l.layer.forward_batch(l.p, l.graph, longer, l.y, l.tape), Error);
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  EXPECT_THROW(l.backward(shorter, l.dy, l.p.gradients(), l.dh), Error);
  EXPECT_THROW(l.backward(l.y, shorter, l.p.gradients(), l.dh), Error);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients().first(l.p.num_parameters() - 1), l.dh), Error);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), shorter), Error);
  EXPECT_FALSE(l.p.has_gradients());
  EXPECT_THROW(l.layer.forward_batch(Parameters(), l.graph, l.h, l.y, l.tape), Error);
  std::vector<float> one(2);
  EXPECT_THROW(l.layer.forward(l.p, l.graph, l.h, 4, one), Error);
  EXPECT_THROW(l.layer.forward(l.p, l.graph, l.h, 0, std::span(one).first(1)), Error);
  const MessageGraph two({Graph(4, {{0, 1}}), Graph(4, {})});
  EXPECT_THROW(l.layer.forward_batch(l.p, two, l.h, l.y, l.tape), Error);
  EXPECT_THROW(MessageGraph({Graph(4, {}), Graph(3, {})}), Error);
  EXPECT_THROW(MessageGraph(std::vector<Graph>{}), Error);
}

TEST(MessageEdges, OverlappingArraysAreRefused) {
  Layer l;
  std::vector<float> both(12 + 7);
  const std::span<float> all(both);
  EXPECT_THROW(l.layer.forward_batch(l.p, l.graph, all.first(12), all.subspan(11), l.tape), Error);
  std::vector<float> apart(20);
  l.layer.forward_batch(l.p, l.graph, std::span(apart).first(12), std::span(apart).last(8), l.tape);  // side by side
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.gradients(), l.h), Error);
  EXPECT_THROW(l.backward(l.dh, l.dy, l.p.gradients(), l.dh), Error);  // of another size, too
  EXPECT_THROW(l.layer.forward(l.p, l.graph, l.h, 0, std::span(l.h).first(2)), Error);
  std::vector<float> large(l.p.num_parameters() + 12);
  const std::span<float> gradients = std::span(large).first(l.p.num_parameters());
  EXPECT_THROW(l.backward(l.y, l.dy, gradients, std::span(large).subspan(5, 12)), Error);
  EXPECT_THROW(l.backward(l.y, gradients.first(8), gradients, l.dh), Error);
  EXPECT_THROW(l.backward(l.y, l.dy, l.p.values(), l.dh), Error);
}

TEST(MessageEdges, ACopiedGraphStandsOnItsOwn) {
  Layer l;
  auto first = std::make_unique<MessageGraph>(l.graph);
  const MessageGraph copy = *first;
  first.reset();
  EXPECT_EQ(copy.num_edges(), 3u);
  EXPECT_EQ(copy.sides()[0].list.data(), copy.relations()[0].sources().data());
  std::vector<float> z(8);
  l.layer.forward_batch(l.p, l.graph, l.h, l.y, l.tape);
  l.layer.forward_batch(l.p, copy, l.h, z, l.tape);
  EXPECT_EQ(l.y, z);
}

TEST(EmbeddingEdges, UnknownSymbolsAndShortArraysAreRefused) {
  Parameters p;
  const Embedding e(p, "rows", 3, 2);
  const std::uint32_t symbols[] = {0, 2}, unknown[] = {0, 3};
  std::vector<float> four(4), three(3);
  EXPECT_THROW(e.lookup(p, unknown, four), Error);
  EXPECT_THROW(e.lookup(p, symbols, three), Error);
  EXPECT_THROW(e.lookup(Parameters(), symbols, four), Error);
  EXPECT_THROW(e.backward(p, unknown, four, p.gradients()), Error);
  EXPECT_THROW(e.backward(p, symbols, three, p.gradients()), Error);
  EXPECT_THROW(e.backward(p, symbols, four, p.gradients().first(5)), Error);
  EXPECT_THROW(Embedding(p, "none", 0, 2), Error);
  EXPECT_THROW(Embedding(p, "huge", std::size_t{1} << 31, 2), Error);
}

TEST(EmbeddingEdges, ParametersOfOthersAreRefused) {
  Parameters p, empty, other;
  const Embedding e(p, "rows", 3, 2);
  other.add("rows", {2, 2});
  const std::uint32_t symbols[] = {0, 2};
  std::vector<float> four(4), gradients(6);
  for (Parameters* q : {&empty, &other}) {
    EXPECT_THROW(e.initialize(*q, 1), Error);
    EXPECT_THROW(e.zero_grad(*q), Error);
    EXPECT_THROW(e.step(*q, 0.1f), Error);
    EXPECT_THROW(e.freeze(*q, true), Error);
    EXPECT_THROW(e.frozen(*q), Error);
    EXPECT_THROW(e.lookup(*q, symbols, four), Error);
    EXPECT_THROW(e.backward(*q, symbols, four, gradients), Error);
  }
  EXPECT_THROW(e.step(p, std::nanf("")), Error);
  EXPECT_THROW(e.lookup(p, symbols, p.values().first(4)), Error);  // over its own rows
  EXPECT_THROW(e.backward(p, symbols, p.gradients().first(4), p.gradients()), Error);
  EXPECT_THROW(Embedding::row_of_code_point('a', 0), Error);
  EXPECT_EQ(Embedding::row_of_code_point('a', 1), 0u);
}

TEST(EmbeddingEdges, BackwardThroughANetworkChecksBothHalves) {
  Parameters p;
  const Embedding e(p, "rows", 3, 2);
  e.initialize(p, 1);
  DagNN n = DagNN::layered({2, 1});
  const std::uint32_t symbols[] = {0, 2}, few[] = {1};
  std::vector<float> samples(4), dy(2, 1.0f);
  EXPECT_THROW(e.backward_through(n, dy, p, symbols), Error);  // no forward
  e.lookup(p, symbols, samples);
  n.forward(samples, 2);
  EXPECT_THROW(e.backward_through(n, std::span(dy).first(1), p, symbols), Error);
  EXPECT_THROW(e.backward_through(n, dy, p, few), Error);  // those of the forward were two
  EXPECT_FALSE(p.has_gradients());
}

TEST(TransformEdges, WhatWasMadeForOtherLabelsIsRefused) {
  const TransformOptions small{.features = 4, .layers = 1};
  const GraphTransformNet net(Vocabulary({"a", "b"}), Vocabulary({"x"}), 2, small, 1);
  const GraphTransformNet twin(Vocabulary({"a", "b"}), Vocabulary({"x"}), 3, small, 2);
  const GraphTransformNet turned(Vocabulary({"b", "a"}), Vocabulary({"x"}), 2, small, 1);
  const GraphTransformNet joined(Vocabulary({"ab"}), Vocabulary({"x"}), 2, small, 1);
  const LabelledGraph graph{.labels = {"a", "b"}, .edges = {{0, 1, "x"}}};
  const TransformBatch batch = net.batch(std::span(&graph, 1));
  const NumberedGraph numbered = net.number(graph);
  const NumberedGraph* const one[] = {&numbered};
  TransformState state;
  const std::vector<std::uint32_t> edits{0, 1};
  for (const GraphTransformNet* other : {&turned, &joined}) {
    EXPECT_THROW(other->loss(batch, edits, 1, state), Error);
    EXPECT_THROW(other->predict_edits(batch, state), Error);
    EXPECT_THROW(other->encode(batch, state), Error);
    EXPECT_THROW(other->batch(one), Error);
  }
  EXPECT_EQ(twin.loss(batch, edits, 1, state), twin.loss(twin.batch(std::span(&graph, 1)), edits, 1, state));
  EXPECT_EQ(twin.batch(one).symbols, batch.symbols);
}

TEST(TransformEdges, GraphsThatAreNoneAndNumbersThatAreNoneAreRefused) {
  const GraphTransformNet net(Vocabulary({"a", "b"}), Vocabulary({"x"}), 2, {.features = 4, .layers = 1}, 1);
  EXPECT_THROW(net.words().label(2), Error);
  EXPECT_EQ(net.words().label(1), "b");
  const NumberedGraph graph{{0, 1}, {{0, 1, 0}}, net.labels()};
  const NumberedGraph* const both[] = {&graph, nullptr};
  EXPECT_THROW(net.batch(both), Error);
  const TransformBatch batch = net.batch(std::span(both, 1));
  TransformState state;
  const std::vector<std::uint32_t> edits{0, 1}, short_edits{0};
  EXPECT_THROW(net.loss(batch, edits, std::nan(""), state), Error);
  EXPECT_THROW(net.loss(batch, short_edits, 1, state), Error);
  std::vector<float> gradients(net.parameters().num_parameters());
  EXPECT_THROW(net.loss_and_gradients(batch, edits, INFINITY, state, gradients), Error);
  EXPECT_GT(net.loss_and_gradients(batch, edits, 1, state, gradients), 0);
  EXPECT_GT(state.forward_seconds, 0);
  EXPECT_GT(state.backward_seconds, 0);
}

// Neither weight decay nor gradients from before the freeze nor moments move frozen rows.
TEST(EmbeddingEdges, FrozenRowsStayWhateverStepsOverThem) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW}) {
    Parameters p;
    p.add("before", {7});
    const Embedding e(p, "rows", 3, 2);
    p.add("after", {5});
    e.initialize(p, 1);
    for (float& g : p.gradients()) g = 1;
    Optimizer optimizer({.kind = kind, .momentum = 0.5f, .weight_decay = 0.1f}, p.num_parameters());
    const ThreadPool pool(1);
    optimizer.step(p, 0.1f, pool);
    e.freeze(p, true);
    EXPECT_TRUE(e.frozen(p));
    const std::vector<float> before(p.values().begin(), p.values().end());
    optimizer.step(p, 0.1f, pool);
    sgd_step(p, 0.1f);
    e.step(p, 0.1f);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(p.values()[i] == before[i], i >= 7 && i < 13) << i;
    EXPECT_DOUBLE_EQ(p.gradient_norm(pool), std::sqrt(12.0));  // the others
    e.freeze(p, false);
    optimizer.step(p, 0.1f, pool);
    for (std::size_t i = 7; i < 13; ++i) EXPECT_NE(p.values()[i], before[i]);
  }
}

TEST(MessageEdges, ATapeWithoutWhatForwardKeepsIsRefused) {
  for (const Aggregation aggregation : {Aggregation::kMean, Aggregation::kMax})
    for (const bool norm : {false, true}) {
      Parameters p;
      const MessagePassingLayer layer(p, "layer", {.in = 2, .out = 3, .aggregation = aggregation, .layer_norm = norm});
      layer.initialize(p, 1);
      const MessageGraph graph({Graph(3, {{0, 1}, {1, 2}})});
      std::vector<float> h(6, 0.5f), y(9), dy(9, 1.0f), gradients(p.num_parameters());
      MessageTape tape;
      layer.forward_batch(p, graph, h, y, tape);
      const auto backward = [&](MessageTape& s) { layer.backward(p, graph, h, y, dy, s, gradients, {}); };
      MessageTape copy = tape;
      EXPECT_NO_THROW(backward(copy));
      MessageTape bare;  // as if there had been a forward pass
      bare.options = tape.options;
      bare.graph = tape.graph;
      bare.weights = tape.weights;
      bare.rows = tape.rows;
      if (norm || aggregation == Aggregation::kMax)
        EXPECT_THROW(backward(bare), Error);
      else
        EXPECT_NO_THROW(backward(bare));
    }
}

TEST(MessageEdges, AggregationsThatAreNoneAreRefused) {
  Parameters p;
  EXPECT_THROW(MessagePassingLayer(p, "l", {.in = 2, .out = 3, .aggregation = static_cast<Aggregation>(3)}), Error);
  EXPECT_THROW(MessagePassingLayer(p, "l", {.in = 2, .out = 3, .activation = static_cast<Activation>(9)}), Error);
  EXPECT_TRUE(p.tensors().empty());
}

}  // namespace
}  // namespace espalier
