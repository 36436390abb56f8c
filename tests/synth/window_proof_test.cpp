#include "synth/window_proof.hpp"

#include <gtest/gtest.h>

#include "netlist/circuits.hpp"
#include "synth/passes.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

using Verdict = VerifyReport::Verdict;

// Every XOR as three gates, every AND by De Morgan: equal to the circuit gate by gate, alike in no gate.
Netlist restated(const Netlist& n) {
  Netlist other = without_gates(n);
  std::vector<Net> to(n.nets());
  for (Net i = 0; i < n.inputs.size(); ++i) to[i] = i;
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    Net& own = to[n.net_of_gate(g)];
    if (is_constant(gate)) {
      own = other.add_constant(gate == Gate::kTrue);
    } else if (gate == Gate::kXor || gate == Gate::kXnor) {
      const Net either = other.add_gate(Gate::kOr, to[a], to[b]), both = other.add_gate(Gate::kNand, to[a], to[b]);
      own = other.add_gate(gate == Gate::kXor ? Gate::kAnd : Gate::kNand, either, both);
    } else {
      const Net x = other.add_gate(Gate::kNotA, to[a], to[a]), y = other.add_gate(Gate::kXor, to[b], x);
      own = other.add_gate(invert_a(gate), x, other.add_gate(Gate::kXor, x, y));
    }
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o) other.outputs[o].net = to[n.outputs[o].net];
  return other;
}

TEST(WindowProof, WhatItCallsEqualIsEqual) {
  int equal = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Netlist n = test::random_netlist(seed, 9, 40, 3);
    std::vector<std::uint64_t> tables;  // a hash of the complete table of each net
    for (std::uint64_t block = 0; block < 8; ++block) {
      std::vector<std::uint64_t> inputs;
      for (std::size_t i = 0; i < 9; ++i) inputs.push_back(counting_word(i, block));
      const std::vector<std::uint64_t> words = evaluate_words(n, inputs);
      tables.insert(tables.end(), words.begin(), words.end());
    }
    const auto same = [&](Net x, Net y, bool inverted) {
      for (std::size_t block = 0; block < 8; ++block) {
        const std::uint64_t other = y == kNoNet ? 0 : tables[block * n.nets() + y];
        if ((tables[block * n.nets() + x] ^ other) != (inverted ? ~std::uint64_t{0} : 0)) return false;
      }
      return true;
    };
    WindowProof windows(n, 4);  // cuts within the circuit, too
    for (Net x = 0; x < n.nets(); ++x)
      for (const bool inverted : {false, true}) {
        for (Net y = 0; y < x; ++y)
          if (windows.equal(x, y, inverted)) {
            EXPECT_TRUE(same(x, y, inverted)) << seed << ": " << x << " and " << y;
            ++equal;
          }
        if (windows.equal(x, kNoNet, inverted)) {
          EXPECT_TRUE(same(x, kNoNet, inverted)) << seed << ": " << x;
        }
      }
  }
  EXPECT_GT(equal, 100);
}

// Each output depends on hundreds of inputs and thousands of gates: only what lies nearby shows it quickly.
TEST(WindowProof, LargeCircuitsAreProvedGateByGate) {
  const Netlist n = test::layered_netlist(3, 500, 1500, 20, 400);
  const Netlist other = restated(n);
  VerifyOptions limits;
  limits.seconds = 120;
  const VerifyReport report = verify(n, other, limits);
  EXPECT_EQ(report.verdict, Verdict::kEqual) << describe(report, n);
  EXPECT_GT(report.by_sat, 100u);
  // One gate changed near the end, where an output shows it.
  Netlist broken = other;
  NetlistGate& last = broken.gates[broken.outputs[7].net - broken.inputs.size()];
  last.gate = invert_output(last.gate);
  EXPECT_EQ(verify(n, broken, limits).verdict, Verdict::kDifferent);
}

TEST(WindowProof, AStoppedSweepKeepsTheFunction) {
  const Netlist n = test::random_netlist(5, 10, 200, 4);
  SweepOptions options;
  options.stop = [] { return true; };
  SweepReport report;
  EXPECT_EQ(test::signature(sweep(n, options, &report)), test::signature(n));
  EXPECT_EQ(report.merged, 0u);
  options.stop = {};
  EXPECT_EQ(test::signature(sweep(n, options, &report)), test::signature(n));
  EXPECT_GT(report.merged, 0u);
}

}  // namespace
}  // namespace espalier
