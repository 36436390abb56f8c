#include "espalier/gate_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "logic/against_reference.hpp"
#include "logic/harden.hpp"
#include "logic/unsealed_gates.hpp"

namespace espalier {
namespace {

std::set<std::pair<int, int>> pairs(const Wiring& w) {
  std::set<std::pair<int, int>> result;
  for (int g = 0; g < w.outputs(); ++g) result.emplace(w.a[g], w.b[g]);
  return result;
}

TEST(Wiring, UniqueUsesEveryInputAndNoPairTwice) {
  for (const auto& [inputs, outputs] :
       {std::pair{264, 256}, {256, 256}, {256, 128}, {9, 8}, {2, 1}, {640, 512}, {7, 21}}) {
    const Wiring w = unique_wiring(inputs, outputs, Random(3, Purpose::kWiring));
    ASSERT_EQ(w.outputs(), outputs);
    EXPECT_EQ(pairs(w).size(), static_cast<std::size_t>(outputs));
    std::set<int> used(w.a.begin(), w.a.end());
    used.insert(w.b.begin(), w.b.end());
    // An odd input at the end has no partner in the first round of pairs.
    EXPECT_GE(used.size(), static_cast<std::size_t>(inputs - inputs % 2)) << inputs << "->" << outputs;
    for (int g = 0; g < outputs; ++g) EXPECT_LT(w.a[g], w.b[g]);
  }
}

// The published order: (0,1), (2,3), ...; then (1,2), (3,4), ...; then all pairs two apart, three apart, ...
TEST(Wiring, UniqueTakesPairsInThePublishedOrder) {
  EXPECT_EQ(pairs(unique_wiring(6, 3, Random(1, Purpose::kWiring))),
            (std::set<std::pair<int, int>>{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(pairs(unique_wiring(6, 7, Random(1, Purpose::kWiring))),
            (std::set<std::pair<int, int>>{{0, 1}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {0, 2}, {1, 3}}));
}

TEST(Wiring, RandomDealsWiresEvenly) {
  const Wiring w = random_wiring(10, 25, Random(9, Purpose::kWiring));
  std::vector<int> uses(10);
  for (const auto* wires : {&w.a, &w.b})
    for (const int wire : *wires) ++uses.at(wire);
  for (const int n : uses) EXPECT_EQ(n, 5);
}

TEST(Wiring, TheSeedDecidesTheOrder) {
  const auto wires = [](std::uint64_t seed) { return unique_wiring(64, 64, Random(seed, Purpose::kWiring)).a; };
  EXPECT_EQ(wires(1), wires(1));
  EXPECT_NE(wires(1), wires(2));
}

TEST(Wiring, ImpossibleLayersAreErrorsThatSaySo) {
  const Random r(1, Purpose::kWiring);
  EXPECT_THROW(unique_wiring(9, 4, r), Error);  // an input would be left out
  EXPECT_THROW(unique_wiring(4, 7, r), Error);  // only six pairs
  EXPECT_THROW(unique_wiring(1, 1, r), Error);
  EXPECT_THROW(random_wiring(2, 0, r), Error);
  try {
    unique_wiring(4, 7, r);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("at most 6"), std::string::npos) << e.what();
  }
}

// Three layers that use chains, pairs and shared rows alike.
GateNetwork network(int copies) {
  const Random r(4, Purpose::kWiring);
  return {"net", {unique_wiring(12, 14, r), random_wiring(14, 10, r), unique_wiring(10, 5, r)}, copies};
}

TEST(GateNetwork, ParametersAreOneTensorPerLayer) {
  Parameters parameters;
  network(3).add_parameters(parameters, 5);
  GateNetwork("one", {unique_wiring(4, 2, Random(1, Purpose::kWiring))}).add_parameters(parameters, 1);
  ASSERT_EQ(parameters.tensors().size(), 4u);
  EXPECT_EQ(parameters.tensors()[1].name, "net.1");
  EXPECT_EQ(parameters.tensors()[1].shape, (std::vector<std::size_t>{3, 10, 16}));
  EXPECT_EQ(parameters.tensors()[3].name, "one.0");
  EXPECT_EQ(parameters.tensors()[3].shape, (std::vector<std::size_t>{2, 16}));
  const auto values = parameters.values(0);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i % 16 == 3 ? 5.0f : 0.0f);
}

TEST(GateNetwork, NumbersFollowTheParametersAndAreEvaluatedOnceEach) {
  const GateNetwork n = network(2);
  EXPECT_EQ(n.gate_number(0, 0, 0), 0);
  EXPECT_EQ(n.gate_number(1, 0, 3), 14 + 3);
  EXPECT_EQ(n.gate_number(1, 2, 4), 2 * (14 + 10) + 5 + 4);
  std::vector<std::int32_t> order = n.evaluation_order();
  std::ranges::sort(order);
  for (int i = 0; i < n.gates(); ++i) ASSERT_EQ(order[i], i);
}

TEST(GateNetwork, ForwardAndBackwardAgreeWithTheReference) {
  const GateNetwork n = network(3);
  expect_as_reference(n, drawn(n.logits(), 0), {.temperature = 0.5f}, 40, 2);
}

TEST(GateNetwork, StraightThroughComputesWithTheLikeliestGates) {
  const GateNetwork n = network(1);
  const AlignedVector<float> logits = drawn(n.logits(), 3);
  SoftGates gates(n);
  gates.choose(logits, {.straight = true}, ThreadPool(1));
  for (int i = 0; i < n.gates(); ++i) {
    const std::span<const float> own = std::span(logits).subspan(n.evaluation_order()[i] * std::size_t{kGates});
    const auto& expected = kGateCoefficients[static_cast<int>(likeliest_gate(own.first<kGates>()))];
    for (int k = 0; k < 4; ++k) ASSERT_EQ(gates.coefficients()[4 * i + k], expected[k]);
  }
}

// The hardened network computes what the soft one does when every gate is certain.
TEST(GateNetwork, HardenedEqualsTheReferenceWithCertainGates) {
  const GateNetwork n = network(2);
  const AlignedVector<float> logits = drawn(n.logits(), 4);
  std::vector<double> certain(logits.size());
  for (std::size_t at = 0; at < logits.size(); at += kGates)
    certain[at + static_cast<std::size_t>(likeliest_gate(std::span(logits).subspan(at).first<kGates>()))] = 1000;
  const auto gates = reference::soften_all<double>(certain, 1, false);
  for (int copy = 0; copy < 2; ++copy) {
    Netlist raw, folded;
    std::vector<Net> nets;
    for (int i = 0; i < 12; ++i) nets.push_back(raw.add_input(std::to_string(i)));
    folded = raw;
    CleanBuilder builder(12);
    for (const Net net : append_gates(n, likeliest_gates(logits), n.layers(), copy, nets,
                                      [&](Gate g, Net a, Net b) { return builder.add(g, a, b); }))
      folded.outputs.push_back({"o", net});
    folded = builder.finish(std::move(folded));
    for (const Net net : n.harden(logits, raw, nets, copy)) raw.add_output("o", net);
    EXPECT_EQ(raw.gates.size(), static_cast<std::size_t>(n.gates_per_copy()));
    EXPECT_LT(folded.gates.size(), raw.gates.size());
    for (std::uint32_t pattern = 0; pattern < 4096; ++pattern) {
      std::vector<bool> bits(12);
      std::vector<double> soft(12);
      for (int i = 0; i < 12; ++i) soft[i] = bits[i] = pattern >> i & 1;
      const std::vector<bool> got = evaluate(raw, bits);
      const auto want = reference::network_forward<double>(n, gates, copy, soft).back();
      for (int o = 0; o < 5; ++o) ASSERT_EQ(got[o], want[o] > 0.5);
      ASSERT_EQ(evaluate(folded, bits), got);
    }
  }
}

TEST(GateNetwork, CountsKnowWiresAndConstantsFromActiveGates) {
  std::vector<float> logits(4 * kGates, 0.0f);
  logits[0 * kGates + static_cast<int>(Gate::kA)] = 1;
  logits[1 * kGates + static_cast<int>(Gate::kXor)] = 1;
  logits[2 * kGates + static_cast<int>(Gate::kB)] = 1;
  logits[3 * kGates + static_cast<int>(Gate::kTrue)] = 1;
  const GateCounts counts = count_gates(logits);
  EXPECT_EQ(counts.raw, 4);
  EXPECT_EQ(counts.constants, 1);
  EXPECT_EQ(counts.active, 1);
  EXPECT_EQ(counts.histogram[static_cast<int>(Gate::kXor)], 1);
}

TEST(GateNetwork, RefusesWhatDoesNotFit) {
  const Random r(1, Purpose::kWiring);
  EXPECT_THROW(GateNetwork("n", {}), Error);
  EXPECT_THROW(GateNetwork("n", {unique_wiring(4, 2, r)}, 0), Error);
  EXPECT_THROW(GateNetwork("n", {unique_wiring(4, 2, r), unique_wiring(3, 2, r)}), Error);
  EXPECT_THROW(GateNetwork("n", {{2, {0}, {2}}}), Error);
  EXPECT_THROW(GateNetwork("n", {{2, {0, 1}, {1}}}), Error);

  const GateNetwork n = network(2);
  EXPECT_THROW(n.gate_number(2, 0, 0), Error);
  EXPECT_THROW(n.gate_number(0, 3, 0), Error);
  EXPECT_THROW(n.gate_number(0, 2, 5), Error);
  const ThreadPool pool(1);
  AlignedVector<float> logits(static_cast<std::size_t>(n.gates()) * kGates), in(12 * 8), values(29 * 8);
  AlignedVector<float> scratch(static_cast<std::size_t>(n.scratch_rows()) * 8), dc(n.gates() * std::size_t{4});
  GateTape tape;
  SoftGates gates(n);
  EXPECT_THROW(gates.backward(dc, logits, pool), Error);  // before choose()
  EXPECT_THROW(gates.choose(std::span(logits).first(16), {}, pool), Error);
  EXPECT_THROW(gates.choose(logits, {.temperature = 0}, pool), Error);
  EXPECT_THROW(gates.choose(logits, {.temperature = NAN}, pool), Error);
  EXPECT_THROW(gates.choose(logits, {.gumbel_scale = -1}, pool), Error);
  gates.choose(logits, {}, pool);
  const auto c = gates.coefficients();
  EXPECT_THROW(gates.backward(std::span(dc).first(8), logits, pool), Error);
  EXPECT_THROW(n.forward(c, 12, in, values, tape), Error);                          // no multiple of eight
  EXPECT_THROW(n.forward(c, 8, in, values, tape, 2), Error);                        // no such copy
  EXPECT_THROW(n.forward(c, 16, in, values, tape), Error);                          // too few inputs
  EXPECT_THROW(n.forward(c, 8, in, std::span(values).first(28 * 8), tape), Error);  // too few values
  EXPECT_THROW(n.forward(c.first(8), 8, in, values, tape), Error);
  EXPECT_THROW(n.forward(c, 8, {in.data() + 1, in.size()}, values, tape), Error);  // not aligned
  EXPECT_THROW(n.forward_outputs(c, 8, in, std::span(scratch).first(8)), Error);
  EXPECT_THROW(UnsealedGates{n}.backward(c, 8, in, values, scratch, std::span(dc).first(8)), Error);
  EXPECT_THROW(UnsealedGates{n}.backward_adding(c, 8, in, values, scratch, std::span(in).first(8), dc), Error);
  EXPECT_NO_THROW(n.forward(c, 8, in, values, tape, 1));

  Netlist netlist;
  std::vector<Net> nets;
  for (int i = 0; i < 12; ++i) nets.push_back(netlist.add_input(std::to_string(i)));
  EXPECT_THROW(n.harden(logits, netlist, std::span(nets).first(11)), Error);
  EXPECT_THROW(n.harden(std::span(logits).first(16), netlist, nets), Error);
  EXPECT_THROW(n.harden(logits, netlist, nets, -1), Error);
  nets[3] = 12;
  EXPECT_THROW(n.harden(logits, netlist, nets), Error);
  nets[3] = 3;
  logits[5] = NAN;
  EXPECT_THROW(n.harden(logits, netlist, nets), Error);
  EXPECT_THROW(count_gates(std::span(logits).first(17)), Error);
}

TEST(Entropy, IsThatOfTheChoiceInBits) {
  AlignedVector<float> logits(3 * kGates);
  EXPECT_NEAR(mean_entropy(logits), 4, 1e-6);  // all alike
  for (int g = 0; g < 3; ++g) logits[static_cast<std::size_t>(g * kGates + 3)] = 60;
  EXPECT_NEAR(mean_entropy(logits), 0, 1e-6);
  logits[7] = 60;  // a coin in the first gate
  EXPECT_NEAR(mean_entropy(logits), 1.0 / 3, 1e-6);
}

// y = n(n(x)) with arrays and a tape for each pass, and another pass in between, against the plain network in double,
// which agrees with finite differences.
TEST(GateNetwork, ANetworkAppliedTwiceHasTheGradientsOfBoth) {
  const Random r(1, Purpose::kWiring);
  const GateNetwork n("twice", {random_wiring(6, 9, r), random_wiring(9, 6, r)});
  constexpr int kLanes = 8;
  const AlignedVector<float> logits = drawn(n.logits(), 0), x = drawn(6 * kLanes, 1), dy = drawn(6 * kLanes, 2);
  SoftGates soft(n);
  const ForwardPass choice = soft.choose(logits, {});
  const auto c = soft.coefficients();
  AlignedVector<float> first_in = x, first(15 * kLanes), second(15 * kLanes), other_in = dy, other(15 * kLanes);
  AlignedVector<float> scratch(static_cast<std::size_t>(n.scratch_rows()) * kLanes), dc(n.coefficients());
  GateTape first_tape, second_tape, other_tape;
  n.forward(c, kLanes, first_in, first, first_tape);
  AlignedVector<float> second_in(first.end() - 6 * kLanes, first.end());
  n.forward(c, kLanes, second_in, second, second_tape);
  n.forward(c, kLanes, other_in, other, other_tape);
  std::ranges::copy(dy, second.end() - 6 * kLanes);
  EXPECT_THROW(n.backward(c, kLanes, second_in, second, scratch, dc, first_tape), Error);
  EXPECT_THROW(n.backward(c, kLanes, first_in, second, scratch, dc, second_tape), Error);
  EXPECT_THROW(n.backward(c, kLanes, second_in, other, scratch, dc, second_tape), Error);
  EXPECT_THROW(n.backward(c, kLanes, second_in, second, scratch, dc, GateTape{}), Error);
  for (const float d : dc) ASSERT_EQ(d, 0.0f);
  n.backward(c, kLanes, second_in, second, scratch, dc, second_tape);
  EXPECT_THROW(n.backward(c, kLanes, second_in, second, scratch, dc, second_tape), Error) << "they are gradients now";
  std::ranges::copy(second_in, first.end() - 6 * kLanes);
  n.backward(c, kLanes, first_in, first, scratch, dc, first_tape);
  AlignedVector<float> dlogits(n.logits());
  soft.backward(choice, dc, dlogits);

  std::vector<double> moved = in_double(logits);
  const auto loss = [&] {
    double sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      std::vector<double> one;
      for (std::size_t i = 0; i < 6; ++i) one.push_back(x[i * kLanes + static_cast<std::size_t>(lane)]);
      PlainNetwork plain(n, moved, 1);
      const std::vector<double> y = plain.outputs(plain.outputs(one));
      for (std::size_t i = 0; i < 6; ++i)
        sum += static_cast<double>(dy[i * kLanes + static_cast<std::size_t>(lane)]) * y[i];
    }
    return sum;
  };
  for (std::size_t i = 0; i < moved.size(); i += 7) {
    const double keep = moved[i], step = 1e-5;
    moved[i] = keep + step;
    const double up = loss();
    moved[i] = keep - step;
    const double down = loss();
    moved[i] = keep;
    ASSERT_NEAR(dlogits[i], (up - down) / (2 * step), 1e-4) << i;
  }
}

TEST(GateNetwork, GradientsBelongToTheirChoice) {
  const GateNetwork n("choices", {random_wiring(6, 9, Random(1, Purpose::kWiring))});
  const AlignedVector<float> train = drawn(n.logits(), 0), validation = drawn(n.logits(), 1);
  const AlignedVector<float> dc = drawn(n.coefficients(), 2);
  AlignedVector<float> dlogits(n.logits()), in = drawn(6 * 8, 3), values(9 * 8), rest(n.coefficients());
  AlignedVector<float> scratch(static_cast<std::size_t>(n.scratch_rows()) * 8);
  SoftGates soft(n);
  const ForwardPass first = soft.choose(train, {});
  GateTape tape;
  n.forward(soft.coefficients(), 8, in, values, tape);
  const ForwardPass second = soft.choose(validation, {});
  EXPECT_THROW(n.backward(soft.coefficients(), 8, in, values, scratch, rest, tape), Error) << "other gates";
  EXPECT_THROW(soft.backward(first, dc, dlogits), Error);
  EXPECT_THROW(soft.backward(dc, dlogits), Error) << "which of the two?";
  EXPECT_THROW(soft.backward(second, dc, dlogits), Error) << "given up by the Error";
  for (const float d : dlogits) ASSERT_EQ(d, 0.0f);
  soft.choose(train, {});
  soft.backward(dc, dlogits);
  EXPECT_TRUE(std::ranges::any_of(dlogits, [](float d) { return d != 0; }));
}

}  // namespace
}  // namespace espalier
