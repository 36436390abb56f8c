// The promise of lattice/rollout.hpp: states, loss and gradients are the same bits for any number of threads.
#include <gtest/gtest.h>

#include <string>

#include "base/hash.hpp"
#include "espalier/rollout.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

// Forward, loss and backward once; a hash of all that comes out.
std::string hash_of_a_step(const AutomatonShape& shape, const RolloutShape& rollout_shape, int threads) {
  const ThreadPool pool(threads);
  const Automaton automaton(shape, 11);
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  const Random random(5, Purpose::kData);
  std::uint64_t draw = 0;
  for (float& v : parameters.values()) v = random.normal(draw++);
  const std::size_t cells = static_cast<std::size_t>(rollout_shape.batch) * rollout_shape.height * rollout_shape.width;
  std::vector<float> initial(cells * shape.channels), target(cells);
  for (float& v : initial) v = random.uniform(draw++);
  for (float& v : target) v = random.coin(draw++) ? 1.0f : 0.0f;

  SoftGates gates(automaton);
  gates.forward(parameters, {0.8f, 0, 0, 0}, pool);
  Rollout rollout(gates, rollout_shape);
  rollout.forward(initial, 7, 3, pool);
  const double loss = rollout.loss(target, 1, pool);
  std::vector<float> dc(static_cast<std::size_t>(gates.gates()) * 4);
  rollout.backward(dc, pool);
  gates.backward(dc.data(), parameters, pool);

  Hasher hasher;
  hasher.add(&loss, sizeof loss);
  for (const std::vector<float>& part : {rollout.state(rollout_shape.steps), dc, rollout.initial_gradient()})
    hasher.add(std::span<const float>(part));
  return hasher.add(std::span<const float>(std::as_const(parameters).gradients())).hex();
}

TEST(RolloutDeterminism, TheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  for (const float fire_rate : {1.0f, 0.6f})
    for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
      const AutomatonShape shape{4, 3, {8, 4, 2}, {24, 16, 8, 4}, WiringKind::kUnique, boundary};
      // No whole number of blocks, several blocks a chunk, and enough work for every step to be shared.
      const RolloutShape rollout{3, 29, 31, 4, fire_rate};
      const std::string expected = hash_of_a_step(shape, rollout, 1);
      for (const int threads : kThreadCounts)
        for (int repeat = 0; repeat < 2; ++repeat)
          ASSERT_EQ(hash_of_a_step(shape, rollout, threads), expected) << threads;
    }
}

}  // namespace
}  // namespace espalier
