// Soft against hard: no distance for certain gates, some for doubtful ones.
#include "models/lattice/divergence.hpp"

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {
namespace {

LatticeModel model_of(bool certain, float fire_rate) {
  const Automaton automaton({.channels = 3, .kernels = 4, .perceive = {8, 4, 2}, .update = {16, 8, 4, 3}}, 2);
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  const Random random(4, Purpose::kTrial);
  for (std::size_t g = 0; g < parameters.num_parameters() / kGates; ++g)
    parameters.values()[g * kGates + random.choice(g, kGates)] = certain ? 1000.0f : 2.0f;
  return {automaton,
          {.batch = 1, .height = 6, .width = 5, .steps = 4, .fire_rate = fire_rate},
          checkerboard_goal(),
          parameters.values(),
          3};
}

TEST(Divergence, CertainGatesAreHard) {
  for (const float rate : {1.0f, 0.6f})
    for (const DivergenceRow& row : divergence(model_of(true, rate), 3, ThreadPool(1))) {
      EXPECT_LT(row.largest, 1e-5);
      EXPECT_EQ(row.other_bits, 0);
      EXPECT_NEAR(row.soft_distance, row.hard_distance, 1e-3);
    }
}

TEST(Divergence, DoubtfulGatesPartWaysAfterTheStart) {
  const std::vector<DivergenceRow> rows = divergence(model_of(false, 1), 5, ThreadPool(2));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].difference, 0);
  for (std::size_t t = 1; t < rows.size(); ++t) {
    EXPECT_EQ(rows[t].step, static_cast<int>(t));
    EXPECT_GT(rows[t].difference, 0.01);
    EXPECT_GE(rows[t].largest, rows[t].difference);
  }
  EXPECT_NE(divergence_picture(rows, "title").find("<svg"), std::string::npos);
  EXPECT_THROW(divergence(model_of(false, 1), 0, ThreadPool(1)), Error);
  const LatticeModel trained = model_of(false, 1);
  EXPECT_THROW(divergence(*trained.refined(trained.raw_cell()), 5, ThreadPool(1)), Error) << "it has no soft gates";
}

}  // namespace
}  // namespace espalier
