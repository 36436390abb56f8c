// The same bits for any number of threads, for repeated calls, and for pieces of the work.
#include <gtest/gtest.h>

#include <cstdlib>

#include "espalier/rollout.hpp"

namespace espalier {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 5, 8, 16};

struct Problem {
  Problem(float fire_rate, Boundary boundary)
      : automaton({6, 4, {8, 4, 2}, {48, 40, 24, 12, 6}, WiringKind::kUnique, boundary}, 2),
        gates(automaton),
        shape{3, 13, 11, 6, fire_rate} {
    automaton.add_parameters(parameters, 1);
    const Random r(6, Purpose::kData);
    std::uint64_t draw = 0;
    for (float& v : parameters.values()) v += r.normal(draw++);
    for (int i = 0; i < 3 * 6 * 13 * 11; ++i) initial.push_back(r.uniform(draw++));
    for (int i = 0; i < 3 * 2 * 13 * 11; ++i) target.push_back(r.coin(draw++));
  }
  // Gradients of one training step.
  std::vector<float> gradients(const ThreadPool& pool) {
    gates.forward(parameters, {0.9f, 0.4f, 3, 5}, pool);
    Rollout rollout(gates, shape);
    rollout.forward(initial, 1, 2, pool);
    const double loss = rollout.loss(target, 2, pool);
    std::vector<float> dc(static_cast<std::size_t>(gates.gates()) * 4);
    rollout.backward(dc, pool);
    parameters.zero_grad(pool);
    gates.backward(dc.data(), parameters, pool);
    std::vector<float> all(parameters.gradients().begin(), parameters.gradients().end());
    all.push_back(static_cast<float>(loss));
    return all;
  }
  Automaton automaton;
  SoftGates gates;
  RolloutShape shape;
  Parameters parameters;
  std::vector<float> initial, target;
};

TEST(LatticeDeterminism, GradientsAreTheSameBitsForAnyThreadCount) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  for (const float fire_rate : {1.0f, 0.6f})
    for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
      Problem p(fire_rate, boundary);
      const auto expected = p.gradients(ThreadPool(1));
      for (const int threads : kThreadCounts) {
        const ThreadPool pool(threads);
        for (int repeat = 0; repeat < 3; ++repeat) ASSERT_EQ(p.gradients(pool), expected) << threads;
      }
    }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(LatticeDeterminism, TheGradientOfABlockIsAPureFunction) {
  Problem p(0.6f, Boundary::kPeriodic);
  const ThreadPool pool(1);
  p.gates.forward(p.parameters, {}, pool);
  const Geometry geometry(3, 13, 11, Boundary::kPeriodic);
  const std::size_t plane = geometry.plane();
  AlignedVector<float> grid(6 * plane), dout(6 * kBlockCells + 8), fire(kBlockCells);
  const Random r(9, Purpose::kData);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = r.uniform(i);
  for (std::size_t i = 0; i < dout.size(); ++i) dout[i] = r.normal(i);
  for (std::size_t i = 0; i < fire.size(); ++i) fire[i] = r.coin(i);
  const AlignedVector<float> grid_before = grid, dout_before = dout;
  for (int block = 0; block < geometry.blocks(); ++block) {
    AlignedVector<float> patch1(9 * 6 * plane), patch2(9 * 6 * plane);
    AlignedVector<float> dc1(static_cast<std::size_t>(p.gates.gates()) * 4), dc2 = dc1;
    CellScratch fresh(p.gates), used(p.gates);
    for (auto* buffer : {&used.patch, &used.perceived, &used.dpatch, &used.update, &used.spare[0], &used.spare[1]})
      std::fill(buffer->begin(), buffer->end(), 1e30f);  // what an earlier block left behind must not matter
    cell_block_backward(p.gates, geometry, block, grid.data(), fire.data(), dout.data(), fresh, patch1.data(),
                        dc1.data());
    cell_block_backward(p.gates, geometry, block, grid.data(), fire.data(), dout.data(), used, patch2.data(),
                        dc2.data());
    ASSERT_EQ(patch1, patch2) << block;
    ASSERT_EQ(dc1, dc2) << block;
  }
  EXPECT_EQ(grid, grid_before);
  EXPECT_EQ(dout, dout_before);
}

TEST(LatticeDeterminism, MemoryGrowsWithStepsTimesGrid) {
  Problem p(1.0f, Boundary::kZero);
  Rollout one(p.gates, {1, 16, 16, 1, 1.0f}), many(p.gates, {1, 16, 16, 101, 1.0f});
  // 100 steps more of 6 channels on a plane of 18 x 18 cells and its padding: far less than gates x cells x steps.
  const double grid = 6.0 * static_cast<double>(many.geometry().plane()) * sizeof(float);
  EXPECT_LE(static_cast<double>(many.bytes() - one.bytes()), 100 * grid);
  EXPECT_GE(static_cast<double>(many.bytes() - one.bytes()), 100 * 6.0 * 256 * sizeof(float));
}

}  // namespace
}  // namespace espalier
