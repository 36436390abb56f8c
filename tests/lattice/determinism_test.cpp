// The same bits for any number of threads, for repeated calls, and for pieces of the work.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/hash.hpp"
#include "espalier/logic_automaton.hpp"
#include "models/lattice/block_step.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

struct Problem {
  Problem(const AutomatonOptions& options, const RolloutOptions& rollout) : automaton(options, 11), rollout(rollout) {
    automaton.add_parameters(parameters, 0);
    const Random random(5, Purpose::kData);
    std::uint64_t draw = 0;
    for (float& v : parameters.values()) v = random.normal(draw++);
    const std::size_t cells = static_cast<std::size_t>(rollout.batch) * rollout.height * rollout.width;
    initial.resize(cells * options.channels);
    target.resize(cells * 2);
    for (float& v : initial) v = random.uniform(draw++);
    for (float& v : target) v = random.coin(draw++) ? 1.0f : 0.0f;
  }

  // A hash of all that comes out of one training step.
  std::string step(const ThreadPool& pool) {
    Rollout r(automaton, rollout);
    r.soften(parameters.values(), {.temperature = 0.9f, .gumbel_scale = 0.4f, .seed = 3, .step = 5}, pool);
    r.forward(initial, 7, 3, pool);
    const double loss = r.loss(target, 2, pool);
    r.backward(pool);
    parameters.zero_grad(pool);
    r.add_gradients(parameters.gradients(), pool);
    Hasher hasher;
    hasher.add(&loss, sizeof loss);
    for (const std::vector<float>& part : {r.state(rollout.steps), r.initial_gradient()})
      hasher.add(std::span<const float>(part));
    return hasher.add(std::span<const float>(std::as_const(parameters).gradients())).hex();
  }

  Automaton automaton;
  RolloutOptions rollout;
  Parameters parameters;
  std::vector<float> initial, target;
};

AutomatonOptions options(Boundary boundary) {
  return {6, 4, {8, 4, 2}, {48, 40, 24, 12, 6}, WiringKind::kUnique, boundary};
}

TEST(RolloutDeterminism, TheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  for (const float fire_rate : {1.0f, 0.6f})
    for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero})
      // No whole number of blocks, one block or several per chunk, and enough work for every step to be shared.
      for (const auto& [batch, height, width] : {std::array{3, 29, 31}, {3, 13, 11}, {20, 3, 3}}) {
        Problem p(options(boundary), {batch, height, width, 4, fire_rate});
        const std::string expected = p.step(ThreadPool(1));
        for (const int threads : kThreadCounts) {
          const ThreadPool pool(threads);
          for (int repeat = 0; repeat < 2; ++repeat) ASSERT_EQ(p.step(pool), expected) << threads;
        }
      }
}

TEST(RolloutDeterminism, TheSameBitsWhateverIsTrained) {
  const Oversubscribe oversubscribe;
  for (const Parametrisation form : {Parametrisation::kGates, Parametrisation::kEntries, Parametrisation::kWalsh}) {
    AutomatonOptions shape = options(Boundary::kZero);
    shape.parametrisation = form;
    Problem p(shape, {3, 13, 11, 4, 0.6f});
    const std::string expected = p.step(ThreadPool(1));
    for (const int threads : kThreadCounts) ASSERT_EQ(p.step(ThreadPool(threads)), expected) << threads;
  }
}

TEST(RolloutDeterminism, TheSameBitsWhereWiresAreChosen) {
  const Oversubscribe oversubscribe;
  for (const float fire_rate : {1.0f, 0.6f})
    for (const auto& [batch, height, width] : {std::array{3, 29, 31}, {20, 3, 3}}) {
      AutomatonOptions shape = options(Boundary::kZero);
      shape.candidates = 5;
      Problem p(shape, {batch, height, width, 4, fire_rate});
      const std::string expected = p.step(ThreadPool(1));
      for (const int threads : kThreadCounts) ASSERT_EQ(p.step(ThreadPool(threads)), expected) << threads;
    }
}

// What a group of samples adds to the gradient does not depend on the rest of the batch: beside a board that has
// nothing to learn, another one has the same gradient as alone.
TEST(LatticeDeterminism, TheGradientOfASampleDoesNotDependOnItsNeighbours) {
  constexpr int kCells = 7 * 9, kState = 6 * kCells;
  const ThreadPool pool(1);
  Problem two(options(Boundary::kZero), {2, 7, 9, 3, 1.0f}), one(options(Boundary::kZero), {1, 7, 9, 3, 1.0f});
  Rollout alone(one.automaton, one.rollout), beside(two.automaton, two.rollout);
  for (int place = 0; place < 2; ++place) {
    alone.soften(one.parameters.values(), {}, pool);
    alone.forward(std::span(two.initial).subspan(place * kState, kState), 1, 1, pool);
    alone.loss(std::span(two.target).subspan(place * 2 * kCells, 2 * kCells), 2, pool);
    alone.backward(pool);
    one.parameters.zero_grad(pool);
    alone.add_gradients(one.parameters.gradients(), pool);

    beside.soften(two.parameters.values(), {}, pool);
    beside.forward(two.initial, 1, 1, pool);
    std::vector<float> target = two.target;
    const std::vector<float> last = beside.state(3);
    std::copy_n(&last[(1 - place) * kState], 2 * kCells, &target[(1 - place) * 2 * kCells]);
    beside.loss(target, 2, pool);
    beside.backward(pool);
    two.parameters.zero_grad(pool);
    beside.add_gradients(two.parameters.gradients(), pool);
    EXPECT_TRUE(one.parameters.has_gradients());
    EXPECT_TRUE(std::ranges::equal(one.parameters.gradients(), two.parameters.gradients())) << place;
  }
}

void expect_pure(const AutomatonOptions& shape) {
  Problem p(shape, {3, 13, 11, 1, 0.6f});
  SoftGates gates(p.automaton.perceive(), p.automaton.update());
  gates.choose(p.parameters.values(), {}, ThreadPool(1));
  const Geometry geometry(3, 13, 11, Boundary::kPeriodic);
  const BlockStep step(p.automaton, geometry);
  const std::size_t plane = geometry.plane();
  AlignedVector<float> grid(6 * plane), dout(6 * kBlockCells + 8);
  const Random r(9, Purpose::kData);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = r.uniform(i);
  for (std::size_t i = 0; i < dout.size(); ++i) dout[i] = r.normal(i);
  const AlignedVector<float> grid_before = grid, dout_before = dout;
  for (int block = 0; block < geometry.blocks(); ++block) {
    AlignedVector<float> patch1(9 * 6 * plane), patch2(9 * 6 * plane);
    AlignedVector<float> dc1(gates.coefficients().size()), dc2 = dc1;
    BlockScratch fresh(p.automaton), used(p.automaton);
    for (auto* buffer : {&used.patch, &used.perceived, &used.dpatch, &used.update, &used.work})
      std::fill(buffer->begin(), buffer->end(), 1e30f);  // what an earlier block left behind must not matter
    step.backward(gates.coefficients(), geometry.block(block), grid.data(), dout.data(), fresh, patch1.data(), dc1);
    step.backward(gates.coefficients(), geometry.block(block), grid.data(), dout.data(), used, patch2.data(), dc2);
    ASSERT_EQ(patch1, patch2) << block;
    ASSERT_EQ(dc1, dc2) << block;
  }
  EXPECT_EQ(grid, grid_before);
  EXPECT_EQ(dout, dout_before);
}

TEST(LatticeDeterminism, TheGradientOfABlockIsAPureFunction) {
  AutomatonOptions shape = options(Boundary::kPeriodic);
  expect_pure(shape);
  shape.candidates = 3;
  expect_pure(shape);
}

TEST(LatticeDeterminism, MemoryGrowsWithStepsTimesGrid) {
  const Automaton automaton(options(Boundary::kZero), 1);
  const Rollout one(automaton, {1, 16, 16, 1, 1.0f}), many(automaton, {1, 16, 16, 101, 1.0f});
  // 100 steps more of 6 channels on a plane of 18 x 18 cells and its padding: far less than gates x cells x steps.
  const double grid = 6.0 * static_cast<double>(Geometry(1, 16, 16, Boundary::kZero).plane()) * sizeof(float);
  EXPECT_LE(static_cast<double>(many.bytes() - one.bytes()), 100 * grid);
  EXPECT_GE(static_cast<double>(many.bytes() - one.bytes()), 100 * 6.0 * 256 * sizeof(float));
}

}  // namespace
}  // namespace espalier
