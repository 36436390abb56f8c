// Wires that are chosen among candidates: drawing them, the plain formulas against finite differences, the kernels
// against these on every vector width, and what hardening makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "espalier/error.hpp"
#include "espalier/gate_network.hpp"
#include "logic/against_reference.hpp"
#include "logic/harden.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr int kInputs = 12, kOutputs = 5;

// Three layers, the middle one fixed; the last has as many candidates as inputs.
GateNetwork network(Parametrisation form = Parametrisation::kGates) {
  const Random r(4, Purpose::kWiring), c(5, Purpose::kWiring);
  return {"net",
          {with_candidates(unique_wiring(kInputs, 15, r), 4, c), random_wiring(15, 7, r),
           with_candidates(unique_wiring(7, kOutputs, r), 7, c)},
          form};
}

TEST(Wires, CandidatesBeginWithTheWireAndAreAllDifferent) {
  const Wiring plain = unique_wiring(20, 15, Random(2, Purpose::kWiring));
  for (const int candidates : {2, 5, 20}) {
    const Wiring w = with_candidates(plain, candidates, Random(3, Purpose::kWiring));
    EXPECT_EQ(w.choices(), candidates);
    EXPECT_EQ(w.a, plain.a);
    EXPECT_EQ(w.b, plain.b);
    std::vector<int> uses(20);
    for (int pin = 0; pin < w.pins(); ++pin) {
      const auto first = w.candidates.begin() + pin * candidates;
      EXPECT_EQ(*first, (pin % 2 ? w.b : w.a)[static_cast<std::size_t>(pin / 2)]);
      EXPECT_EQ(std::set<int>(first, first + candidates).size(), static_cast<std::size_t>(candidates));
      for (auto at = first; at < first + candidates; ++at) ++uses.at(static_cast<std::size_t>(*at));
    }
    for (const int n : uses) EXPECT_GT(n, 0);  // evenly enough
    EXPECT_EQ(w, with_candidates(plain, candidates, Random(3, Purpose::kWiring)));
    const bool all = candidates == plain.inputs;  // then there is nothing to draw
    EXPECT_EQ(w == with_candidates(plain, candidates, Random(4, Purpose::kWiring)), all);
  }
  EXPECT_EQ(with_candidates(plain, 1, Random(3, Purpose::kWiring)), plain);
}

TEST(Wires, ParametersFollowThoseOfTheGates) {
  Parameters parameters;
  const GateNetwork n = network();
  n.add_parameters(parameters, 3, 2);
  ASSERT_EQ(parameters.tensors().size(), 5u);
  EXPECT_EQ(parameters.tensors()[2].name, "net.2");
  EXPECT_EQ(parameters.tensors()[3].name, "net.0.wires");
  EXPECT_EQ(parameters.tensors()[3].shape, (std::vector<std::size_t>{15, 2, 4}));
  EXPECT_EQ(parameters.tensors()[4].name, "net.2.wires");
  EXPECT_EQ(parameters.tensors()[4].shape, (std::vector<std::size_t>{5, 2, 7}));
  EXPECT_EQ(parameters.tensors()[3].offset, n.gate_logits());
  EXPECT_EQ(parameters.num_parameters(), n.logits());
  EXPECT_EQ(n.wires(), 15 * 8 + 5 * 14);
  EXPECT_EQ(n.wire_number(2, 3), 15 * 8 + 3 * 7);
  const auto wires = parameters.values(3);
  for (std::size_t i = 0; i < wires.size(); ++i) ASSERT_EQ(wires[i], i % 4 ? 0.0f : 2.0f);
}

TEST(Wires, TheReferencesGradientsAreThoseOfFiniteDifferences) {
  for (const Parametrisation form : {Parametrisation::kGates, Parametrisation::kWalsh}) {
    const GateNetwork n = network(form);
    std::vector<double> logits = in_double(drawn(n.logits(), 0)), in = in_double(drawn(kInputs, 1));
    const std::vector<double> weights = in_double(drawn(kOutputs, 2));
    const auto value = [&] {
      const std::vector<double> out = PlainNetwork(n, logits, 0.7).outputs(in);
      double sum = 0;
      for (std::size_t i = 0; i < out.size(); ++i) sum += weights[i] * out[i];
      return sum;
    };
    PlainNetwork plain(n, logits, 0.7);
    plain.outputs(in);
    const std::vector<double> din = plain.backward(weights), dlogits = plain.dlogits();
    const double h = 1e-5;
    const auto slope = [&](double& at) {
      const double keep = at;
      at = keep + h;
      const double up = value();
      at = keep - h;
      const double down = value();
      at = keep;
      return (up - down) / (2 * h);
    };
    for (std::size_t i = 0; i < in.size(); ++i) ASSERT_NEAR(din[i], slope(in[i]), 1e-7) << i;
    for (std::size_t i = 0; i < logits.size(); i += 3) ASSERT_NEAR(dlogits[i], slope(logits[i]), 1e-7) << i;
  }
}

TEST(Wires, ForwardAndBackwardAgreeWithTheReference) {
  const GateNetwork n = network();
  for (const int lanes : {8, 24, 32, 40, 128})
    for (const bool straight : {false, true})
      expect_as_reference(n, drawn(n.logits(), 0), {.temperature = 0.5f, .straight = straight}, lanes);
}

TEST(Wires, WidthsWithFusedMultiplyAddGiveTheSameBits) {
  const GateNetwork n = network();
  constexpr int kLanes = 40;
  std::vector<AlignedVector<float>> first;
  int compared = 0;
  const std::int64_t supported = hwy::SupportedTargets();  // before the first is set
  for (const std::int64_t target : {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}}) {
    if (!(supported & target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    SoftGates soft(n);
    soft.choose(drawn(n.logits(), 0), {.temperature = 0.5f});
    AlignedVector<float> in = drawn(kInputs * kLanes, 1), values(static_cast<std::size_t>(n.gates()) * kLanes);
    AlignedVector<float> scratch(static_cast<std::size_t>(n.scratch_rows()) * kLanes), dc(n.coefficients());
    GateTape tape;
    n.forward(soft.coefficients(), kLanes, in, values, tape);
    n.backward(soft.coefficients(), kLanes, in, values, scratch, dc, tape);
    if (compared++ == 0) first = {in, values, dc};
    EXPECT_EQ((std::vector{in, values, dc}), first);
  }
  hwy::SetSupportedTargetsForTest(0);
  if (compared < 2) GTEST_SKIP() << "this machine has " << compared << " of the two widths";
}

TEST(Wires, EntropyAgreesWithTheReference) {
  const GateNetwork n = network();
  const AlignedVector<float> wires = drawn(static_cast<std::size_t>(n.wires()), 3, 3);
  const double entropy = reference::wire_entropy<double>(n, in_double(wires));
  for_each_target([&] { EXPECT_NEAR(mean_wire_entropy(n, wires), entropy / (30 + 10) / std::numbers::ln2, 1e-6); });
  const AlignedVector<float> none(wires.size());
  EXPECT_NEAR(mean_wire_entropy(n, none), (30 * 2 + 10 * std::log2(7)) / 40, 1e-6);
  EXPECT_EQ(mean_wire_entropy(GateNetwork("fixed", {random_wiring(4, 3, Random(1, Purpose::kWiring))}), {}), 0);
}

TEST(Wires, TheSameBitsForAnyThreadCount) {
  const Oversubscribe many;
  const Random r(1, Purpose::kWiring);
  const GateNetwork n("n", {with_candidates(random_wiring(50, 4000, r), 5, r)});
  const AlignedVector<float> logits = drawn(n.logits(), 0), dc = drawn(n.coefficients(), 1);
  AlignedVector<float> first;
  for (const int threads : kThreadCounts) {
    const AlignedVector<float> all = noisy_choice(n, logits, dc, ThreadPool(threads));
    if (threads == 1) first = all;
    ASSERT_EQ(all, first) << threads;
  }
}

// Gates have the noise that they have without candidates; wires have numbers of their own.
TEST(Wires, NoiseOfWiresIsGumbelNoiseAndLeavesThatOfGates) {
  for (const Parametrisation form : {Parametrisation::kGates, Parametrisation::kEntries}) {
    const SoftChoice choice{.gumbel_scale = 1, .seed = 9, .step = 4};
    constexpr std::size_t kOfGates = 16 * 1001, kWires = 100'003;
    const AlignedVector<float> none(kOfGates + kWires);
    AlignedVector<float> both, alone;
    add_gumbel_noise(none, choice, both, calling_thread(), form, kWires);
    add_gumbel_noise(std::span(none).first(kOfGates), choice, alone, calling_thread(), form);
    for (std::size_t i = 0; i < kOfGates; ++i) ASSERT_EQ(both[i], alone[i]) << i;
    double sum = 0, squares = 0;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < kWires; ++i) {
      sum += both[kOfGates + i];
      squares += static_cast<double>(both[kOfGates + i]) * both[kOfGates + i];
      equal += i < kOfGates && both[kOfGates + i] == both[i];
    }
    const double mean = sum / kWires;
    EXPECT_NEAR(mean, std::numbers::egamma, 0.02);
    EXPECT_NEAR(squares / kWires - mean * mean, std::numbers::pi * std::numbers::pi / 6, 0.05);
    EXPECT_LT(equal, 10u);
    EXPECT_THROW(add_gumbel_noise(std::span(none).first(4), choice, both, calling_thread(), form, 5), Error);
  }
}

// The hardened network computes what the soft one does when every gate and every wire is certain.
TEST(Wires, HardenedEqualsTheReferenceWithCertainChoices) {
  const GateNetwork n = network();
  const AlignedVector<float> logits = drawn(n.logits(), 4);
  std::vector<double> certain(logits.size());
  const auto decide = [&](std::size_t at, std::size_t count) {
    certain[static_cast<std::size_t>(std::max_element(&logits[at], &logits[at] + count) - logits.data())] = 1000;
  };
  for (std::size_t at = 0; at < n.gate_logits(); at += kGates) decide(at, kGates);
  reference::each_pin(n, [&](int, int, int first, int count) {
    decide(n.gate_logits() + static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  });
  PlainNetwork plain(n, certain, 1);
  Netlist netlist;
  std::vector<Net> nets;
  for (int i = 0; i < kInputs; ++i) nets.push_back(netlist.add_input(std::to_string(i)));
  for (const Net net : n.harden(logits, netlist, nets)) netlist.add_output("o", net);
  EXPECT_EQ(netlist.gates.size(), static_cast<std::size_t>(n.gates()));
  const std::vector<Wiring> layers = likeliest_wiring(n, std::span(logits).subspan(n.gate_logits()));
  EXPECT_NE(layers[0].a, n.layers()[0].a);  // some have changed
  EXPECT_EQ(layers[1], n.layers()[1]);
  for (std::uint32_t pattern = 0; pattern < 4096; ++pattern) {
    std::vector<bool> bits(kInputs);
    std::vector<double> soft(kInputs);
    for (std::size_t i = 0; i < kInputs; ++i) soft[i] = bits[i] = pattern >> i & 1;
    const std::vector<bool> got = evaluate(netlist, bits);
    const std::vector<double> want = plain.outputs(soft);
    for (std::size_t o = 0; o < kOutputs; ++o) ASSERT_EQ(got[o], want[o] > 0.5);
  }
}

TEST(Wires, WhatDoesNotFitIsRefused) {
  const Random r(1, Purpose::kWiring);
  const Wiring plain = unique_wiring(6, 4, r), good = with_candidates(plain, 3, r);
  for (const int candidates : {-1, 0, 7, 1'000'000'000}) EXPECT_THROW(with_candidates(plain, candidates, r), Error);
  EXPECT_THROW(with_candidates(random_wiring(300, 4, r), kMaxCandidates + 1, r), Error);
  EXPECT_THROW(with_candidates({6, {0, 1}, {2}}, 2, r), Error);
  EXPECT_NO_THROW(GateNetwork("n", {good}));
  EXPECT_NO_THROW(GateNetwork("n", {good}, 1));
  EXPECT_THROW(GateNetwork("n", {good}, 2), Error);
  const auto refused = [&](auto change) {
    Wiring w = good;
    change(w.candidates);
    EXPECT_THROW(GateNetwork("n", {w}), Error);
  };
  refused([](auto& c) { c.pop_back(); });
  refused([](auto& c) { c.resize(3); });
  refused([](auto& c) { c.resize(8); });  // one for each pin is none to choose from
  refused([](auto& c) { c[1] = 6; });
  refused([](auto& c) { c[1] = -1; });
  refused([](auto& c) { c[0] = (c[0] + 1) % 6; });

  const GateNetwork n("n", {good}), fixed("n", {plain});
  EXPECT_THROW(n.wire_number(0, 8), Error);
  EXPECT_THROW(n.wire_number(1, 0), Error);
  EXPECT_THROW(n.wire_number(0, -1), Error);
  EXPECT_THROW(fixed.wire_number(0, 0), Error);
  EXPECT_THROW(SoftGates(n, fixed), Error);
  EXPECT_NO_THROW(SoftGates(fixed, n));
  Parameters parameters;
  EXPECT_THROW(n.add_parameters(parameters, 1, NAN), Error);
  EXPECT_TRUE(parameters.tensors().empty());
  SoftGates soft(n);
  AlignedVector<float> logits(n.logits()), in(6 * 8), values(4 * 8);
  EXPECT_THROW(soft.choose(std::span(logits).first(n.gate_logits()), {}), Error);
  soft.choose(logits, {});
  GateTape tape;
  EXPECT_THROW(n.forward(soft.coefficients().first(16), 8, in, values, tape), Error);
  const AlignedVector<float> wires(24);
  EXPECT_THROW(mean_wire_entropy(n, std::span(wires).first(23)), Error);
  EXPECT_THROW(mean_wire_entropy(n, AlignedVector<float>(24, NAN)), Error);
}

}  // namespace
}  // namespace espalier
