// What gate networks and soft gates refuse: every array too short, memory that is shared, numbers that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "espalier/error.hpp"
#include "espalier/gate_network.hpp"
#include "logic/unsealed_gates.hpp"

namespace espalier {
namespace {

constexpr int kLanes = 8;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Gates {
  Random random{1, Purpose::kWiring};
  GateNetwork network{"gates", {random_wiring(4, 6, random), random_wiring(6, 2, random)}};
  SoftGates soft{network};
  Parameters p;
  GateTape tape;
  AlignedVector<float> in = AlignedVector<float>(4 * kLanes, 0.5f), values = AlignedVector<float>(8 * kLanes),
                       din = AlignedVector<float>(4 * kLanes), dc = AlignedVector<float>(4 * 8);
  AlignedVector<float> scratch = AlignedVector<float>(static_cast<std::size_t>(network.scratch_rows()) * kLanes);
  Gates() {
    network.add_parameters(p, 1);
    soft.choose(p.values(), {});
  }
};

// One row less than an array needs.
std::span<float> cut(AlignedVector<float>& rows) { return std::span(rows).first(rows.size() - 1); }

TEST(LogicEdges, EveryArrayIsCheckedInEveryCall) {
  Gates g;
  const std::span<const float> c = g.soft.coefficients();
  const GateNetwork& n = g.network;
  const UnsealedGates u{n};  // a tape would refuse most of these before anything else is looked at
  EXPECT_THROW(n.forward(c.first(4), kLanes, g.in, g.values, g.tape), Error);
  EXPECT_THROW(n.forward(c, kLanes, cut(g.in), g.values, g.tape), Error);
  EXPECT_THROW(n.forward(c, kLanes, g.in, cut(g.values), g.tape), Error);
  EXPECT_THROW(n.forward(c, 7, g.in, g.values, g.tape), Error);
  EXPECT_THROW(n.forward(c, kLanes, g.in, g.values, g.tape, 1), Error);
  EXPECT_THROW(n.forward_outputs(c.first(4), kLanes, g.in, g.scratch), Error);
  EXPECT_THROW(n.forward_outputs(c, kLanes, cut(g.in), g.scratch), Error);
  EXPECT_THROW(n.forward_outputs(c, kLanes, g.in, cut(g.scratch)), Error);
  EXPECT_THROW(u.backward(c.first(4), kLanes, g.in, g.values, g.scratch, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, cut(g.in), g.values, g.scratch, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, g.in, cut(g.values), g.scratch, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, g.in, g.values, cut(g.scratch), g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, g.in, g.values, g.scratch, cut(g.dc)), Error);
  EXPECT_THROW(u.backward_adding(c.first(4), kLanes, g.in, g.values, g.scratch, g.din, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, cut(g.in), g.values, g.scratch, g.din, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, cut(g.values), g.scratch, g.din, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, g.values, cut(g.scratch), g.din, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, g.values, g.scratch, cut(g.din), g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, g.values, g.scratch, g.din, cut(g.dc)), Error);
  n.forward(c, kLanes, g.in, g.values, g.tape);
  u.backward_adding(c, kLanes, g.in, g.values, g.scratch, g.din, g.dc);
}

TEST(LogicEdges, ArraysThatShareMemoryAreRefused) {
  Gates g;
  const std::span<const float> c = g.soft.coefficients();
  const GateNetwork& n = g.network;
  const UnsealedGates u{n};  // a tape would refuse most of these before anything else is looked at
  AlignedVector<float> large(1000);
  const std::span<float> all(large);
  EXPECT_THROW(n.forward(c, kLanes, all.first(4 * kLanes), all.subspan(kLanes), g.tape), Error);
  EXPECT_THROW(n.forward(all.first(32), kLanes, g.in, all, g.tape), Error);
  EXPECT_THROW(n.forward_outputs(c, kLanes, all.first(4 * kLanes), all), Error);
  EXPECT_THROW(u.backward(c, kLanes, all, all, g.scratch, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, all, g.values, all, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, g.in, all, all, g.dc), Error);
  EXPECT_THROW(u.backward(c, kLanes, g.in, g.values, all, all), Error);
  EXPECT_THROW(u.backward(c, kLanes, all, g.values, g.scratch, all), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, all, g.values, g.scratch, all, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, all, g.scratch, all, g.dc), Error);
  EXPECT_THROW(u.backward_adding(c, kLanes, g.in, g.values, g.scratch, all, all), Error);
  EXPECT_THROW(g.soft.backward(all.first(32), all.first(128)), Error);
  EXPECT_THROW(add_gumbel_noise(large, {}, large), Error);
}

TEST(LogicEdges, WhatIsNoNumberIsRefused) {
  Gates g;
  Parameters p;
  EXPECT_THROW(g.network.add_parameters(p, kNan), Error);
  EXPECT_TRUE(p.tensors().empty());
  AlignedVector<float> logits(8 * 16), noisy;
  AlignedVector<float> dlogits(8 * 16);
  for (const std::size_t place : {0u, 5u, 127u}) {
    for (const float bad : {kNan, INFINITY, -INFINITY}) {
      logits[place] = bad;
      g.soft.choose(AlignedVector<float>(8 * 16), {});
      EXPECT_THROW(g.soft.choose(logits, {}), Error) << bad;
      EXPECT_THROW(g.soft.backward(g.dc, dlogits), Error) << "a choice that was refused is none";
      EXPECT_THROW(g.soft.choose(logits, {.gumbel_scale = 1}), Error) << bad;
      EXPECT_THROW(count_gates(logits), Error);
      EXPECT_THROW(mean_entropy(logits), Error);
    }
    logits[place] = 0;
  }
  EXPECT_THROW(add_gumbel_noise(logits, {.gumbel_scale = kNan}, noisy), Error);
}

TEST(LogicEdges, SizesThatDoNotFitAreRefused) {
  Gates g;
  AlignedVector<float> dlogits(8 * 16 + 1);
  EXPECT_THROW(g.soft.backward(g.dc, dlogits), Error);
  EXPECT_THROW(g.soft.backward(cut(g.dc), std::span(dlogits).first(8 * 16)), Error);
  EXPECT_THROW(mean_entropy({}), Error);
  EXPECT_THROW(mean_entropy(std::span(dlogits).first(17)), Error);
  for (const WiringKind kind : {WiringKind::kUnique, WiringKind::kRandom}) {
    EXPECT_THROW(make_wiring(kind, 0, 3, g.random), Error);
    EXPECT_THROW(make_wiring(kind, 3, 0, g.random), Error);
  }
  EXPECT_THROW(make_wiring(WiringKind::kUnique, 9, 2, g.random), Error);  // inputs that nobody reads
}

TEST(LogicEdges, MoreGatesThanCanBeCountedAreRefused) {
  const Random random(1, Purpose::kWiring);
  for (const WiringKind kind : {WiringKind::kUnique, WiringKind::kRandom}) {
    EXPECT_THROW(make_wiring(kind, 4, 2'000'000'000, random), Error);
    EXPECT_THROW(make_wiring(kind, 2'000'000'000, 2'000'000'000, random), Error);
  }
  const Wiring wiring = random_wiring(2, 3, random);
  EXPECT_THROW(GateNetwork("gates", {wiring}, 2'000'000'000), Error);
  EXPECT_NO_THROW(GateNetwork("gates", {wiring}, 3));
}

}  // namespace
}  // namespace espalier
