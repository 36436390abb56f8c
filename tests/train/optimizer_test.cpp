#include "espalier/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

Parameters make_parameters(std::size_t count, std::uint64_t seed) {
  Parameters p;
  p.add("w", {count});
  const Random random(seed, Purpose::kInit);
  for (std::size_t i = 0; i < count; ++i) p.values()[i] = random.normal(i);
  return p;
}

void draw_gradients(Parameters& p, std::uint64_t seed, std::uint32_t step) {
  const Random random(seed, Purpose::kData, step);
  for (std::size_t i = 0; i < p.num_parameters(); ++i)
    p.gradients()[i] = random.normal(i) * std::exp(4 * random.normal(i + p.num_parameters()));
}

// The optimizers that the tests go through: both kinds, each with and without every extra.
std::vector<OptimizerOptions> all_options() {
  std::vector<OptimizerOptions> all;
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW})
    for (const float decay : {0.0f, 0.01f})
      for (const float clip_value : {0.0f, 0.5f})
        for (const float clip_norm : {0.0f, 2.0f})
          all.push_back({.kind = kind,
                         .momentum = 0.9f,
                         .weight_decay = decay,
                         .clip_value = clip_value,
                         .clip_norm = clip_norm});
  return all;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(Optimizer, TheFusedPassEqualsTheReferenceToTheBit) {
  const ThreadPool pool(1);
  for (const OptimizerOptions& options : all_options())
    for (const std::size_t count : {1u, 7u, 64u, 1003u, 20'000u}) {
      Parameters p = make_parameters(count, 3);
      Optimizer optimizer(options, count);
      std::vector<float> w(p.values().begin(), p.values().end()), m(count), v(count);
      for (std::uint32_t step = 1; step <= 5; ++step) {
        draw_gradients(p, 5, step);
        reference_step(options, step, 0.01f, w, p.gradients(), m, v);
        optimizer.step(p, 0.01f, pool);
        ASSERT_TRUE(same_bits(p.values(), w)) << count << " parameters, step " << step;
        ASSERT_TRUE(same_bits(optimizer.first_moment(), m));
        if (options.kind == OptimizerKind::kAdamW) {
          ASSERT_TRUE(same_bits(optimizer.second_moment(), v));
        }
      }
    }
}

TEST(Optimizer, TheFusedPassEqualsTheReferenceForAnyOptions) {
  const ThreadPool pool(1);
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    const auto unit = [] { return static_cast<float>(*rc::gen::inRange(0, 1000)) / 1000; };
    const OptimizerOptions options{.kind = *rc::gen::element(OptimizerKind::kSgd, OptimizerKind::kAdamW),
                                   .momentum = unit(),
                                   .beta1 = unit(),
                                   .beta2 = unit(),
                                   .epsilon = 1e-8f + unit(),
                                   .weight_decay = unit(),
                                   .clip_value = unit(),
                                   .clip_norm = unit()};
    const float lr = unit();
    const std::size_t count = *rc::gen::inRange<std::size_t>(1, 200);
    Parameters p = make_parameters(count, seed);
    Optimizer optimizer(options, count);
    std::vector<float> w(p.values().begin(), p.values().end()), m(count), v(count);
    for (std::uint32_t step = 1; step <= 3; ++step) {
      draw_gradients(p, seed, step);
      reference_step(options, step, lr, w, p.gradients(), m, v);
      optimizer.step(p, lr, pool);
    }
    RC_ASSERT(same_bits(p.values(), w));
  }));
}

// Loshchilov and Hutter's AdamW written out in double, one parameter at a time.
TEST(Optimizer, AdamWFollowsTheFormulaInDouble) {
  const ThreadPool pool(1);
  const OptimizerOptions o{.beta1 = 0.8f, .beta2 = 0.95f, .epsilon = 1e-6f, .weight_decay = 0.1f};
  constexpr std::size_t kCount = 100;
  Parameters p = make_parameters(kCount, 1);
  Optimizer optimizer(o, kCount);
  std::vector<double> w(p.values().begin(), p.values().end()), m(kCount), v(kCount);
  for (int t = 1; t <= 50; ++t) {
    draw_gradients(p, 2, static_cast<std::uint32_t>(t));
    const double lr = 0.01 / t;
    optimizer.step(p, static_cast<float>(lr), pool);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double g = p.gradients()[i];
      m[i] = 0.8 * m[i] + 0.2 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      const double m_hat = m[i] / (1 - std::pow(0.8, t)), v_hat = v[i] / (1 - std::pow(0.95, t));
      w[i] -= lr * 0.1 * w[i] + lr * m_hat / (std::sqrt(v_hat) + 1e-6);
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(p.values()[i], w[i], 2e-5) << i;
}

TEST(Optimizer, SgdFollowsTheFormulaByHand) {
  const ThreadPool pool(1);
  Parameters p;
  p.add("w", {1});
  p.values()[0] = 1.0f;
  p.gradients()[0] = 2.0f;
  Optimizer optimizer({.kind = OptimizerKind::kSgd, .momentum = 0.5f}, 1);
  optimizer.step(p, 0.25f, pool);  // momentum 2, weight 1 - 0.5
  EXPECT_EQ(p.values()[0], 0.5f);
  optimizer.step(p, 0.25f, pool);  // momentum 1 + 2 = 3, weight 0.5 - 0.75
  EXPECT_EQ(p.values()[0], -0.25f);
  EXPECT_EQ(p.gradients()[0], 2.0f) << "gradients stay as they are";
  EXPECT_EQ(optimizer.steps(), 2u);
}

TEST(Optimizer, TheFirstAdamWStepHasTheLengthOfTheLearningRate) {
  const ThreadPool pool(1);
  Parameters p = make_parameters(4, 1);
  const std::vector<float> before(p.values().begin(), p.values().end());
  const float gradients[] = {1e-3f, -5.0f, 1e6f, 0.0f};
  std::copy(std::begin(gradients), std::end(gradients), p.gradients().begin());
  Optimizer({}, 4).step(p, 0.1f, pool);
  EXPECT_NEAR(p.values()[0], before[0] - 0.1f, 1e-5);
  EXPECT_NEAR(p.values()[1], before[1] + 0.1f, 1e-5);
  EXPECT_NEAR(p.values()[2], before[2] - 0.1f, 1e-5);
  EXPECT_EQ(p.values()[3], before[3]);
}

TEST(Optimizer, DecayIsDecoupledFromTheGradient) {
  const ThreadPool pool(1);
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW}) {
    Parameters p = make_parameters(3, 1);
    const std::vector<float> before(p.values().begin(), p.values().end());
    Optimizer({.kind = kind, .weight_decay = 0.5f}, 3).step(p, 0.1f, pool);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(p.values()[i], before[i] * (1.0f - 0.1f * 0.5f));
  }
}

// Clipping refuses it; see TrainEdges.
TEST(Optimizer, ANanGradientStaysVisible) {
  const ThreadPool pool(1);
  for (const OptimizerOptions& options : all_options()) {
    Parameters p = make_parameters(20, 1);
    p.gradients()[13] = std::numeric_limits<float>::quiet_NaN();
    if (options.clip_norm > 0 || options.clip_value > 0) {
      EXPECT_THROW(Optimizer(options, 20).step(p, 0.1f, pool), Error);
      continue;
    }
    Optimizer(options, 20).step(p, 0.1f, pool);
    EXPECT_TRUE(std::isnan(p.values()[13]));
  }
}

TEST(Optimizer, ContinuingFromSavedMomentsGivesTheSameBits) {
  const ThreadPool pool(1);
  for (const OptimizerOptions& options : all_options()) {
    Parameters whole = make_parameters(100, 1), parted = make_parameters(100, 1);
    Optimizer first(options, 100), second(options, 100), resumed(options, 100);
    for (std::uint32_t step = 0; step < 10; ++step) {
      draw_gradients(whole, 1, step);
      first.step(whole, 0.01f, pool);
    }
    for (std::uint32_t step = 0; step < 10; ++step) {
      draw_gradients(parted, 1, step);
      if (step == 4) {
        resumed.set_steps(second.steps());
        std::copy(second.first_moment().begin(), second.first_moment().end(), resumed.first_moment().begin());
        std::copy(second.second_moment().begin(), second.second_moment().end(), resumed.second_moment().begin());
      }
      (step < 4 ? second : resumed).step(parted, 0.01f, pool);
    }
    EXPECT_TRUE(same_bits(whole.values(), parted.values()));
  }
}

TEST(Optimizer, WrongOptionsAndSizesAreErrors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const OptimizerOptions& bad : {OptimizerOptions{.momentum = 1.0f},
                                      {.momentum = nan},
                                      {.beta1 = 1.0f},
                                      {.beta1 = -0.1f},
                                      {.beta2 = 1.5f},
                                      {.epsilon = 0.0f},
                                      {.epsilon = nan},
                                      {.weight_decay = -1.0f},
                                      {.clip_value = -1.0f},
                                      {.clip_norm = nan}})
    EXPECT_THAT(message_of<Error>([&] { Optimizer(bad, 1); }), testing::HasSubstr("[optimizer]"));
  Parameters p = make_parameters(3, 1);
  Optimizer optimizer({}, 4);
  EXPECT_THROW(optimizer.step(p, 0.1f, ThreadPool(1)), Error);
}

TEST(OptimizerDeterminism, TheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  constexpr std::size_t kCount = 90'003;  // 6 chunks, the last one ragged
  Parameters start = make_parameters(kCount, 1);
  for (std::size_t i = 0; i < kCount; ++i) start.gradients()[i] = start.values()[kCount - 1 - i];
  for (const OptimizerOptions& options : all_options()) {
    const auto run = [&](int threads) {
      const ThreadPool pool(threads);
      Parameters p = start;
      Optimizer optimizer(options, kCount);
      for (int step = 0; step < 2; ++step) optimizer.step(p, 0.01f, pool);
      return p.hash();
    };
    const std::string expected = run(1);
    for (const int threads : kThreadCounts) ASSERT_EQ(run(threads), expected) << threads;
  }
}

TEST(Optimizer, FrozenTensorsAndTheirMomentsStay) {
  const Oversubscribe more_threads_than_cores;
  for (const OptimizerOptions& options : all_options()) {
    // Larger than a chunk, so that frozen parts begin and end inside of chunks.
    Parameters all = make_parameters(50'000, 1), parts;
    parts.add("a", {20'001});
    parts.add("b", {9'999});
    parts.add("c", {20'000});
    std::ranges::copy(all.values(), parts.values().begin());
    draw_gradients(all, 1, 0);
    std::ranges::copy(all.gradients(), parts.gradients().begin());
    if (options.clip_norm > 0)  // the norm of what is frozen counts for nothing
      std::fill_n(all.gradients().begin() + 20'001, 9'999, 0.0f);
    parts.freeze(1);
    Optimizer one(options, 50'000), other(options, 50'000);
    for (int step = 0; step < 3; ++step) {
      one.step(all, 0.01f, ThreadPool(1));
      other.step(parts, 0.01f, ThreadPool(3));
    }
    const Parameters start = make_parameters(50'000, 1);
    for (std::size_t i = 0; i < 50'000; ++i) {
      const bool frozen = i >= 20'001 && i < 30'000;
      ASSERT_EQ(parts.values()[i], frozen ? start.values()[i] : all.values()[i]) << i;
      ASSERT_EQ(other.first_moment()[i] == 0.0f, frozen || one.first_moment()[i] == 0.0f) << i;
    }
  }
}

TEST(SgdStep, MovesAllOrAPartButNotWhatIsFrozen) {
  const Oversubscribe more_threads_than_cores;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    Parameters p;
    p.add("a", {40'000});
    p.add("b", {30'000});
    for (std::size_t i = 0; i < 70'000; ++i) p.gradients()[i] = static_cast<float>(i % 100);
    sgd_step(p, 0.5f, pool);
    for (std::size_t i = 0; i < 70'000; ++i) ASSERT_EQ(p.values()[i], -0.5f * static_cast<float>(i % 100));
    p.freeze(0);
    sgd_step(p, 39'000, 41'000, 0.5f, pool);
    for (std::size_t i = 0; i < 70'000; ++i)
      ASSERT_EQ(p.values()[i], (i >= 40'000 && i < 41'000 ? -1.0f : -0.5f) * static_cast<float>(i % 100)) << i;
  }
  Parameters p = make_parameters(10, 1);
  EXPECT_THROW(sgd_step(p, std::nanf("")), Error);
  EXPECT_THROW(sgd_step(p, 5, 11, 0.1f), Error);
  EXPECT_THROW(sgd_step(p, 6, 5, 0.1f), Error);
}

}  // namespace
}  // namespace espalier
