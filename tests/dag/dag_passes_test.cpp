// Which forward pass a backward pass of a DagNN belongs to: never another one than is meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dag/random_dag.hpp"
#include "espalier/error.hpp"
#include "espalier/message_passing.hpp"
#include "models/dag/dag_reference.hpp"

namespace espalier {
namespace {

// Finite differences in double of the sum of c y, y being what `applied` makes of the samples.
template <class Applied>
void expect_slopes(const DagNN& network, std::span<const float> c, Applied applied) {
  reference::Dag<double> plain(network);
  const auto loss = [&] {
    const std::vector<double> y = applied(plain);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(c[i]) * y[i];
    return sum;
  };
  for (auto& edge : plain.edges) {
    const double keep = edge.weight, step = 1e-6;
    edge.weight = keep + step;
    const double up = loss();
    edge.weight = keep - step;
    const double down = loss();
    edge.weight = keep;
    const DagEdge& ends = network.topology().edge(edge.id);
    ASSERT_NEAR(network.edge_grad(ends.from, ends.to).value(), (up - down) / (2 * step), 2e-4);
  }
}

std::vector<double> applied_once(const reference::Dag<double>& plain, const std::vector<double>& sample) {
  std::vector<double> z, a, y;
  plain.forward(sample.data(), z, a);
  for (const std::size_t o : plain.outputs) y.push_back(a[o]);
  return y;
}

struct Passes {
  DagNN n = DagNN::layered({3, 5, 3}, {.seed = 4});
  std::vector<float> train = random_numbers(1, 3), validation = random_numbers(2, 3), c = random_numbers(3, 3);
  void expect_training_slopes() {
    expect_slopes(n, c, [&](auto& plain) { return applied_once(plain, {train.begin(), train.end()}); });
  }
};

TEST(DagPasses, OfTwoForwardPassesNeitherIsGuessed) {
  Passes p;
  const ForwardPass first = p.n.forward(p.train, 1).pass;
  const ForwardPass second = p.n.forward(p.validation, 1).pass;
  EXPECT_THROW(p.n.backward_accumulate(p.c), Error);
  EXPECT_THROW(p.n.backward_accumulate(p.c), Error) << "nor after the first Error";
  EXPECT_THROW(p.n.backward_accumulate(first, p.c), Error);
  EXPECT_THROW(p.n.backward_accumulate(second, p.c), Error) << "given up by the Error";
  EXPECT_FALSE(p.n.has_gradients());
  p.n.forward(p.train, 1);
  p.n.backward_accumulate(p.c);
  p.expect_training_slopes();
}

TEST(DagPasses, ANameIsOfOnePassOfOneNetwork) {
  Passes p;
  DagNN twin = p.n;
  p.n.forward(p.validation, 1);
  const ForwardPass last = p.n.forward(p.train, 1).pass;
  const ForwardPass foreign = twin.forward(p.train, 1).pass;
  EXPECT_THROW(p.n.backward_accumulate(foreign, p.c), Error);
  EXPECT_THROW(p.n.backward_accumulate(ForwardPass{}, p.c), Error);
  p.n.backward_accumulate(last, p.c);
  p.expect_training_slopes();
  DagNN copy = p.n;  // has gone through the same pass
  copy.zero_grad();
  copy.backward_accumulate(last, p.c);
  EXPECT_TRUE(std::ranges::equal(copy.parameters().gradients(), p.n.parameters().gradients()));
}

TEST(DagPasses, EvaluationLeavesTrainingAsItIs) {
  Passes p;
  const std::vector<float> many = random_numbers(9, 3 * 70);
  const std::vector<float> y(p.n.forward(p.train, 1).begin(), p.n.forward(p.train, 1).end());
  p.n = DagNN::layered({3, 5, 3}, {.seed = 4});
  p.n.forward(p.train, 1);
  p.n.train(false);
  EXPECT_FALSE(p.n.forward(many, 70).pass);
  p.n.backward_accumulate(std::vector<float>(3 * 70, 1.0f));
  EXPECT_FALSE(p.n.has_gradients());
  EXPECT_TRUE(std::ranges::equal(p.n.forward(p.train, 1), y));
  p.n.train(true);
  p.n.backward_accumulate(p.c);
  p.expect_training_slopes();
  EXPECT_EQ(p.n.input_gradients().size(), 3u);
}

TEST(DagPasses, ABackwardPassInEvaluationLeavesNoGradientsOfSamples) {
  Passes p;
  p.n.forward(p.train, 1);
  p.n.backward_accumulate(p.c);
  EXPECT_EQ(p.n.input_gradients().size(), 3u);
  p.n.train(false);
  p.n.forward(p.validation, 1);
  p.n.backward_accumulate(p.c);  // of the validation, whose slopes these are not
  EXPECT_THROW(p.n.input_gradients(), Error);
}

TEST(DagPasses, AnEvaluationIsNothingToGoBackThrough) {
  Passes p;
  p.n.train(false);
  const ForwardPass none = p.n.forward(p.train, 1).pass;
  p.n.train(true);
  EXPECT_THROW(p.n.backward_accumulate(p.c), Error);
  EXPECT_THROW(p.n.backward_accumulate(none, p.c), Error);
}

// y = n(n(x)): room for one pass, so the first is run again.
TEST(DagPasses, ANetworkAppliedTwiceHasTheGradientsOfBoth) {
  Passes p;
  const DagOutputs middle = p.n.forward(p.train, 1);
  const ForwardPass first = middle.pass, second = p.n.forward(middle, 1).pass;
  EXPECT_THROW(p.n.backward_accumulate(p.c), Error);
  p.n.forward(p.n.forward(p.train, 1), 1);
  EXPECT_THROW(p.n.backward_accumulate(second, p.c), Error);
  const ForwardPass again = p.n.forward(p.n.forward(p.train, 1), 1).pass;
  p.n.backward_accumulate(again, p.c);
  const std::vector<float> dmiddle = p.n.input_gradients();
  EXPECT_THROW(p.n.backward_accumulate(first, dmiddle), Error);
  p.n.backward_accumulate(p.n.forward(p.train, 1).pass, dmiddle);
  expect_slopes(p.n, p.c, [&](auto& plain) {
    return applied_once(plain, applied_once(plain, {p.train.begin(), p.train.end()}));
  });
}

TEST(DagPasses, WeightsWrittenBehindItsBackAreNoticed) {
  Passes p;
  const ForwardPass pass = p.n.forward(p.train, 1).pass;
  p.n.parameters().values()[2] += 1;
  EXPECT_THROW(p.n.backward_accumulate(pass, p.c), Error);
  EXPECT_FALSE(p.n.has_gradients());
}

TEST(DagPasses, SymbolsOfAnotherForwardAreRefused) {
  Passes p;
  Parameters table;
  const Embedding rows(table, "rows", 4, 3);
  rows.initialize(table, 1);
  const std::vector<std::uint32_t> one{2}, other{3};
  std::vector<float> samples(3);
  rows.lookup(table, one, samples);
  p.n.forward(samples, 1);
  EXPECT_THROW(rows.backward_through(p.n, p.c, table, other), Error);
  EXPECT_FALSE(p.n.has_gradients());
  EXPECT_FALSE(table.has_gradients());
  rows.backward_through(p.n, p.c, table, one);
  EXPECT_TRUE(table.has_gradients());
  p.n.forward(samples, 1);
  rows.step(table, 0.1f);  // the rows are not those of the forward any more
  EXPECT_THROW(rows.backward_through(p.n, p.c, table, one), Error);
}

TEST(DagPasses, NobodyElsePutsTensorsIntoTheNetwork) {
  Passes p;
  EXPECT_THROW(Embedding(p.n.parameters(), "letters", 4, 3), Error);
  p.n.split_edge(0);
  EXPECT_THROW(Embedding(p.n.parameters(), "letters", 4, 3), Error) << "nor after an edit";
  EXPECT_EQ(p.n.parameters().tensors().size(), 2u);
}

TEST(DagPasses, AGradientThatIsNotFiniteIsNotClipped) {
  Passes p;
  p.n.forward(p.train, 1);
  p.n.backward_accumulate(std::vector<float>{INFINITY, 0, 0});
  const std::string before = p.n.parameters().hash();
  EXPECT_THROW(p.n.clip_gradients(1.0), Error);
  EXPECT_EQ(p.n.parameters().hash(), before);
}

}  // namespace
}  // namespace espalier
