#include "espalier/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Parameters sample(std::size_t count, std::uint64_t seed = 1) {
  Parameters p;
  p.add("first", {count / 3});
  p.add("second", {count - count / 3});
  const Random random(seed, Purpose::kData);
  for (std::size_t i = 0; i < count; ++i) {
    p.values()[i] = random.normal(i);
    p.gradients()[i] = random.normal(i + count) * 100;
  }
  return p;
}

TEST(Parameters, TensorsLieOneAfterTheOther) {
  Parameters p;
  EXPECT_EQ(p.add("a", {2, 3}), 0u);
  EXPECT_EQ(p.add("b", {}), 1u);
  EXPECT_EQ(p.add("c", {4}), 2u);
  EXPECT_EQ(p.num_parameters(), 11u);
  EXPECT_EQ(p.values(1).data(), p.values().data() + 6);
  EXPECT_EQ(p.gradients(2).data(), p.gradients().data() + 7);
  EXPECT_EQ(p.gradients(2).size(), 4u);
  EXPECT_EQ(p.find("b"), 1u);
  for (const float v : p.values()) EXPECT_EQ(v, 0);
}

TEST(Parameters, AddingKeepsWhatIsThere) {
  Parameters p = sample(10);
  const std::vector<float> values(p.values().begin(), p.values().end());
  p.add("third", {1000});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(p.values()[i], values[i]);
}

TEST(Parameters, WrongNamesAndShapesAreErrors) {
  Parameters p = sample(10);
  EXPECT_THAT(message_of<Error>([&] { p.add("first", {1}); }), HasSubstr("twice"));
  EXPECT_THAT(message_of<Error>([&] { p.find("absent"); }), AllOf(HasSubstr("absent"), HasSubstr("first, second")));
  EXPECT_THAT(message_of<Error>([&] { p.add("huge", {1u << 31, 1u << 31, 4}); }), HasSubstr("huge"));
  EXPECT_EQ(p.num_parameters(), 10u);
  for (const std::size_t tensor : {std::size_t{2}, ~std::size_t{0}}) {
    EXPECT_THROW(p.values(tensor), Error);
    EXPECT_THROW(p.gradients(tensor), Error);
    EXPECT_THROW(p.freeze(tensor), Error);
  }
}

TEST(Parameters, HashChangesWithANameAShapeOrAByte) {
  const auto hash = [](const std::string& name, std::vector<std::size_t> shape, float value) {
    Parameters p;
    p.add(name, std::move(shape));
    p.values()[0] = value;
    return p.hash();
  };
  const std::string base = hash("a", {2, 3}, 1.0f);
  EXPECT_EQ(base, hash("a", {2, 3}, 1.0f));
  EXPECT_NE(base, hash("b", {2, 3}, 1.0f));
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{3, 2}, {6}, {2, 3, 1}, {1, 2, 3}})
    EXPECT_NE(base, hash("a", shape, 1.0f));
  EXPECT_NE(base, hash("a", {2, 3}, std::nextafter(1.0f, 2.0f)));
  EXPECT_NE(hash("a", {2, 3}, 0.0f), hash("a", {2, 3}, -0.0f));
}

TEST(Parameters, HashFollowsEveryValueAndTheSplitIntoTensors) {
  Parameters p = sample(50);
  const std::string base = p.hash();
  for (float& value : p.values()) {
    const float before = value;
    value = before + 1;
    EXPECT_NE(p.hash(), base);
    value = before;
  }
  EXPECT_EQ(p.hash(), base);
  p.gradients()[0] += 1;
  EXPECT_EQ(p.hash(), base) << "gradients are no part of a model";
  Parameters other;  // the same numbers, split elsewhere
  other.add("first", {17});
  other.add("second", {33});
  std::copy(p.values().begin(), p.values().end(), other.values().begin());
  EXPECT_NE(other.hash(), base);
}

TEST(Parameters, ZeroGradLeavesNoGradient) {
  const ThreadPool pool(2);
  Parameters p = sample(100'000);
  EXPECT_TRUE(p.has_gradients());
  p.zero_grad(pool);
  EXPECT_FALSE(p.has_gradients());
  EXPECT_EQ(p.gradient_norm(pool), 0.0);
  p.gradients()[99'999] = 1e-30f;
  EXPECT_TRUE(p.has_gradients());
}

TEST(Parameters, NormIsTheRootOfTheSumOfSquares) {
  const ThreadPool pool(1);
  for (const std::size_t count : {1u, 7u, 8u, 9u, 1000u, 16'384u, 16'385u, 50'001u}) {
    const Parameters p = sample(count);
    long double squares = 0;
    for (const float g : p.gradients()) squares += static_cast<long double>(g) * g;
    EXPECT_NEAR(p.gradient_norm(pool) / std::sqrt(static_cast<double>(squares)), 1.0, 1e-13) << count;
  }
  EXPECT_EQ(Parameters().gradient_norm(pool), 0.0);
}

TEST(Parameters, NormOfHugeAndTinyGradientsDoesNotOverflow) {
  const ThreadPool pool(1);
  Parameters p;
  p.add("a", {2});
  p.gradients()[0] = p.gradients()[1] = 3e38f;
  EXPECT_NEAR(p.gradient_norm(pool) / (static_cast<double>(3e38f) * std::sqrt(2.0)), 1.0, 1e-12);
  p.gradients()[0] = p.gradients()[1] = 1e-30f;
  EXPECT_GT(p.gradient_norm(pool), 1e-30);
  p.gradients()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(p.gradient_norm(pool)));
}

TEST(Parameters, ClippingByNormShrinksToTheLimitAndKeepsTheDirection) {
  const ThreadPool pool(1);
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    Parameters p = sample(257, seed);
    const std::vector<float> before(p.gradients().begin(), p.gradients().end());
    const double norm = p.gradient_norm(pool), limit = 1 + *rc::gen::inRange(0, 4000);
    RC_ASSERT(p.clip_gradients(limit, pool) == norm);
    if (norm <= limit) {
      RC_ASSERT(std::equal(before.begin(), before.end(), p.gradients().begin()));
      return;
    }
    RC_ASSERT(std::abs(p.gradient_norm(pool) / limit - 1) < 1e-6);
    for (std::size_t i = 0; i < before.size(); ++i)
      RC_ASSERT(p.gradients()[i] == before[i] * static_cast<float>(limit / norm));
  }));
}

TEST(Parameters, ClippingByValueLimitsEveryElementAndNoOther) {
  const ThreadPool pool(1);
  Parameters p = sample(1000);
  const std::vector<float> before(p.gradients().begin(), p.gradients().end());
  p.clip_gradient_values(50, pool);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(p.gradients()[i], before[i] > 50 ? 50 : before[i] < -50 ? -50 : before[i]);
}

TEST(ParametersDeterminism, NormAndClippingGiveTheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  const Parameters start = sample(150'007);  // 10 chunks, the last one ragged
  const auto run = [&](int threads) {
    const ThreadPool pool(threads);
    Parameters p = start;
    const double norm = p.clip_gradients(10.0, pool);
    p.clip_gradient_values(0.02f, pool);
    return std::pair(norm, std::vector<float>(p.gradients().begin(), p.gradients().end()));
  };
  const auto expected = run(1);
  for (const int threads : kThreadCounts) EXPECT_EQ(run(threads), expected) << threads;
}

TEST(Parameters, FrozenGradientsCountForNothing) {
  Parameters p;
  p.add("a", {3});
  p.add("b", {2});
  p.add("c", {4});
  for (float& g : p.gradients()) g = 2;
  const ThreadPool pool(1);
  p.freeze(1);
  EXPECT_DOUBLE_EQ(p.gradient_norm(pool), std::sqrt(7 * 4.0));
  p.freeze(0);
  p.freeze(2);
  EXPECT_EQ(p.gradient_norm(pool), 0.0);
  EXPECT_FALSE(p.has_gradients());
  p.freeze(1, false);
  EXPECT_TRUE(p.has_gradients());
  EXPECT_THROW(p.freeze(3), Error);
}

TEST(Parameters, ClippingRefusesLimitsWithoutMeaning) {
  Parameters p;
  p.add("a", {3});
  const ThreadPool pool(1);
  for (const float bad : {-1.0f, std::nanf("")}) {
    EXPECT_THROW(p.clip_gradients(bad, pool), Error);
    EXPECT_THROW(p.clip_gradient_values(bad, pool), Error);
  }
}

}  // namespace
}  // namespace espalier
