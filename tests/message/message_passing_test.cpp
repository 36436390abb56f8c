// Message passing: the reference against finite differences in double, the fast code against the reference, any
// thread count against one, hubs included.
#include "espalier/message_passing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/message/message_reference.hpp"

namespace espalier {
namespace {

std::vector<Graph> random_relations(std::uint64_t seed, std::size_t nodes, std::size_t relations, double density) {
  std::vector<Graph> graphs;
  for (std::size_t r = 0; r < relations; ++r) {
    const Random random(seed, Purpose::kData, static_cast<std::uint32_t>(r));
    std::vector<Edge> edges;
    for (std::uint32_t u = 0; u < nodes; ++u)
      for (std::uint32_t v = 0; v < nodes; ++v)
        if (static_cast<double>(random.uniform(u * nodes + v)) < density) edges.push_back({u, v});
    graphs.emplace_back(nodes, edges);
  }
  return graphs;
}

std::vector<float> numbers(std::uint64_t seed, std::size_t count) {
  const Random r(seed, Purpose::kBatch);
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = r.normal(i);
  return x;
}

struct Case {
  MessagePassingOptions options;
  std::size_t nodes;
};

// Every aggregation, norm and activation, sizes that fill vectors and sizes that do not.
std::vector<Case> cases() {
  std::vector<Case> all;
  int i = 0;
  for (const Aggregation a : {Aggregation::kMean, Aggregation::kSum, Aggregation::kMax})
    for (const bool norm : {false, true})
      for (const Activation f : {Activation::kLinear, Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh}) {
        const std::size_t in[] = {3, 16, 21}, out[] = {5, 32, 17};
        all.push_back({{in[i % 3], out[i / 2 % 3], 1 + static_cast<std::size_t>(i % 2), a, norm, f},
                       7 + static_cast<std::size_t>(i)});
        ++i;
      }
  return all;
}

template <class T>
reference::MessageLayer<T> reference_of(const Parameters& p, const MessagePassingOptions& o, const MessageGraph& g) {
  return {o, &g, std::vector<T>(p.values().begin(), p.values().end()), {}, {}, {}, {}, {}};
}

void randomize(Parameters& p, std::uint64_t seed) {
  const Random r(seed, Purpose::kInit);
  for (std::size_t i = 0; i < p.values().size(); ++i) p.values()[i] = 0.4f * r.normal(i);
}

TEST(MessagePassing, ReferenceEqualsFiniteDifferences) {
  std::uint64_t seed = 0;
  for (Case c : cases()) {
    c.options.in = std::min<std::size_t>(c.options.in, 4);
    c.options.out = std::min<std::size_t>(c.options.out, 5);
    const MessageGraph graph(random_relations(++seed, 6, c.options.relations, 0.3));
    Parameters p;
    const MessagePassingLayer layer(p, "layer", c.options);
    randomize(p, seed);
    auto ref = reference_of<double>(p, c.options, graph);
    const std::vector<float> x = numbers(seed, 6 * c.options.in), g = numbers(seed + 1, 6 * c.options.out);
    std::vector<double> h(x.begin(), x.end()), dy(g.begin(), g.end()), dw(ref.weights.size());
    ref.forward(h);
    const std::vector<double> dh = ref.backward(h, dy, dw);
    const auto loss = [&] {
      const std::vector<double> y = ref.forward(h);
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += dy[i] * y[i];
      return sum;
    };
    const auto slope_at = [&](double& value) {
      const double keep = value, step = 1e-6;
      value = keep + step;
      const double up = loss();
      value = keep - step;
      const double down = loss();
      value = keep;
      return (up - down) / (2 * step);
    };
    for (std::size_t i = 0; i < dw.size(); ++i)
      EXPECT_NEAR(dw[i], slope_at(ref.weights[i]), 1e-6 * (1 + std::fabs(dw[i]))) << "weight " << i << " case " << seed;
    for (std::size_t i = 0; i < dh.size(); ++i)
      EXPECT_NEAR(dh[i], slope_at(h[i]), 1e-6 * (1 + std::fabs(dh[i]))) << "h " << i << " case " << seed;
  }
}

// y = layer(layer(h)) with a tape for each, against finite differences in double; another pass comes in between.
TEST(MessagePassing, ALayerAppliedTwiceHasTheGradientsOfBoth) {
  for (const Aggregation aggregation : {Aggregation::kMean, Aggregation::kSum, Aggregation::kMax})
    for (const bool norm : {false, true}) {
      const MessagePassingOptions o{
          .in = 3, .out = 3, .aggregation = aggregation, .layer_norm = norm, .activation = Activation::kTanh};
      const MessageGraph graph(random_relations(5, 6, 1, 0.3));
      Parameters p;
      const MessagePassingLayer layer(p, "layer", o);
      randomize(p, 5);
      const std::vector<float> h = numbers(5, 18), c = numbers(6, 18), other = numbers(7, 18);
      std::vector<float> middle(18), y(18), dmiddle(18), dh(18), unused(18);
      MessageTape first, second, validation;
      layer.forward_batch(p, graph, h, middle, first);
      layer.forward_batch(p, graph, middle, y, second);
      layer.forward_batch(p, graph, other, unused, validation);
      layer.backward(p, graph, middle, y, c, second, p.gradients(), dmiddle);
      layer.backward(p, graph, h, middle, dmiddle, first, p.gradients(), dh);
      auto plain = reference_of<double>(p, o, graph);
      std::vector<double> x(h.begin(), h.end());
      const auto slope_at = [&](double& value) {
        const auto loss = [&] {
          const std::vector<double> out = plain.forward(plain.forward(x));
          double sum = 0;
          for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(c[i]) * out[i];
          return sum;
        };
        const double keep = value, step = 1e-6;
        value = keep + step;
        const double up = loss();
        value = keep - step;
        const double down = loss();
        value = keep;
        return (up - down) / (2 * step);
      };
      for (std::size_t i = 0; i < p.num_parameters(); ++i)
        ASSERT_NEAR(p.gradients()[i], slope_at(plain.weights[i]), 2e-4) << i;
      for (std::size_t i = 0; i < dh.size(); ++i) ASSERT_NEAR(dh[i], slope_at(x[i]), 2e-4) << i;
    }
}

TEST(MessagePassing, FastEqualsReferenceAndTheOneNodeFormula) {
  std::uint64_t seed = 100;
  for (const Case& c : cases()) {
    const MessageGraph graph(random_relations(++seed, c.nodes * 9, c.options.relations, 0.05));
    const std::size_t n = graph.num_nodes(), in = c.options.in, out = c.options.out;
    Parameters p;
    p.add("something before", {3});
    const MessagePassingLayer layer(p, "layer", c.options);
    randomize(p, seed);
    const std::vector<float> h = numbers(seed, n * in), dy = numbers(seed + 1, n * out);
    std::vector<float> y(n * out), dh(n * in), one(out);
    MessageTape state;
    layer.forward_batch(p, graph, h, y, state, ThreadPool(1));
    layer.backward(p, graph, h, y, dy, state, p.gradients(), dh, ThreadPool(1));

    reference::MessageLayer<double> ref{c.options, &graph, {p.values().begin() + 3, p.values().end()}, {}, {}, {},
                                        {},        {}};
    const std::vector<double> h64(h.begin(), h.end()), dy64(dy.begin(), dy.end());
    std::vector<double> dw64(ref.weights.size());
    const std::vector<double> y64 = ref.forward(h64), dh64 = ref.backward(h64, dy64, dw64);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], y64[i], 2e-5 * (1 + std::fabs(y64[i]))) << seed;
    for (std::size_t i = 0; i < dh.size(); ++i) ASSERT_NEAR(dh[i], dh64[i], 1e-4 * (1 + std::fabs(dh64[i]))) << seed;
    for (std::size_t i = 0; i < dw64.size(); ++i)
      ASSERT_NEAR(p.gradients()[3 + i], dw64[i], 2e-4 * (1 + std::fabs(dw64[i]))) << seed << " weight " << i;
    for (std::size_t v = 0; v < n; v += 5) {
      layer.forward(p, graph, h, v, one);
      for (std::size_t o = 0; o < out; ++o) ASSERT_NEAR(one[o], y64[v * out + o], 2e-5 * (1 + std::fabs(one[o])));
    }
  }
}

// One node that has a third of all edges, more than one piece.
MessageGraph graph_with_hub(std::size_t nodes) {
  std::vector<Edge> edges;
  const Random r(1, Purpose::kData);
  for (std::uint32_t v = 1; v < nodes; ++v) {
    edges.push_back({v, 0});
    if (v % 2) edges.push_back({0, v});
    for (std::uint32_t k = 0; k < 2; ++k) {
      const auto u = static_cast<std::uint32_t>(1 + (v * 7 + 13 * k + r.choice(v * 2 + k, 5)) % (nodes - 1));
      if (u != v && (edges.size() < 2 || !(edges.back() == Edge{u, v}))) edges.push_back({u, v});
    }
  }
  std::vector<Graph> relations;
  relations.emplace_back(nodes, edges);
  return MessageGraph(std::move(relations));
}

TEST(MessagePassing, HubsAreSummedRightAndAnyThreadCountGivesTheSameBits) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  const MessageGraph graph = graph_with_hub(5000);
  ASSERT_FALSE(graph.sides()[0].heavy.empty());
  ASSERT_GT(graph.num_slots(), 4u);
  for (const Aggregation a : {Aggregation::kMean, Aggregation::kSum, Aggregation::kMax}) {
    std::string expected;
    for (const int threads : {1, 2, 3, 5, 8, 16}) {
      const ThreadPool pool(threads);
      Parameters p;
      const MessagePassingOptions o{16, 24, 1, a, true, Activation::kTanh};
      const MessagePassingLayer layer(p, "layer", o);
      randomize(p, 5);
      const std::vector<float> h = numbers(1, 5000 * 16), dy = numbers(2, 5000 * 24);
      std::vector<float> y(5000 * 24), dh(5000 * 16);
      MessageTape state;
      for (int step = 0; step < 2; ++step) {
        layer.zero_grad(p, pool);
        layer.forward_batch(p, graph, h, y, state, pool);
        layer.backward(p, graph, h, y, dy, state, p.gradients(), dh, pool);
        layer.step(p, 1e-4f, pool);
      }
      Parameters all;
      all.add("dh", {dh.size()});
      std::copy(dh.begin(), dh.end(), all.values().begin());
      const std::string hash = p.hash() + all.hash();
      if (threads == 1) {
        expected = hash;
        std::vector<float> one(24);
        layer.forward_batch(p, graph, h, y, state, pool);
        layer.forward(p, graph, h, 0, one);
        for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(one[i], y[i], 1e-3);
      }
      EXPECT_EQ(hash, expected) << threads;
    }
  }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

// Hubs on both sides, features with many ties: sums by pieces and winners by pieces are those of the plain loops.
TEST(MessagePassing, HubsAgreeWithTheReferenceForwardAndBackward) {
  constexpr std::size_t kNodes = 2600, kIn = 5, kOut = 4;
  const MessageGraph graph = graph_with_hub(kNodes);
  ASSERT_FALSE(graph.sides()[0].heavy.empty());
  ASSERT_FALSE(graph.sides()[1].heavy.empty());
  for (const Aggregation a : {Aggregation::kMean, Aggregation::kSum, Aggregation::kMax}) {
    Parameters p;
    const MessagePassingOptions o{kIn, kOut, 1, a, false, Activation::kTanh};
    const MessagePassingLayer layer(p, "layer", o);
    randomize(p, 5);
    for (float& w : p.values()) w *= 0.01f;  // sums over thousands must not saturate
    std::vector<float> h = numbers(1, kNodes * kIn);
    for (float& x : h) x = std::round(4 * x) / 4;
    const std::vector<float> dy = numbers(2, kNodes * kOut);
    std::vector<float> y(kNodes * kOut), dh(kNodes * kIn);
    MessageTape state;
    layer.forward_batch(p, graph, h, y, state, ThreadPool(2));
    layer.backward(p, graph, h, y, dy, state, p.gradients(), dh, ThreadPool(2));
    reference::MessageLayer<double> plain{o, &graph, {p.values().begin(), p.values().end()}, {}, {}, {}, {}, {}};
    const std::vector<double> h64(h.begin(), h.end());
    const std::vector<double> y64 = plain.forward(h64);
    std::vector<double> dw(p.num_parameters());
    const std::vector<double> dh64 = plain.backward(h64, {dy.begin(), dy.end()}, dw);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], y64[i], 1e-4) << static_cast<int>(a) << " y " << i;
    for (std::size_t i = 0; i < dh.size(); ++i)
      ASSERT_NEAR(dh[i], dh64[i], 1e-4 * (1 + std::fabs(dh64[i]))) << static_cast<int>(a) << " dh " << i;
    for (std::size_t i = 0; i < dw.size(); ++i)
      ASSERT_NEAR(p.gradients()[i], dw[i], 1e-3 * (1 + std::fabs(dw[i]))) << static_cast<int>(a) << " dw " << i;
  }
}

TEST(MessagePassing, EmptyAndOneNodeGraphsWork) {
  Parameters p;
  const MessagePassingLayer layer(p, "layer", {2, 2, 1, Aggregation::kMax, false, Activation::kLinear});
  layer.initialize(p, 1);
  MessageTape state;
  std::vector<Graph> none, one;
  none.emplace_back();
  one.emplace_back(1, std::vector<Edge>{});
  layer.forward_batch(p, MessageGraph(std::move(none)), {}, {}, state, ThreadPool(1));
  const std::vector<float> h{1, 2};
  std::vector<float> y(2), dh(2);
  const MessageGraph single(std::move(one));
  layer.forward_batch(p, single, h, y, state, ThreadPool(1));
  EXPECT_NEAR(y[0], p.values()[0] + 2 * p.values()[2], 1e-6);
  layer.backward(p, single, h, y, std::vector<float>{1, 0}, state, p.gradients(), dh, ThreadPool(1));
  EXPECT_EQ(dh[0], p.values()[0]);
}

TEST(MessagePassing, WrongSizesAreNamed) {
  Parameters p;
  EXPECT_THROW(MessagePassingLayer(p, "a", {0, 2}), Error);
  EXPECT_THROW(MessagePassingLayer(p, "b", {2, 2, 1, Aggregation::kMean, false, Activation::kSigmoid}), Error);
  const MessagePassingLayer layer(p, "c", {2, 2});
  std::vector<Graph> g;
  g.emplace_back(3, std::vector<Edge>{{0, 1}});
  const MessageGraph graph(std::move(g));
  std::vector<float> y(6);
  MessageTape state;
  EXPECT_THROW(layer.forward_batch(p, graph, std::vector<float>(5), y, state, ThreadPool(1)), Error);
}

}  // namespace
}  // namespace espalier
