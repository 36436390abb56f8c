// Losses against finite differences, and the two widths of sums against each other.
#include "train/losses.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace espalier {
namespace {

constexpr auto kBoth = {cross_entropy, cross_entropy_in_floats};

TEST(Losses, GradientsOfTheCrossEntropyAreItsDifferences) {
  const std::vector<float> logits{0.5f, -1.25f, 2.0f, 0.0f};
  for (const auto loss : kBoth)
    for (std::size_t right = 0; right < logits.size(); ++right) {
      std::vector<float> gradient(logits.size());
      const double value = loss(logits, right, 0.5f, gradient.data());
      EXPECT_EQ(value, loss(logits, right, 0.5f, nullptr));
      EXPECT_NEAR(value, cross_entropy(logits, right, 1, nullptr), 1e-6);
      for (std::size_t k = 0; k < logits.size(); ++k) {
        constexpr float kStep = 1.0f / 64;
        std::vector<float> more = logits, less = logits;
        more[k] += kStep;
        less[k] -= kStep;
        const double slope = (loss(more, right, 1, nullptr) - loss(less, right, 1, nullptr)) / (2 * kStep);
        EXPECT_NEAR(gradient[k], 0.5 * slope, 1e-4) << right << " " << k;
      }
      std::vector<float> in_place = logits;
      loss(in_place, right, 0.5f, in_place.data());
      if (loss == cross_entropy_in_floats) {
        EXPECT_EQ(in_place, gradient);
      }
    }
}

TEST(Losses, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits{3e38f, -3e38f, 0.0f};
  for (const auto loss : kBoth) EXPECT_EQ(loss(logits, 0, 1, nullptr), 0);
  std::vector<double> probabilities{1000, 999, -1e300};
  softmax(probabilities);
  EXPECT_NEAR(probabilities[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_DOUBLE_EQ(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1);
}

TEST(Losses, TheMeanIsOverSamples) {
  std::vector<float> gradient;
  EXPECT_DOUBLE_EQ(mean_loss(false, std::vector{3.0f, 1.0f}, std::vector{1.0f, 2.0f}, &gradient), 0.5 * (4 + 1) / 2);
  EXPECT_EQ(gradient, (std::vector{1.0f, -0.5f}));
  const std::vector<float> logits{1, 2, 0, 5, 3, 4}, classes{1, 2};
  const std::span<const float> rows(logits);
  EXPECT_DOUBLE_EQ(mean_loss(true, logits, classes, &gradient),
                   (cross_entropy(rows.first(3), 1, 1, nullptr) + cross_entropy(rows.last(3), 2, 1, nullptr)) / 2);
  EXPECT_NEAR(std::accumulate(gradient.begin(), gradient.end(), 0.0), 0, 1e-6);
  EXPECT_EQ(judge_outputs(true, logits, classes).score, 0.5);
  EXPECT_EQ(judge_outputs(false, classes, classes).score, 1);  // R squared
  EXPECT_TRUE(judge_outputs(false, classes, classes).passed);
  EXPECT_EQ(mean_loss(true, {}, {}, nullptr), 0);
}

}  // namespace
}  // namespace espalier
