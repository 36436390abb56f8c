// Guesses and the linear model.
#include "data/baselines.hpp"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Baselines, EnoughRowsAreMoreThanLuckExplains) {
  std::vector<float> even, rare(100, 0.0f), one(5, 2.0f);
  for (int i = 0; i < 100; ++i) even.push_back(static_cast<float>(i % 2));
  rare[0] = 1;
  EXPECT_FALSE(enough_rows(true, even, 13));
  EXPECT_TRUE(enough_rows(true, even, 14));  // 2^-14 < 1e-4
  EXPECT_FALSE(enough_rows(true, rare, 900));
  EXPECT_TRUE(enough_rows(true, rare, 1000));
  EXPECT_FALSE(enough_rows(true, one, 1'000'000));
  EXPECT_FALSE(enough_rows(true, {}, 0));
  EXPECT_FALSE(enough_rows(false, even, 9));
  EXPECT_TRUE(enough_rows(false, even, 10));
}

TEST(Baselines, LeastSquaresFindsALinearFunction) {
  std::vector<float> x, y;
  for (int i = 0; i < 20; ++i) {
    const auto a = static_cast<float>(i % 5), b = static_cast<float>(i / 5);
    x.insert(x.end(), {a, b});
    y.push_back(2 * a - 3 * b + 0.5f);
  }
  const std::vector<double> linear = least_squares(2, x, y);
  ASSERT_EQ(linear.size(), 3u);
  EXPECT_NEAR(linear[0], 2, 1e-4);
  EXPECT_NEAR(linear[1], -3, 1e-4);
  EXPECT_NEAR(linear[2], 0.5, 1e-4);
  const std::vector<float> outputs = linear_outputs(linear, x);
  ASSERT_EQ(outputs.size(), y.size());
  for (std::size_t r = 0; r < y.size(); ++r) EXPECT_NEAR(outputs[r], y[r], 1e-3) << r;
}

}  // namespace
}  // namespace espalier
