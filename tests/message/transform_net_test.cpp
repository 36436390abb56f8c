// Embedding and GraphTransformNet: gradients by finite differences, the overfit test, rewriting.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "espalier/error.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/random.hpp"
#include "models/message/simplify_data.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

// Rows are linear in what they give, so the symbols say it all: any order of lookups and backward passes is right.
TEST(Embedding, LookupsAreGoneBackThroughInAnyOrder) {
  Parameters p;
  Embedding e(p, "rows", 4, 3);
  e.initialize(p, 2);
  const std::vector<std::uint32_t> train{3, 0, 3}, validation{1, 1, 2};
  const std::vector<float> dtrain{1, -2, 3, 0.5f, 4, -1, 2, 2, 7}, dvalidation{9, 8, 7, -6, 5, -4, 3, 2, 1};
  std::vector<float> out(9);
  e.lookup(p, train, out);
  e.lookup(p, validation, out);
  e.backward(p, train, dtrain, p.gradients());
  e.backward(p, validation, dvalidation, p.gradients());
  for (std::size_t i = 0; i < 12; ++i) {  // in double, of the sum of both
    const auto sum = [&](double moved) {
      double total = 0;
      for (const auto& [symbols, d] : {std::pair(&train, &dtrain), std::pair(&validation, &dvalidation)})
        for (std::size_t k = 0; k < 9; ++k) {
          const std::size_t at = (*symbols)[k / 3] * 3 + k % 3;
          total += static_cast<double>((*d)[k]) * (static_cast<double>(p.values()[at]) + (at == i ? moved : 0));
        }
      return total;
    };
    EXPECT_NEAR(p.gradients()[i], (sum(1e-3) - sum(-1e-3)) / 2e-3, 1e-5) << i;
  }
}

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
  e.backward(p, symbols, std::vector<float>{1, 2, 10, 20, 3, 4, 5, 6}, p.gradients(), ThreadPool(1));
  EXPECT_EQ(std::vector<float>(p.gradients().begin() + 5, p.gradients().end()),
            (std::vector<float>{10, 20, 0, 0, 9, 12}));
  const float w = p.values()[5];
  e.step(p, 0.5f, ThreadPool(1));
  EXPECT_EQ(p.values()[5], w - 5);
  e.zero_grad(p, ThreadPool(1));
  EXPECT_FALSE(p.has_gradients());
  e.freeze(p, true);
  e.backward(p, symbols, std::vector<float>(8, 1.0f), p.gradients(), ThreadPool(1));
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
  o.train = count, o.validation = o.test = 1, o.deep = 0;
  Examples all;
  all.inputs = make_simplify_data(o, seed).train;
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

// Any labelled graph: molecules with three kinds of bonds, one of them undirected. The task needs the kinds of edges:
// is there a double bond at this atom?
struct Molecules {
  std::vector<LabelledGraph> graphs;
  std::vector<std::uint32_t> right;
};

Molecules molecules(std::uint64_t seed, std::size_t count, bool directed) {
  const Random r(seed, Purpose::kData);
  std::uint64_t draw = 0;
  Molecules all;
  for (std::size_t g = 0; g < count; ++g) {
    LabelledGraph m;
    m.directed = directed;
    const auto atoms = static_cast<std::uint32_t>(3 + r.choice(draw++, 6));
    std::vector<std::uint32_t> right(atoms);
    for (std::uint32_t i = 0; i < atoms; ++i) m.labels.push_back(r.coin(draw++) ? "C" : "O");
    for (std::uint32_t i = 1; i < atoms; ++i) {
      const auto to = static_cast<std::uint32_t>(r.choice(draw++, i));
      const std::uint64_t kind = r.choice(draw++, 3);
      m.edges.push_back({i, to, kind == 0 ? "single" : kind == 1 ? "double" : "ring"});
      if (kind == 1) right[i] = right[to] = 1;
    }
    all.graphs.push_back(m);
    all.right.insert(all.right.end(), right.begin(), right.end());
  }
  return all;
}

GraphTransformNet molecule_net(std::size_t layers = 2) {
  return GraphTransformNet(Vocabulary({"C", "O"}), Vocabulary({"single", "double", "ring"}), 2,
                           {.features = 12, .layers = layers}, 3);
}

TEST(GraphTransformNet, LearnsOnAnyLabelledGraph) {
  for (const bool directed : {false, true}) {
    GraphTransformNet net = molecule_net();
    EXPECT_EQ(net.parameters().tensors()[net.parameters().find("layer0.in")].shape[0], 3u);
    const Molecules train = molecules(1, 80, directed), test = molecules(2, 40, directed);
    const TransformBatch batch = net.batch(train.graphs);
    ASSERT_EQ(batch.graph.num_relations(), 3u);
    TransformState state;
    for (int step = 0; step < 300; ++step) {
      net.zero_grad();
      net.loss_and_gradients(batch, train.right, 1.0 / static_cast<double>(train.right.size()), state,
                             net.parameters().gradients());
      net.step(0.3f);
    }
    EXPECT_EQ(net.predict_edits(batch, state), train.right);
    EXPECT_EQ(net.predict_edits(net.batch(test.graphs), state), test.right);
    EXPECT_EQ(net.encode(batch, state).size(), train.right.size() * 12);
  }
}

TEST(GraphTransformNet, AnUndirectedEdgeIsHeardBothWays) {
  const GraphTransformNet net = molecule_net(1);
  LabelledGraph pair{.labels = {"C", "C"}, .edges = {{0, 1, "ring"}}};
  TransformState state;
  const auto rows = [&] {
    const auto h = net.encode(net.batch(std::span(&pair, 1)), state);
    return std::pair(std::vector<float>(h.begin(), h.begin() + 12), std::vector<float>(h.begin() + 12, h.end()));
  };
  EXPECT_EQ(rows().first, rows().second);
  pair.directed = true;
  EXPECT_NE(rows().first, rows().second);
  pair.edges.push_back({1, 1, "single"});  // a loop is one edge
  pair.directed = false;
  EXPECT_EQ(net.number(pair).edges.size(), 3u);
}

TEST(GraphTransformNet, StepZeroGradAndGradientsAreTheSameForAnyThreadCount) {
  const Oversubscribe more_threads_than_cores;
  const Molecules all = molecules(5, 400, false);
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    GraphTransformNet net(Vocabulary({"C", "O"}), Vocabulary({"single", "double", "ring"}), 2,
                          {.features = 40, .layers = 2}, 3);
    const TransformBatch batch = net.batch(all.graphs);
    TransformState state;
    double loss = 0;
    for (int step = 0; step < 3; ++step) {
      net.zero_grad(pool);
      EXPECT_FALSE(net.parameters().has_gradients());
      loss = net.loss_and_gradients(batch, all.right, 1e-3, state, net.parameters().gradients(), pool);
      net.step(0.1f, pool);
    }
    Parameters gradients;
    gradients.add("all", {net.parameters().num_parameters()});
    std::ranges::copy(net.parameters().gradients(), gradients.values().begin());
    const std::string hash = net.parameters().hash() + gradients.hash() + std::to_string(loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

TEST(GraphTransformNet, ACopyLivesItsOwnLife) {
  GraphTransformNet net = molecule_net();
  GraphTransformNet copy = net;
  const std::string before = net.parameters().hash();
  EXPECT_EQ(copy.parameters().hash(), before);
  for (float& g : copy.parameters().gradients()) g = 1;
  copy.step(0.1f);
  EXPECT_EQ(net.parameters().hash(), before);
  EXPECT_NE(copy.parameters().hash(), before);
  net = copy;
  const Molecules some = molecules(3, 4, false);
  TransformState state;
  EXPECT_EQ(net.predict_edits(net.batch(some.graphs), state), copy.predict_edits(copy.batch(some.graphs), state));
}

TEST(GraphTransformNet, AFrozenEmbeddingStaysAndTheRestLearns) {
  GraphTransformNet net = molecule_net();
  net.embedding().freeze(net.parameters(), true);
  const Molecules some = molecules(3, 20, false);
  TransformState state;
  const std::vector<float> before(net.parameters().values(0).begin(), net.parameters().values(0).end());
  Optimizer optimizer({.weight_decay = 0.1f}, net.parameters().num_parameters());
  net.loss_and_gradients(net.batch(some.graphs), some.right, 1, state, net.parameters().gradients());
  const std::string all = net.parameters().hash();
  optimizer.step(net.parameters(), 0.1f, calling_thread());
  net.step(0.1f);
  EXPECT_TRUE(std::ranges::equal(net.parameters().values(0), before));
  EXPECT_NE(net.parameters().hash(), all);
}

TEST(GraphTransformNet, MistakesAreRefused) {
  EXPECT_THROW(Vocabulary({"a", "a"}), Error);
  EXPECT_THROW(GraphTransformNet(Vocabulary(), Vocabulary({""}), 2, {}, 1), Error);
  EXPECT_THROW(GraphTransformNet(Vocabulary({"a"}), Vocabulary(), 2, {}, 1), Error);
  EXPECT_THROW(GraphTransformNet(Vocabulary({"a"}), Vocabulary({""}), 0, {}, 1), Error);
  EXPECT_THROW(GraphTransformNet(Vocabulary({"a"}), Vocabulary({""}), 2, {.layers = 65}, 1), Error);
  GraphTransformNet net = molecule_net();
  const auto batch_of = [&](LabelledGraph g) { return net.batch(std::span(&g, 1)); };
  EXPECT_THROW(batch_of({.labels = {"N"}}), Error);
  EXPECT_THROW(batch_of({.labels = {"C", "C"}, .edges = {{0, 1, "triple"}}}), Error);
  EXPECT_THROW(batch_of({.labels = {"C"}, .edges = {{0, 1, "single"}}}), Error);
  const NumberedGraph wrong{{0}, {{0, 0, 3}}, net.labels()};
  const NumberedGraph* const list[] = {&wrong};
  EXPECT_THROW(net.batch(list), Error);

  TransformBatch batch = batch_of({.labels = {"C", "O"}, .edges = {{0, 1, "single"}}});
  TransformState state;
  const std::span<float> gradients = net.parameters().gradients();
  const std::vector<std::uint32_t> edits{0, 1}, too_few{0}, unknown{0, 2};
  EXPECT_THROW(net.loss_and_gradients(batch, edits, 1, state, gradients.first(gradients.size() - 1)), Error);
  EXPECT_THROW(net.loss_and_gradients(batch, too_few, 1, state, gradients), Error);
  EXPECT_THROW(net.loss_and_gradients(batch, unknown, 1, state, gradients), Error);
  EXPECT_THROW(net.loss(batch, unknown, 1, state), Error);
  EXPECT_FALSE(net.parameters().has_gradients());
  const GraphTransformNet one(Vocabulary({"C", "O"}), Vocabulary({"single"}), 2, {.features = 12}, 3);
  EXPECT_THROW(one.predict_edits(batch, state), Error);  // a batch of three relations
  batch.symbols.push_back(0);
  EXPECT_THROW(net.predict_edits(batch, state), Error);
}

}  // namespace
}  // namespace espalier
