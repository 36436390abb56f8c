// Sixteen logits, four entries, four Walsh coefficients: each against the plain formulas, and against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "espalier/error.hpp"
#include "espalier/gate_network.hpp"
#include "logic/against_reference.hpp"
#include "logic/harden.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr Parametrisation kForms[] = {Parametrisation::kGates, Parametrisation::kEntries, Parametrisation::kWalsh};
constexpr Parametrisation kFours[] = {Parametrisation::kEntries, Parametrisation::kWalsh};
constexpr int kCount = 333;  // gates: several chunks, and an odd number

GateNetwork network(Parametrisation form) {
  return {"n", {random_wiring(20, kCount, Random(1, Purpose::kWiring))}, form};
}

AlignedVector<float> logits_for(Parametrisation form, float scale = 2) {
  return drawn(static_cast<std::size_t>(kCount) * static_cast<std::size_t>(logits_of(form)), 0, scale);
}

TEST(Parametrisation, AStartIsTheSameSoftGateInEach) {
  for (int g = 0; g < kGates; ++g)
    for (const float logit : {-3.0f, 0.0f, 0.5f, 5.0f, 10.0f, 60.0f}) {
      std::array<float, kGates> sixteen{};
      set_gate(sixteen, static_cast<Gate>(g), logit, Parametrisation::kGates);
      const auto want = reference::soften_all<double>(in_double(sixteen), 1, false)[0];
      for (const Parametrisation form : kFours) {
        std::array<float, 4> four{};
        set_gate(four, static_cast<Gate>(g), logit, form);
        const auto got = reference::soften_all<double>(in_double(four), 1, false, form)[0];
        for (int k = 0; k < 4; ++k) ASSERT_NEAR(got.c[k], want.c[k], 1e-6) << g << " " << logit;
        ASSERT_TRUE(logit <= 0 || likeliest_gate(four, form) == static_cast<Gate>(g));
      }
    }
  for (const Parametrisation form : kFours)
    EXPECT_EQ(likeliest_gate(std::array<float, 4>{}, form), Gate::kFalse);  // 1 only above 0
}

TEST(Parametrisation, ANetworkStartsAsWires) {
  for (const Parametrisation form : kForms) {
    Parameters parameters;
    network(form).add_parameters(parameters, 5);
    EXPECT_EQ(parameters.num_parameters(), static_cast<std::size_t>(kCount * logits_of(form)));
    const GateCounts counts = count_gates(parameters.values(), form);
    EXPECT_EQ(counts.raw, kCount);
    EXPECT_EQ(counts.histogram[static_cast<int>(Gate::kA)], kCount);
  }
}

TEST(Parametrisation, ChoiceAndGradientsAgreeWithTheReference) {
  for (const Parametrisation form : kFours)
    for (const float temperature : {1.0f, 0.4f})
      for (const bool straight : {false, true}) {
        const GateNetwork n = network(form);
        const AlignedVector<float> logits = logits_for(form), dc = drawn(4 * kCount, 1, 2);
        const auto gates = reference::soften_all<double>(in_double(logits), double{temperature}, straight, form);
        std::vector<double> ordered(dc.size());  // in the order of the parameters
        for (std::size_t i = 0; i < dc.size(); ++i)
          ordered[4 * static_cast<std::size_t>(n.evaluation_order()[i / 4]) + i % 4] = dc[i];
        const auto want = reference::soften_all_backward<double>(gates, ordered, temperature, form);
        for_each_target([&] {
          SoftGates soft(n);
          soft.choose(logits, {.temperature = temperature, .straight = straight});
          for (std::size_t i = 0; i < dc.size(); ++i) {
            const double c = gates[static_cast<std::size_t>(n.evaluation_order()[i / 4])].c[i % 4];
            ASSERT_NEAR(soft.coefficients()[i], c, 1e-6);
          }
          AlignedVector<float> dlogits(logits.size(), 1.0f);
          soft.backward(dc, dlogits);
          for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(dlogits[i], 1 + want[i], 1e-5);
        });
      }
}

TEST(Parametrisation, TheReferencesGradientsAreThoseOfFiniteDifferences) {
  for (const Parametrisation form : kForms) {
    std::vector<double> logits = in_double(logits_for(form));
    const auto weights = in_double(drawn(4 * kCount, 1, 2));
    const auto value = [&] {
      double sum = 0;
      const auto gates = reference::soften_all<double>(logits, 0.7, false, form);
      for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * gates[i / 4].c[i % 4];
      return sum;
    };
    const auto gates = reference::soften_all<double>(logits, 0.7, false, form);
    const auto gradients = reference::soften_all_backward<double>(gates, weights, 0.7, form);
    for (std::size_t i = 0; i < logits.size(); i += 7) {
      const double keep = logits[i], h = 1e-5;
      logits[i] = keep + h;
      const double up = value();
      logits[i] = keep - h;
      const double down = value();
      logits[i] = keep;
      ASSERT_NEAR(gradients[i], (up - down) / (2 * h), 1e-6) << i;
    }
  }
}

TEST(Parametrisation, EntropyAgreesWithTheReference) {
  for (const Parametrisation form : kForms) {
    const AlignedVector<float> logits = logits_for(form);
    const double entropy = reference::entropy<double>(in_double(logits), form);
    for_each_target([&] { EXPECT_NEAR(mean_entropy(logits, form), entropy / kCount / std::numbers::ln2, 1e-6); });
    const AlignedVector<float> none(logits.size());
    EXPECT_NEAR(mean_entropy(none, form), 4, 1e-6);  // all sixteen alike, or four coins
    AlignedVector<float> decided(logits.size());
    for (std::size_t at = 0; at < decided.size(); at += static_cast<std::size_t>(logits_of(form)))
      set_gate(std::span(decided).subspan(at, static_cast<std::size_t>(logits_of(form))), Gate::kXor, 60, form);
    EXPECT_NEAR(mean_entropy(decided, form), 0, 1e-6);
  }
}

TEST(Parametrisation, TheSameBitsForAnyThreadCount) {
  const Oversubscribe many;
  for (const Parametrisation form : kForms) {
    const GateNetwork n = network(form);
    const AlignedVector<float> logits = logits_for(form), dc = drawn(4 * kCount, 1, 2);
    AlignedVector<float> first;
    for (const int threads : kThreadCounts) {
      const ThreadPool pool(threads);
      const AlignedVector<float> all = noisy_choice(n, logits, dc, pool);
      if (threads == 1) first = all;
      ASSERT_EQ(all, first) << threads;
    }
  }
}

// Of an entry: two Gumbel numbers apart, a logistic one. Walsh coefficients move so that their entries do the same.
TEST(Parametrisation, NoiseDecidesBetweenTheValuesOfAnEntry) {
  const SoftChoice choice{.gumbel_scale = 1, .seed = 9, .step = 4};
  const AlignedVector<float> none(std::size_t{4} * 20011);
  AlignedVector<float> entries, walsh;
  add_gumbel_noise(none, choice, entries, calling_thread(), Parametrisation::kEntries);
  add_gumbel_noise(none, choice, walsh, calling_thread(), Parametrisation::kWalsh);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < none.size(); ++i) {
    sum += entries[i];
    squares += static_cast<double>(entries[i]) * entries[i];
    float z = 0;
    for (std::size_t k = 0; k < 4; ++k) z += static_cast<float>(reference::kWalsh[i % 4][k]) * walsh[i - i % 4 + k];
    ASSERT_NEAR(z, entries[i], 1e-5);
  }
  const auto count = static_cast<double>(none.size());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, std::numbers::pi * std::numbers::pi / 3, 0.05);
  EXPECT_THROW(add_gumbel_noise(std::span(none).first(6), choice, walsh, calling_thread(), Parametrisation::kWalsh),
               Error);
}

TEST(Parametrisation, HardenedGatesAreTheSignsOfTheirEntries) {
  for (const Parametrisation form : kFours) {
    const GateNetwork n = network(form);
    const AlignedVector<float> logits = logits_for(form);
    SoftGates soft(n);
    soft.choose(logits, {.straight = true});
    const std::vector<Gate> gates = likeliest_gates(logits, form);
    for (int i = 0; i < kCount; ++i)
      for (int k = 0; k < 4; ++k)
        ASSERT_EQ(soft.coefficients()[static_cast<std::size_t>(4 * i + k)],
                  kGateCoefficients[gate_bits(gates[static_cast<std::size_t>(n.evaluation_order()[i])])][k]);
  }
}

TEST(Parametrisation, WhatDoesNotFitIsRefused) {
  const AlignedVector<float> sixteen(16 * kCount), odd(6);
  AlignedVector<float> gradients(4 * kCount);
  SoftGates soft(network(Parametrisation::kWalsh));
  EXPECT_THROW(soft.choose(sixteen, {}), Error);
  EXPECT_THROW(SoftGates(network(Parametrisation::kWalsh), network(Parametrisation::kEntries)), Error);
  EXPECT_THROW(count_gates(odd, Parametrisation::kEntries), Error);
  EXPECT_THROW(mean_entropy({}, Parametrisation::kEntries), Error);
  EXPECT_THROW(likeliest_gate(odd, Parametrisation::kEntries), Error);
  EXPECT_THROW(set_gate(gradients, Gate::kA, 1, Parametrisation::kEntries), Error);
}

}  // namespace
}  // namespace espalier
