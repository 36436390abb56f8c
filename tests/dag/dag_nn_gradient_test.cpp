// The gradients of DagNN: the reference against finite differences in double, the fast code against the
// reference, batches against their sum, any thread count against one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "dag/random_dag.hpp"
#include "models/dag/dag_reference.hpp"

namespace espalier {
namespace {

using RefDag = reference::Dag<double>;

// loss = sum_o c_o y_o, whose output gradient is c.
double loss_of(const RefDag& dag, const std::vector<double>& sample, const std::vector<double>& c) {
  std::vector<double> z, a;
  dag.forward(sample.data(), z, a);
  double loss = 0;
  for (std::size_t o = 0; o < dag.outputs.size(); ++o) loss += c[o] * a[dag.outputs[o]];
  return loss;
}

// Relative to the size of the numbers; kinks of relu are stepped over by a small step and smooth elsewhere.
void expect_close(double a, double b, double tolerance, const char* what) {
  EXPECT_NEAR(a, b, tolerance * std::max({1.0, std::fabs(a), std::fabs(b)})) << what;
}

TEST(DagGradient, ReferenceEqualsFiniteDifferencesForEveryActivationAndScaling) {
  for (int f = -1; f < kNumActivations; ++f)
    for (const bool scaling : {false, true})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const DagNN network = random_dag(seed * 10 + static_cast<std::uint64_t>(f + 1), 3, 8, 2, scaling, f);
        RefDag dag(network);
        const std::vector<float> numbers = random_numbers(seed + 77, 5);
        std::vector<double> sample(numbers.begin(), numbers.begin() + 3), c(numbers.begin() + 3, numbers.end());
        std::vector<double> z, a, g, db(dag.nodes.size()), dw(dag.edges.size());
        dag.forward(sample.data(), z, a);
        dag.backward(z, a, c.data(), g, db, dw);
        constexpr double h = 1e-6;
        const auto slope_at = [&](double& x) {
          const double keep = x;
          x = keep + h;
          const double up = loss_of(dag, sample, c);
          x = keep - h;
          const double down = loss_of(dag, sample, c);
          x = keep;
          return (up - down) / (2 * h);
        };
        for (std::size_t e = 0; e < dag.edges.size(); ++e)
          expect_close(dw[e], slope_at(dag.edges[e].weight), 2e-7, "w");
        for (std::size_t v = 0; v < dag.nodes.size(); ++v)
          if (!dag.nodes[v].is_input) expect_close(db[v], slope_at(dag.nodes[v].bias), 2e-7, "b");
        for (std::size_t i = 0; i < 3; ++i) expect_close(g[dag.inputs[i]], slope_at(sample[i]), 2e-7, "x");
      }
}

struct BatchGradients {
  std::vector<double> outputs, db, dw, dx;
};

BatchGradients reference_batch(const DagNN& network, const std::vector<float>& samples, std::size_t batch,
                               const std::vector<float>& output_grad) {
  const RefDag dag(network);
  BatchGradients r;
  r.db.resize(dag.nodes.size());
  r.dw.resize(dag.edges.size());
  for (std::size_t b = 0; b < batch; ++b) {
    const auto row = samples.begin() + static_cast<std::ptrdiff_t>(b * dag.inputs.size());
    const auto grad = output_grad.begin() + static_cast<std::ptrdiff_t>(b * dag.outputs.size());
    const std::vector<double> x(row, row + static_cast<std::ptrdiff_t>(dag.inputs.size()));
    const std::vector<double> c(grad, grad + static_cast<std::ptrdiff_t>(dag.outputs.size()));
    std::vector<double> z, a, g;
    dag.forward(x.data(), z, a);
    for (const std::size_t o : dag.outputs) r.outputs.push_back(a[o]);
    dag.backward(z, a, c.data(), g, r.db, r.dw);
    for (const std::size_t i : dag.inputs) r.dx.push_back(g[i]);
  }
  return r;
}

TEST(DagGradient, FastEqualsReferenceForEveryBatchSize) {
  for (const std::size_t batch : {1, 2, 7, 8, 9, 24, 31, 63, 64, 65, 130, 257})
    for (const bool scaling : {false, true}) {
      DagNN network = random_dag(batch, 5, 20, 3, scaling);
      const std::vector<float> samples = random_numbers(batch, batch * 5), grads = random_numbers(batch + 1, batch * 3);
      const BatchGradients expected = reference_batch(network, samples, batch, grads);
      const std::span<const float> outputs = network.forward(samples, batch);
      for (std::size_t i = 0; i < outputs.size(); ++i) expect_close(outputs[i], expected.outputs[i], 1e-5, "output");
      network.backward_accumulate(grads);
      const RefDag dag(network);
      for (std::size_t e = 0; e < dag.edges.size(); ++e) {
        const DagEdge& ends = network.topology().edge(dag.edges[e].id);
        expect_close(network.edge_grad(ends.from, ends.to).value(), expected.dw[e], 3e-5, "dw");
      }
      const std::vector<float> dx = network.input_gradients();
      for (std::size_t i = 0; i < dx.size(); ++i) expect_close(dx[i], expected.dx[i], 3e-5, "dx");
      double squares = 0;
      for (const double x : expected.db) squares += x * x;
      for (const double x : expected.dw) squares += x * x;
      EXPECT_NEAR(network.gradient_norm() / std::sqrt(squares), 1, 1e-5);  // the biases are in it too
    }
}

TEST(DagGradient, AccumulatingMiniBatchesEqualsTheFullBatch) {
  DagNN full = random_dag(3, 4, 30, 2, true), parts = random_dag(3, 4, 30, 2, true);
  const std::vector<float> samples = random_numbers(1, 96 * 4), grads = random_numbers(2, 96 * 2);
  full.forward(samples, 96);
  full.backward_accumulate(grads);
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 10}, {10, 50}, {50, 96}}) {
    parts.forward(std::span(samples).subspan(first * 4, (last - first) * 4), last - first);
    parts.backward_accumulate(std::span(grads).subspan(first * 2, (last - first) * 2));
  }
  const auto a = full.parameters().gradients(), b = parts.parameters().gradients();
  const double scale = full.gradient_norm() / std::sqrt(static_cast<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6 * std::max(scale, std::fabs(double{a[i]})));
}

TEST(DagGradient, AnyThreadCountGivesTheSameBits) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  for (const std::size_t batch : {3, 100, 1500}) {
    std::string expected;
    for (const int threads : {1, 2, 3, 5, 8, 16}) {
      const ThreadPool pool(threads);
      DagNN network = random_dag(8, 6, 200, 4, true, -1, 0.1);
      for (int step = 0; step < 3; ++step) {
        const std::vector<float> samples = random_numbers(batch + static_cast<std::size_t>(step), batch * 6);
        const std::span<const float> y = network.forward(samples, batch, pool);
        std::vector<float> grads(y.begin(), y.end());  // of sum y^2 / 2
        network.zero_grad(pool);
        network.backward_accumulate(grads, pool);
        network.clip_gradients(1.0, pool);
        network.step(0.1f, pool);
      }
      const std::string hash = network.parameters().hash();
      if (threads == 1) expected = hash;
      EXPECT_EQ(hash, expected) << batch << " samples, " << threads << " threads";
    }
  }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(DagGradient, TheOrderOfGivenEdgesChangesNothing) {
  std::vector<WeightedEdge> edges;
  const Random r(4, Purpose::kData);
  for (std::uint32_t u = 0; u < 12; ++u)
    for (std::uint32_t v = std::max(u + 1, 4u); v < 12; ++v)
      if (r.coin(u * 100 + v)) edges.push_back({u, v, r.normal(u * 100 + v)});
  DagNN a = DagNN::from_edges(12, edges, Activation::kTanh);
  Random(5, Purpose::kData).shuffle(std::span(edges));
  DagNN b = DagNN::from_edges(12, edges, Activation::kTanh);
  const std::vector<float> samples = random_numbers(6, 10 * a.num_inputs());
  const auto ya = a.forward(samples, 10), yb = b.forward(samples, 10);
  EXPECT_TRUE(std::ranges::equal(ya, yb));
}

}  // namespace
}  // namespace espalier
