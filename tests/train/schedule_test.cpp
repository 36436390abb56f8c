#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "espalier/error.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/trainer.hpp"

namespace espalier {
namespace {

TEST(Schedule, ConstantStays) {
  const Schedule s{.lr = 0.3};
  for (const std::uint64_t step : {0u, 1u, 99u, 100'000u}) EXPECT_EQ(s.at(step, 100), 0.3f);
}

TEST(Schedule, StepDropsAfterEveryInterval) {
  const Schedule s{.kind = ScheduleKind::kStep, .lr = 1.0, .step_every = 10, .gamma = 0.5};
  EXPECT_EQ(s.at(0, 100), 1.0f);
  EXPECT_EQ(s.at(9, 100), 1.0f);
  EXPECT_EQ(s.at(10, 100), 0.5f);
  EXPECT_EQ(s.at(35, 100), 0.125f);
}

TEST(Schedule, CosineGoesFromTheRateToItsFraction) {
  const Schedule s{.kind = ScheduleKind::kCosine, .lr = 2.0, .final_fraction = 0.1};
  EXPECT_EQ(s.at(0, 101), 2.0f);
  EXPECT_NEAR(s.at(50, 101), 1.1f, 1e-6);
  EXPECT_NEAR(s.at(100, 101), 0.2f, 1e-6);
  EXPECT_NEAR(s.at(5000, 101), 0.2f, 1e-6) << "stays at the end";
}

TEST(Schedule, WarmUpRisesLinearlyAndHandsOver) {
  for (const ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kStep, ScheduleKind::kCosine}) {
    const Schedule s{.kind = kind, .lr = 1.0, .step_every = 10, .warmup = 4};
    EXPECT_EQ(s.at(0, 100), 0.25f);
    EXPECT_EQ(s.at(1, 100), 0.5f);
    EXPECT_EQ(s.at(3, 100), 1.0f);
    EXPECT_EQ(s.at(4, 100), 1.0f);
  }
}

TEST(Schedule, TheRateIsAlwaysBetweenZeroAndItsHighest) {
  EXPECT_TRUE(rc::check([](std::uint16_t step, std::uint16_t total, std::uint8_t warmup) {
    for (const ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kStep, ScheduleKind::kCosine}) {
      const Schedule s{.kind = kind, .lr = 0.7, .final_fraction = 0.2, .step_every = 3, .gamma = 0.9, .warmup = warmup};
      const float rate = s.at(step, total);
      RC_ASSERT(std::isfinite(rate));
      RC_ASSERT(rate >= 0.0f);
      RC_ASSERT(rate <= 0.7f);
    }
  }));
}

TEST(Schedule, NamesAreKnownOrErrors) {
  TrainOptions options;
  Fields fields = fields_of(options);
  fields.at("schedule").set("cosine");
  EXPECT_EQ(options.schedule.kind, ScheduleKind::kCosine);
  EXPECT_THROW(fields.at("schedule").set("cosinus"), Error);
  EXPECT_EQ(options.schedule.kind, ScheduleKind::kCosine);
}

}  // namespace
}  // namespace espalier
