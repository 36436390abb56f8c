#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

using Verdict = VerifyReport::Verdict;

// The counter-example must show the difference in a plain evaluation of both circuits.
void expect_confirmed(const Netlist& first, const Netlist& second, const VerifyReport& report) {
  ASSERT_EQ(report.verdict, Verdict::kDifferent);
  ASSERT_TRUE(report.counter_example);
  const CounterExample& e = *report.counter_example;
  const auto a = evaluate(first, e.inputs), b = evaluate(second, e.inputs);
  for (std::size_t o = 0; o < first.outputs.size(); ++o)
    if (first.outputs[o].name == e.output) {
      EXPECT_EQ(a[o], e.first);
      EXPECT_EQ(b[o], e.second);
      EXPECT_NE(a[o], b[o]);
      return;
    }
  FAIL() << "no output " << e.output;
}

TEST(Verify, ProvesSimplifiedCircuitsByTable) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Netlist n = test::random_netlist(seed, 12, 150, 4);
    const VerifyReport report = verify(n, test::simplify_quickly(n));
    EXPECT_EQ(report.verdict, Verdict::kEqual);
    EXPECT_EQ(report.by_structure + report.by_table, 4u);
    EXPECT_EQ(report.by_sat, 0u);
  }
}

TEST(Verify, ProvesWideCircuitsBySat) {
  // Two adders of 24 bits, built differently: ripple carry, and carries written as majorities.
  const auto adder = [](bool majority) {
    Netlist n;
    std::vector<Net> x, y;
    for (int i = 0; i < 24; ++i) x.push_back(n.add_input(fmt::format("x{}", i)));
    for (int i = 0; i < 24; ++i) y.push_back(n.add_input(fmt::format("y{}", i)));
    Net carry = n.add_constant(false);
    for (std::size_t i = 0; i < 24; ++i) {
      const Net half = n.add_gate(Gate::kXor, x[i], y[i]);
      n.add_output(fmt::format("s{}", i), n.add_gate(Gate::kXor, half, carry));
      const Net both = n.add_gate(Gate::kAnd, x[i], y[i]);
      carry = majority ? n.add_gate(Gate::kOr, both, n.add_gate(Gate::kAnd, n.add_gate(Gate::kOr, x[i], y[i]), carry))
                       : n.add_gate(Gate::kOr, both, n.add_gate(Gate::kAnd, half, carry));
    }
    n.add_output("carry", carry);
    return n;
  };
  const Netlist a = adder(false), b = adder(true);
  const VerifyReport report = verify(a, b);
  EXPECT_EQ(report.verdict, Verdict::kEqual);
  EXPECT_GT(report.by_sat, 5u);
  EXPECT_EQ(report.by_structure + report.by_table + report.by_sat, 25u);
  // A carry lost at the very top shows in one output of few patterns.
  Netlist broken = b;
  broken.outputs.back().net = broken.outputs[0].net;
  expect_confirmed(a, broken, verify(a, broken));
}

TEST(Verify, ABrokenGateIsCaughtWithACounterExampleThatASimulationConfirms) {
  int caught = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Netlist n = test::random_netlist(seed, 10, 80, 3);
    Netlist broken = n;
    const Random random(seed, Purpose::kData, 5);
    NetlistGate& gate = broken.gates[random.choice(0, broken.gates.size())];
    gate.gate = static_cast<Gate>((static_cast<int>(gate.gate) + 1 + static_cast<int>(random.choice(1, 15))) % 16);
    const VerifyReport report = verify(n, broken);
    if (test::signature(n) == test::signature(broken)) {
      EXPECT_EQ(report.verdict, Verdict::kEqual);  // the change did not matter
    } else {
      expect_confirmed(n, broken, report);
      ++caught;
    }
  }
  EXPECT_GT(caught, 10);
}

// A difference on a single pattern out of 2^40: no sampling finds it, the proof does.
TEST(Verify, NeverTakesSamplesForAProof) {
  Netlist zero, needle;
  Net all = kNoNet;
  for (int i = 0; i < 40; ++i) {
    zero.add_input(fmt::format("i{}", i));
    needle.add_input(fmt::format("i{}", i));
  }
  all = 0;
  for (Net i = 1; i < 40; ++i) all = needle.add_gate(i % 3 ? Gate::kAnd : Gate::kAAndNotB, all, i);
  zero.add_output("y", zero.add_constant(false));
  needle.add_output("y", all);
  expect_confirmed(zero, needle, verify(zero, needle));
  // The same with a table: 20 inputs, one pattern.
  Netlist zero20, needle20;
  for (int i = 0; i < 20; ++i) {
    zero20.add_input(fmt::format("i{}", i));
    needle20.add_input(fmt::format("i{}", i));
  }
  all = 0;
  for (Net i = 1; i < 20; ++i) all = needle20.add_gate(Gate::kAnd, all, i);
  zero20.add_output("y", zero20.add_constant(false));
  needle20.add_output("y", all);
  expect_confirmed(zero20, needle20, verify(zero20, needle20));
}

TEST(Verify, MatchesByNameWhenNamesAgreeAndByPositionOtherwise) {
  Netlist first, second;
  for (const char* name : {"a", "b"}) first.add_input(name);
  for (const char* name : {"b", "a"}) second.add_input(name);
  first.add_output("y", first.add_gate(Gate::kAAndNotB, 0, 1));
  second.add_output("y", second.add_gate(Gate::kNotAAndB, 0, 1));
  const VerifyReport by_name = verify(first, second);
  EXPECT_EQ(by_name.verdict, Verdict::kEqual);
  EXPECT_TRUE(by_name.inputs_by_name);
  second.inputs[0] = "c";
  const VerifyReport by_position = verify(first, second);
  EXPECT_EQ(by_position.verdict, Verdict::kDifferent);
  EXPECT_FALSE(by_position.inputs_by_name);
}

TEST(Verify, AnswersUndecidedRatherThanGuessWhenTimeRunsOut) {
  // x y against y x for 14-bit factors: out of reach for any solver in a moment.
  const auto multiplier = [](bool swap) {
    constexpr std::size_t kBits = 14;
    Netlist n;
    std::vector<Net> x, y;
    for (std::size_t i = 0; i < kBits; ++i) x.push_back(n.add_input(fmt::format("x{}", i)));
    for (std::size_t i = 0; i < kBits; ++i) y.push_back(n.add_input(fmt::format("y{}", i)));
    if (swap) std::swap(x, y);
    std::vector<Net> sum(2 * kBits, n.add_constant(false));
    for (std::size_t i = 0; i < kBits; ++i) {
      Net carry = n.add_constant(false);
      for (std::size_t j = 0; j < kBits; ++j) {
        const Net p = n.add_gate(Gate::kAnd, x[i], y[j]), half = n.add_gate(Gate::kXor, p, sum[i + j]);
        const Net both = n.add_gate(Gate::kAnd, p, sum[i + j]), pass = n.add_gate(Gate::kAnd, half, carry);
        sum[i + j] = n.add_gate(Gate::kXor, half, carry);
        carry = n.add_gate(Gate::kOr, both, pass);
      }
      sum[i + kBits] = carry;
    }
    n.add_output("middle", sum[kBits]);
    return n;
  };
  VerifyOptions options;
  options.seconds = 0.05;
  const VerifyReport report = verify(multiplier(false), multiplier(true), options);
  EXPECT_EQ(report.verdict, Verdict::kUndecided);
  EXPECT_EQ(report.undecided, std::vector<std::string>{"middle"});
}

TEST(Verify, RefusesCircuitsOfDifferentShape) {
  Netlist yes, no;
  for (Netlist* n : {&yes, &no})
    n->add_output("y", n->add_gate(n == &yes ? Gate::kA : Gate::kNotA, n->add_input("a"), 0));
  EXPECT_THROW(describe(verify(yes, no), test::random_netlist(1, 4, 9, 2)), Error);
  EXPECT_THROW(verify(test::random_netlist(1, 4, 9, 2), test::random_netlist(1, 5, 9, 2)), Error);
  EXPECT_THROW(verify(test::random_netlist(1, 4, 9, 2), test::random_netlist(1, 4, 9, 3)), Error);
}

// In whatever order, out of ANDs or as they are, and of values that are no sums.
TEST(Verify, LongXorsInAnotherOrderAreEqual) {
  constexpr int kInputs = 300;
  const auto circuit = [](bool of_ands, bool backwards, int leave_out) {
    Netlist n;
    for (int i = 0; i < 2 * kInputs; ++i) n.add_input(fmt::format("x{}", i));
    std::vector<Net> values;
    for (int i = 0; i < kInputs; ++i)
      if (i != leave_out)
        values.push_back(n.add_gate(Gate::kAnd, static_cast<Net>(2 * i), static_cast<Net>(2 * i + 1)));
    if (backwards) std::ranges::reverse(values);
    Net sum = values[0];
    for (std::size_t i = 1; i < values.size(); ++i)
      sum = of_ands ? n.add_gate(Gate::kOr, n.add_gate(Gate::kAAndNotB, sum, values[i]),
                                 n.add_gate(Gate::kNotAAndB, sum, values[i]))
                    : n.add_gate(Gate::kXor, sum, values[i]);
    n.add_output("odd", sum);
    return n;
  };
  const VerifyReport equal = verify(circuit(true, false, -1), circuit(false, true, -1), {.seconds = 60});
  EXPECT_EQ(equal.verdict, VerifyReport::Verdict::kEqual);
  EXPECT_EQ(equal.by_structure, 1u);
  EXPECT_EQ(verify(circuit(true, false, -1), circuit(false, true, 7)).verdict, VerifyReport::Verdict::kDifferent);
}

}  // namespace
}  // namespace espalier
