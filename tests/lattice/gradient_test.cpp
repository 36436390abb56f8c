// The fast rollout against the plain reference, and the reference against finite differences in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "espalier/logic_automaton.hpp"
#include "logic/each_target.hpp"
#include "models/lattice/automaton_reference.hpp"

namespace espalier {
namespace {

struct Case {
  std::string name;
  AutomatonOptions options;
  RolloutOptions rollout;
};

AutomatonOptions with(Parametrisation parametrisation, AutomatonOptions options) {
  options.parametrisation = parametrisation;
  return options;
}

AutomatonOptions small(WiringKind wiring, Boundary boundary, int channels = 4) {
  return {channels, 3, {8, 4, 2}, {24, 16, 8, channels}, wiring, boundary};
}

AutomatonOptions choosing(int candidates, AutomatonOptions options) {
  options.candidates = candidates;
  return options;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {"unique_periodic_sync", small(WiringKind::kUnique, Boundary::kPeriodic), {2, 4, 5, 3, 1.0f}},
      {"unique_zero_sync", small(WiringKind::kUnique, Boundary::kZero), {2, 4, 5, 3, 1.0f}},
      {"random_periodic_async", small(WiringKind::kRandom, Boundary::kPeriodic), {1, 5, 3, 4, 0.6f}},
      {"random_zero_async", small(WiringKind::kRandom, Boundary::kZero), {2, 3, 3, 4, 0.6f}},
      {"unique_zero_async_wide", small(WiringKind::kUnique, Boundary::kZero, 6), {3, 6, 7, 2, 0.6f}},
      {"one_cell", small(WiringKind::kUnique, Boundary::kPeriodic), {1, 1, 1, 2, 1.0f}},
      {"one_column_tree",
       {2, 2, {8, 4, 2, 1}, {8, 4, 2}, WiringKind::kUnique, Boundary::kPeriodic},
       {1, 37, 1, 2, 1.0f}},
      {"leaves_alone", {3, 2, {8}, {26, 13, 7, 4, 3}, WiringKind::kUnique, Boundary::kZero}, {1, 5, 5, 2, 1.0f}},
      {"leaf_pairs_alone", {2, 3, {8, 4}, {13, 7, 4, 2}, WiringKind::kUnique, Boundary::kPeriodic}, {2, 3, 4, 2, 0.6f}},
      {"two_channel_groups",
       {11, 3, {8, 4, 2}, {39, 20, 11}, WiringKind::kUnique, Boundary::kZero},
       {1, 4, 4, 2, 1.0f}},
      {"perception_that_is_no_tree",
       {2, 1, {8, 28, 300, 150, 75, 38, 19, 10, 5, 3}, {4, 2}, WiringKind::kUnique, Boundary::kPeriodic},
       {1, 3, 5, 2, 1.0f}},
      {"unique_periodic_async", small(WiringKind::kUnique, Boundary::kPeriodic), {2, 5, 7, 4, 0.6f}},
      {"entries", with(Parametrisation::kEntries, small(WiringKind::kUnique, Boundary::kPeriodic)), {2, 4, 5, 3, 1.0f}},
      {"walsh_async", with(Parametrisation::kWalsh, small(WiringKind::kUnique, Boundary::kZero)), {2, 3, 5, 4, 0.6f}},
      {"two_candidates", choosing(2, small(WiringKind::kUnique, Boundary::kPeriodic)), {2, 4, 5, 3, 1.0f}},
      {"nine_candidates", choosing(9, small(WiringKind::kRandom, Boundary::kZero)), {2, 3, 3, 4, 0.6f}},
      {"candidates_with_walsh",
       choosing(3, with(Parametrisation::kWalsh, small(WiringKind::kUnique, Boundary::kZero, 6))),
       {1, 6, 7, 2, 0.6f}},
  };
  return list;
}

struct Problem {
  explicit Problem(const Case& c) : automaton(c.options, 11) {
    automaton.add_parameters(parameters, 0);
    const Random r(5, Purpose::kData);
    std::uint64_t draw = 0;
    for (float& v : parameters.values()) v = r.normal(draw++);
    const std::size_t cells = static_cast<std::size_t>(c.rollout.batch) * c.rollout.height * c.rollout.width;
    for (std::size_t i = 0; i < cells * c.options.channels; ++i) initial.push_back(r.uniform(draw++));
    for (std::size_t i = 0; i < cells * 2; ++i) target.push_back(r.coin(draw++) ? 1.0f : 0.0f);
  }
  Automaton automaton;
  Parameters parameters;
  std::vector<float> initial, target;
};

template <class T>
std::vector<T> to(std::span<const float> v) {
  return {v.begin(), v.end()};
}

class GradientTest : public testing::TestWithParam<int> {
 protected:
  const Case& c = cases()[GetParam()];
  Problem p{c};
};

TEST_P(GradientTest, ReferenceAgreesWithFiniteDifferencesInDouble) {
  auto logits = to<double>(p.parameters.values());
  auto initial = to<double>(p.initial);
  const auto target = to<double>(p.target);
  const double temperature = 0.8;
  auto loss = [&] {
    reference::AutomatonReference<double> r(p.automaton, logits, temperature);
    r.forward(c.rollout, initial, 7, 3);
    return r.loss(target, 2);
  };
  reference::AutomatonReference<double> r(p.automaton, logits, temperature);
  r.forward(c.rollout, initial, 7, 3);
  r.loss(target, 2);
  const std::vector<double> dlogits = r.backward();
  const std::vector<double> dinitial = r.dstate();

  const double h = 1e-5;
  const Random pick(3, Purpose::kTrial);
  auto check = [&](std::vector<double>& at, const std::vector<double>& gradient, std::size_t i) {
    const double keep = at[i];
    at[i] = keep + h;
    const double up = loss();
    at[i] = keep - h;
    const double down = loss();
    at[i] = keep;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 1e-6 * (1 + std::abs(gradient[i]))) << i;
  };
  for (int k = 0; k < 60; ++k) check(logits, dlogits, pick.choice(k, logits.size()));
  for (int k = 0; k < 20; ++k) check(initial, dinitial, pick.choice(1000 + k, initial.size()));
}

double largest_relative_error(std::span<const float> got, std::span<const double> want) {
  double scale = 0, worst = 0;
  for (const double w : want) scale = std::max(scale, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  return worst / scale;
}

TEST_P(GradientTest, FastRolloutAgreesWithTheReference) {
  reference::AutomatonReference<double> r(p.automaton, to<double>(p.parameters.values()), double{0.8f});
  r.forward(c.rollout, to<double>(p.initial), 7, 3);
  const double want = r.loss(to<double>(p.target), 2);
  const auto dlogits = r.backward();
  for_each_target([&] {
    const ThreadPool pool(1);
    Rollout rollout(p.automaton, c.rollout);
    rollout.soften(p.parameters.values(), {.temperature = 0.8f}, pool);
    rollout.forward(p.initial, 7, 3, pool);
    EXPECT_NEAR(rollout.loss(p.target, 2, pool), want, 1e-5 * want);
    EXPECT_LT(largest_relative_error(rollout.state(c.rollout.steps), r.state(c.rollout.steps)), 1e-5);
    rollout.backward(pool);
    p.parameters.zero_grad(pool);
    rollout.add_gradients(p.parameters.gradients(), pool);
    EXPECT_LT(largest_relative_error(p.parameters.gradients(), dlogits), 1e-5);
    EXPECT_LT(largest_relative_error(rollout.initial_gradient(), r.dstate()), 1e-5);
  });
}

INSTANTIATE_TEST_SUITE_P(All, GradientTest, testing::Range(0, static_cast<int>(cases().size())),
                         [](const auto& info) { return cases()[info.param].name; });

}  // namespace
}  // namespace espalier
