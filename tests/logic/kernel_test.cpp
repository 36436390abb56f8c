// The vector kernels against plain loops in double, on every vector width of this machine.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "espalier/netlist.hpp"
#include "espalier/thread_pool.hpp"
#include "logic/choice_kernels.hpp"
#include "logic/each_target.hpp"
#include "logic/gate_kernels.hpp"
#include "logic/gate_network_reference.hpp"

namespace espalier {
namespace {

struct LayerCase {
  Wiring wiring;
  LayerPlan plan;
  int lanes;
  AlignedVector<float> in, dout, coefficients;  // coefficients in plan order
  AlignedVector<float> scratch;

  LayerCase(Wiring w, int lanes_) : wiring(std::move(w)), plan(plan_layer(wiring)), lanes(lanes_) {
    const Random r(17, Purpose::kData, static_cast<std::uint32_t>(lanes));
    std::uint64_t draw = 0;
    const auto fill = [&](AlignedVector<float>& v, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) v.push_back(r.uniform(draw++) * 2 - 0.5f);
    };
    fill(in, static_cast<std::size_t>(wiring.inputs) * lanes);
    fill(dout, static_cast<std::size_t>(wiring.outputs()) * lanes);
    fill(coefficients, static_cast<std::size_t>(wiring.outputs()) * 4);
    scratch.resize(plan.shared_rows.size() * lanes);
  }
};

std::vector<Wiring> wirings() {
  const Random r(4, Purpose::kWiring);
  return {unique_wiring(264, 256, r),     unique_wiring(32, 32, r),
          unique_wiring(32, 16, r),       unique_wiring(6, 12, r),
          random_wiring(20, 30, r),       {9, {8, 0, 3, 1, 7, 2, 6, 5}, std::vector<std::int32_t>(8, 4)},
          {3, {0, 0, 2, 1}, {0, 1, 1, 2}}};
}

// Sums of n products in float differ from double by about this much, relative to the sum of magnitudes.
constexpr double kTolerance = 2e-6;

TEST(GateKernels, AgreeWithPlainLoopsOnEveryVectorWidth) {
  for (const Wiring& w : wirings())
    for (const int lanes : {8, 24, 32, 40, 128}) {
      LayerCase c(w, lanes);
      const int outputs = w.outputs();
      std::vector<double> out(c.dout.size()), din(c.in.size()), dc(outputs * 4), scale(outputs * 4);
      for (int e = 0; e < outputs; ++e) {
        const int g = c.plan.gate[e];
        const float* k = &c.coefficients[4 * e];
        for (int i = 0; i < lanes; ++i) {
          const double a = c.in[w.a[g] * lanes + i], b = c.in[w.b[g] * lanes + i], d = c.dout[g * lanes + i];
          out[g * lanes + i] = k[0] + k[1] * a + k[2] * b + k[3] * a * b;
          din[w.a[g] * lanes + i] += d * (k[1] + k[3] * b);
          din[w.b[g] * lanes + i] += d * (k[2] + k[3] * a);
          const double terms[4] = {d, d * a, d * b, d * a * b};
          for (int j = 0; j < 4; ++j) dc[4 * e + j] += terms[j], scale[4 * e + j] += std::abs(terms[j]);
        }
      }
      for_each_target([&] {
        AlignedVector<float> got_out(c.dout.size()), got_din = c.in, got_dc(dc.size());
        gate_layer_forward(c.plan, c.coefficients.data(), lanes, c.in.data(), got_out.data());
        gate_layer_backward(c.plan, c.coefficients.data(), lanes, got_din.data(), c.dout.data(), c.scratch.data(),
                            got_dc.data());
        for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(got_out[i], out[i], 1e-5) << i;
        for (std::size_t i = 0; i < din.size(); ++i) ASSERT_NEAR(got_din[i], din[i], 1e-5) << i;
        for (std::size_t i = 0; i < dc.size(); ++i) ASSERT_NEAR(got_dc[i], dc[i], kTolerance * (1 + scale[i])) << i;

        AlignedVector<float> added_din(c.in.size(), 1.0f), added_dc(dc.size());
        gate_layer_backward_adding(c.plan, c.coefficients.data(), lanes, c.in.data(), c.dout.data(), added_din.data(),
                                   added_dc.data());
        for (std::size_t i = 0; i < din.size(); ++i) ASSERT_NEAR(added_din[i], 1 + din[i], 1e-5) << i;
        for (std::size_t i = 0; i < dc.size(); ++i) ASSERT_NEAR(added_dc[i], dc[i], kTolerance * (1 + scale[i])) << i;
      });
    }
}

TEST(GateKernels, WidthsWithFusedMultiplyAddGiveTheSameBits) {
  LayerCase c(unique_wiring(264, 256, Random(4, Purpose::kWiring)), 40);
  AlignedVector<float> first_dc, first_din;
  int compared = 0;
  const std::int64_t supported = hwy::SupportedTargets();  // before the first is set
  for (const std::int64_t target : {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}}) {
    if (!(supported & target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    AlignedVector<float> dc(256 * 4), din = c.in;
    gate_layer_backward(c.plan, c.coefficients.data(), c.lanes, din.data(), c.dout.data(), c.scratch.data(), dc.data());
    if (compared++ == 0) {
      first_dc = dc;
      first_din = din;
    }
    EXPECT_EQ(dc, first_dc);
    EXPECT_EQ(din, first_din);
  }
  hwy::SetSupportedTargetsForTest(0);
  if (compared < 2) GTEST_SKIP() << "this machine has " << compared << " of the two widths";
}

TEST(SoftmaxKernels, AgreeWithTheFormulasOnEveryVectorWidth) {
  constexpr int kCount = 33;
  const Random r(8, Purpose::kData);
  AlignedVector<float> logits(kCount * kGates), dc(kCount * 4);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = 4 * r.normal(i);
  for (std::size_t i = 0; i < dc.size(); ++i) dc[i] = r.normal(10'000 + i);
  std::vector<std::int32_t> row(kCount);
  std::iota(row.rbegin(), row.rend(), 0);
  const float temperature = 0.7f;
  for_each_target([&] {
    AlignedVector<float> p(kCount * kGates), c(kCount * 4), dl(kCount * kGates, 1.0f);
    ASSERT_TRUE(gate_softmax_forward(kCount, logits.data(), row.data(), 1 / temperature, p.data(), c.data()));
    gate_softmax_backward(kCount, p.data(), dc.data(), row.data(), 1 / temperature, dl.data());
    for (int g = 0; g < kCount; ++g) {
      double l[kGates], d[kGates], dcs[4];
      for (int i = 0; i < kGates; ++i) l[i] = logits[row[g] * kGates + i], d[i] = 1;
      for (int k = 0; k < 4; ++k) dcs[k] = dc[g * 4 + k];
      const auto gate = reference::soften(l, double{temperature});
      reference::soften_backward(gate, dcs, double{temperature}, d);
      for (int i = 0; i < kGates; ++i) {
        ASSERT_NEAR(p[g * kGates + i], gate.p[i], 2e-6);
        ASSERT_NEAR(dl[row[g] * kGates + i], d[i], 1e-5);
      }
      for (int k = 0; k < 4; ++k) ASSERT_NEAR(c[g * 4 + k], gate.c[k], 2e-6);
    }
  });
}

TEST(Gumbel, KernelEqualsPhiloxAndTheFormulaOnEveryVectorWidth) {
  constexpr int kGroups = 40;
  const Random random(0x123456789abcdef, Purpose::kGumbel, 77);
  for_each_target([&] {
    std::vector<float> noise(32 * kGroups);
    gumbel_noise(0x123456789abcdef, 77, 5, kGroups, noise.data());
    for (int i = 0; i < 32 * kGroups; ++i) {
      const PhiloxBlock block = random.block(8 * (5 + i / 32) + i % 8);
      const double u = ((block[i % 32 / 8] >> 8) + 0.5) * 0x1p-24;
      ASSERT_NEAR(noise[i], -std::log(-std::log(u)), 1e-4) << i;
    }
  });
}

TEST(Gumbel, PiecesEqualTheWhole) {
  std::vector<float> whole(32 * 10), pieces(32 * 10);
  gumbel_noise(1, 2, 0, 10, whole.data());
  gumbel_noise(1, 2, 0, 3, pieces.data());
  gumbel_noise(1, 2, 3, 7, &pieces[32 * 3]);
  EXPECT_EQ(whole, pieces);
}

TEST(Gates, TableAndBitwiseFormAgree) {
  for (int i = 0; i < kGates; ++i)
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) {
        const auto& c = kGateCoefficients[i];
        const float soft = c[0] + c[1] * a + c[2] * b + c[3] * a * b;
        EXPECT_EQ(apply_gate<unsigned>(static_cast<Gate>(i), a ? ~0u : 0u, b ? ~0u : 0u), soft == 1 ? ~0u : 0u) << i;
        EXPECT_EQ(gate_value(static_cast<Gate>(i), a, b), soft == 1) << i;
      }
}

TEST(LayerPlan, PlacesEveryGateOnceAndOwnsRowsOnce) {
  for (const Wiring& w : wirings()) {
    const LayerPlan plan = plan_layer(w);
    std::vector<int> seen(w.outputs()), owned(w.inputs);
    for (int e = 0; e < w.outputs(); ++e) {
      ++seen.at(plan.gate[e]);
      EXPECT_EQ(plan.a[e], w.a[plan.gate[e]]);
      EXPECT_EQ(plan.b[e], w.b[plan.gate[e]]);
    }
    for (const int n : seen) EXPECT_EQ(n, 1);
    for (const auto& chain : plan.chains)
      for (int i = 0; i <= chain.count; ++i) ++owned.at(chain.row + i);
    for (int e = plan.pairs_first; e < plan.shared_first; ++e) ++owned.at(plan.a[e]), ++owned.at(plan.b[e]);
    for (const int row : plan.unowned_rows) ++owned.at(row);
    for (const int n : owned) EXPECT_EQ(n, 1);
    for (int e = plan.shared_first; e < w.outputs(); ++e) {
      EXPECT_EQ(plan.shared_rows.at(plan.shared_a.at(e - plan.shared_first)), plan.a[e]);
      EXPECT_EQ(plan.shared_rows.at(plan.shared_b.at(e - plan.shared_first)), plan.b[e]);
    }
  }
}

}  // namespace
}  // namespace espalier
