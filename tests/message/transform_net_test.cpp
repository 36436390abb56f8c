// Embedding and GraphTransformNet: gradients by finite differences, the overfit test, rewriting.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "espalier/error.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/random.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier {
namespace {

TEST(Embedding, RepeatedSymbolsAddUpAndFrozenOnesDoNot) {
  Parameters p;
  p.add("before", {5});
  Embedding e(p, "rows", 3, 2);
  e.initialize(p, 1);
  const std::uint32_t symbols[] = {2, 0, 2, 2};
  std::vector<float> out(8);
  e.lookup(p, symbols, out, ThreadPool(1));
  EXPECT_EQ(out[0], p.values()[5 + 4]);
  EXPECT_EQ(out[3], p.values()[5 + 1]);
  e.backward(symbols, std::vector<float>{1, 2, 10, 20, 3, 4, 5, 6}, p.gradients(), ThreadPool(1));
  EXPECT_EQ(std::vector<float>(p.gradients().begin() + 5, p.gradients().end()),
            (std::vector<float>{10, 20, 0, 0, 9, 12}));
  const float w = p.values()[5];
  e.step(p, 0.5f, ThreadPool(1));
  EXPECT_EQ(p.values()[5], w - 5);
  e.zero_grad(p, ThreadPool(1));
  EXPECT_FALSE(p.has_gradients());
  e.freeze(true);
  e.backward(symbols, std::vector<float>(8, 1.0f), p.gradients(), ThreadPool(1));
  EXPECT_FALSE(p.has_gradients());
  const std::uint32_t bad[] = {3};
  EXPECT_THROW(e.lookup(p, bad, out, ThreadPool(1)), Error);
}

TEST(Embedding, AnyCodePointHasARow) {
  std::vector<int> used(100);
  for (std::uint32_t c = 0; c < 0x110000; c += 7) {
    const std::uint32_t row = Embedding::row_of_code_point(c, 100);
    ASSERT_LT(row, 100u);
    ++used[row];
  }
  for (const int n : used) EXPECT_NEAR(n, 0x110000 / 7 / 100, 300);
  EXPECT_NE(Embedding::row_of_code_point('a', 1000), Embedding::row_of_code_point('b', 1000));
}

struct Examples {
  std::vector<Expression> inputs;
  std::vector<const Expression*> pointers;
  std::vector<std::uint32_t> edits;
};

Examples examples(const Vocabulary& words, std::size_t count, std::uint64_t seed) {
  SimplifyDataOptions o;
  o.train = count, o.validation = o.test = 1, o.deep = 0, o.seed = seed;
  Examples all;
  all.inputs = make_simplify_data(o).train;
  for (const Expression& e : all.inputs) {
    all.pointers.push_back(&e);
    for (const std::uint32_t edit : simplify_edits(e, words)) all.edits.push_back(edit);
  }
  return all;
}

const Vocabulary kWords = arithmetic_vocabulary(9, {"x", "y", "z"});

TEST(GraphTransformNet, LossGradientsEqualFiniteDifferences) {
  for (const Aggregation a : {Aggregation::kMean, Aggregation::kSum, Aggregation::kMax})
    for (const bool norm : {false, true}) {
      GraphTransformNet net = make_rewrite_net(kWords, {6, 2, a, norm, Activation::kTanh}, 3);
      const Examples all = examples(kWords, 12, 5);
      const TransformBatch batch = batch_expressions(net, all.pointers);
      TransformState state;
      const double loss =
          net.loss_and_gradients(batch, all.edits, 0.1, state, net.parameters().gradients(), ThreadPool(1));
      EXPECT_NEAR(loss, net.loss(batch, all.edits, 0.1, state, ThreadPool(1)), 1e-6 * loss);
      // The sum of squares of the gradients is the slope along the gradient: one number checks all of them.
      const double squares = std::pow(net.parameters().gradient_norm(ThreadPool(1)), 2);
      const std::vector<float> start(net.parameters().values().begin(), net.parameters().values().end());
      const double h = 2e-3 / std::sqrt(squares);
      const auto at = [&](double t) {
        for (std::size_t i = 0; i < start.size(); ++i)
          net.parameters().values()[i] = start[i] + static_cast<float>(t) * net.parameters().gradients()[i];
        return net.loss(batch, all.edits, 0.1, state, ThreadPool(1));
      };
      EXPECT_NEAR((at(h) - at(-h)) / (2 * h) / squares, 1, 0.01);
      // And each tensor by itself, along its own gradient.
      for (const TensorInfo& t : net.parameters().tensors()) {
        double own = 0;
        for (std::size_t i = 0; i < t.size; ++i) own += std::pow(net.parameters().gradients()[t.offset + i], 2);
        if (std::sqrt(own) < 1e-2) continue;
        const double step = 4e-3 / std::sqrt(own);
        const auto along = [&](double x) {
          std::copy(start.begin(), start.end(), net.parameters().values().begin());
          for (std::size_t i = t.offset; i < t.offset + t.size; ++i)
            net.parameters().values()[i] += static_cast<float>(x) * net.parameters().gradients()[i];
          return net.loss(batch, all.edits, 0.1, state, ThreadPool(1));
        };
        EXPECT_NEAR((along(step) - along(-step)) / (2 * step) / own, 1, 0.02) << t.name;
      }
    }
}

TEST(GraphTransformNet, LearnsAHundredExamplesByHeart) {
  GraphTransformNet net = make_rewrite_net(kWords, {32, 3}, 1);
  const Examples all = examples(kWords, 100, 9);
  const TransformBatch batch = batch_expressions(net, all.pointers);
  TransformState state;
  Optimizer optimizer({}, net.parameters().num_parameters());
  for (int step = 0; step < 150; ++step) {
    net.zero_grad(ThreadPool(1));
    net.loss_and_gradients(batch, all.edits, 1.0 / static_cast<double>(all.edits.size()), state,
                           net.parameters().gradients(), ThreadPool(1));
    optimizer.step(net.parameters(), 0.01f, ThreadPool(1));
  }
  EXPECT_EQ(net.predict_edits(batch, state, ThreadPool(1)), all.edits);
  for (const Expression& e : all.inputs) EXPECT_EQ(to_text(transform(net, e)), to_text(simplify_pass(e, kWords)));
}

TEST(GraphTransformNet, RewritesToAFixedPointAndRefusesUnknownLabels) {
  const GraphTransformNet net = make_rewrite_net(kWords, {8, 1}, 1);
  const std::vector<Expression> passes = rewrite(net, parse_expression("(+ (* x 1) 0)"), 20, false).passes;
  EXPECT_EQ(to_text(passes.front()), "(+ (* x 1) 0)");
  EXPECT_LE(passes.size(), 21u);
  try {
    transform(net, parse_expression("(+ w 0)"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("\"w\""), std::string::npos);
  }
  EXPECT_TRUE(transform(net, Expression{}).nodes.empty());
}

TEST(GraphTransformNet, ABatchPredictsWhatItsPartsPredict) {
  const GraphTransformNet net = make_rewrite_net(kWords, {16, 3}, 4);
  const Examples all = examples(kWords, 60, 2);
  const TransformBatch batch = batch_expressions(net, all.pointers);
  TransformState state;
  const std::vector<std::uint32_t> together = net.predict_edits(batch, state, ThreadPool(1));
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    const std::vector<std::uint32_t> alone =
        net.predict_edits(batch_expressions(net, std::span(&all.pointers[i], 1)), state);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + batch.first_node[i]));
  }
}

}  // namespace
}  // namespace espalier
