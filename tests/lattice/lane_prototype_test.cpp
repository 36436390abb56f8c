// The yardstick of the lattice bench computes the same as the reference.
#include "models/lattice/lane_prototype.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/lattice/automaton_reference.hpp"

namespace espalier {
namespace {

TEST(LanePrototype, GradientsAgreeWithTheReference) {
  for (const Boundary boundary : {Boundary::kZero, Boundary::kPeriodic}) {
    const AutomatonOptions shape{3, 2, {8, 4, 2}, {12, 6, 3}, WiringKind::kUnique, boundary};
    const RolloutOptions rollout{2, 7, 6, 3, 1};
    const Automaton automaton(shape, 5);
    Parameters parameters;
    automaton.add_parameters(parameters, 2);
    const Random random(7, Purpose::kTrial);
    for (std::size_t i = 0; i < parameters.num_parameters(); ++i) parameters.values()[i] += random.normal(i);
    std::vector<float> initial(2 * 3 * 42), target(2 * 42), coefficients;
    for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = random.coin(i) ? 1.0f : 0.0f;
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = random.coin(1000 + i) ? 1.0f : 0.0f;
    std::vector<reference::SoftGate<float>> gates;
    for (std::size_t at = 0; at < parameters.num_parameters(); at += kGates) {
      gates.push_back(reference::soften(&parameters.values()[at], 1.0f));
      coefficients.insert(coefficients.end(), gates.back().c, gates.back().c + 4);
    }
    std::vector<float> dc(coefficients.size(), 0.0f), got(parameters.num_parameters(), 0.0f);
    reference::LanePrototype plain(automaton, rollout, coefficients);
    const double loss = plain.step(initial, target, 1, dc);
    for (std::size_t g = 0; g < gates.size(); ++g)
      reference::soften_backward(gates[g], &dc[4 * g], 1.0f, &got[kGates * g]);

    reference::AutomatonReference<float> expected(automaton, parameters.values());
    expected.forward(rollout, initial);
    EXPECT_NEAR(loss, expected.loss(target, 1), 1e-5 * loss);
    const std::vector<float> gradients = expected.backward();
    float largest = 0;
    for (const float x : gradients) largest = std::max(largest, std::abs(x));
    EXPECT_GT(largest, 0);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], gradients[i], 1e-5f * largest) << i;
  }
}

}  // namespace
}  // namespace espalier
