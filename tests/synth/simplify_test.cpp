#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/passes.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

using test::signature;

struct NamedPass {
  const char* name;
  Netlist (*pass)(const Netlist&);
};
const NamedPass kPasses[] = {
    {"fold", fold_constants},
    {"bypass", bypass_wires},
    {"nots", absorb_nots},
    {"hash", hash_gates},
    {"pairs", collapse_pairs},
    {"dead", remove_dead},
    {"sweep", [](const Netlist& n) { return sweep(n); }},
    {"balance", balance},
    {"rewrite", [](const Netlist& n) { return rewrite(n); }},
    {"rewrite sideways", [](const Netlist& n) { return rewrite(n, {.sideways = true}); }},
    {"resubstitute once", [](const Netlist& n) { return resubstitute_once(n); }},
    {"resubstitute in windows",
     [](const Netlist& n) { return resubstitute_once(n, {.table_inputs = 0, .leaves = 5}); }},
    {"resubstitute", [](const Netlist& n) { return resubstitute(n, {.walks = 20}); }},
    {"simplify", test::simplify_quickly},
};

TEST(Simplify, EveryPassKeepsTheFunctionAndNeverGrows) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Netlist n = test::random_netlist(seed, 1 + static_cast<int>(seed % 11), static_cast<int>(seed * 3),
                                           1 + static_cast<int>(seed % 4));
    const auto expected = signature(n);
    for (const auto& [name, pass] : kPasses) {
      const Netlist small = pass(n);
      check_netlist(small, name);
      ASSERT_EQ(signature(small), expected) << name << " seed " << seed;
      // A pass may leave what another one takes away, but it never adds.
      EXPECT_LE(small.gates.size(), n.gates.size() + (std::string(name) == "sweep" ? n.outputs.size() : 0))
          << name << " seed " << seed;
      EXPECT_EQ(small.inputs, n.inputs);
      ASSERT_EQ(small.outputs.size(), n.outputs.size());
      for (std::size_t o = 0; o < n.outputs.size(); ++o) EXPECT_EQ(small.outputs[o].name, n.outputs[o].name);
    }
  }
}

TEST(Simplify, KeepsTheFunctionOfWideNetlistsThatNeedSat) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Netlist n = test::layered_netlist(seed, 60, 60, 8, 20);
    SimplifyReport report;
    const Netlist small = simplify(n, test::quick_simplification(), &report);
    EXPECT_EQ(signature(small, 256), signature(n, 256));
    EXPECT_LE(small.gates.size(), n.gates.size());
  }
}

TEST(Simplify, WritesEachPassOfASmallExampleAsExpected) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b");
  const Net t = n.add_constant(true);
  const Net wire = n.add_gate(Gate::kA, a, b);
  const Net not_b = n.add_gate(Gate::kNotB, a, b);
  const Net masked = n.add_gate(Gate::kAnd, t, wire);
  n.add_gate(Gate::kXor, a, b);  // dead
  n.add_output("y", n.add_gate(Gate::kAnd, masked, not_b));
  const Netlist small = simplify(n);
  ASSERT_EQ(small.gates.size(), 1u);
  EXPECT_EQ(small.gates[0].gate, Gate::kAAndNotB);
  EXPECT_EQ(small.gates[0].a, a);
  EXPECT_EQ(small.gates[0].b, b);
}

TEST(Simplify, ANotStaysOnlyWhereAnOutputNeedsBothPolarities) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b");
  const Net both = n.add_gate(Gate::kAnd, a, b), not_both = n.add_gate(Gate::kNotA, both, both);
  n.add_output("nand", not_both);
  n.add_output("other", n.add_gate(Gate::kXor, not_both, a));
  const Netlist small = simplify(n);
  EXPECT_EQ(small.gates.size(), 2u);
  EXPECT_EQ(signature(small), signature(n));
  n.add_output("and", both);
  EXPECT_EQ(simplify(n).gates.size(), 3u);
}

TEST(Simplify, OutputsThatAreInputsOrConstantsNeedNoGatesOfTheirOwn) {
  Netlist n;
  const Net a = n.add_input("a");
  const Net not_a = n.add_gate(Gate::kNotA, a, a);
  n.add_output("same", n.add_gate(Gate::kNand, not_a, not_a));
  n.add_output("one", n.add_gate(Gate::kOr, a, not_a));
  const Netlist small = simplify(n);
  EXPECT_EQ(small.outputs[0].net, a);
  ASSERT_EQ(small.gates.size(), 1u);
  EXPECT_EQ(small.gates[0].gate, Gate::kTrue);
}

TEST(Simplify, SweepingMergesWhatStructureCannotShow) {
  // Majority written twice: as a sum of products, and as a multiplexer.
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b"), c = n.add_input("c");
  const Net ab = n.add_gate(Gate::kAnd, a, b), bc = n.add_gate(Gate::kAnd, b, c), ac = n.add_gate(Gate::kAnd, a, c);
  const Net sum = n.add_gate(Gate::kOr, n.add_gate(Gate::kOr, ab, bc), ac);
  const Net differ = n.add_gate(Gate::kXor, a, b);
  const Net pick_c = n.add_gate(Gate::kAnd, differ, c), pick_a = n.add_gate(Gate::kAAndNotB, a, differ);
  const Net multiplexed = n.add_gate(Gate::kNor, pick_c, pick_a);
  n.add_output("x", sum);
  n.add_output("y", multiplexed);
  SweepReport report;
  const Netlist swept = remove_dead(sweep(n, {}, &report));
  EXPECT_GE(report.by_table, 1u);
  EXPECT_EQ(signature(swept), signature(n));
  EXPECT_LE(swept.gates.size(), 6u);
  SweepOptions sat_only;
  sat_only.window_inputs = 0;
  sat_only.table_inputs = 0;
  SweepReport sat_report;
  const Netlist swept_by_sat = sweep(n, sat_only, &sat_report);
  EXPECT_GE(sat_report.by_sat, 1u);
  EXPECT_EQ(sat_report.by_table, 0u);
  EXPECT_EQ(swept_by_sat.gates.size(), swept.gates.size());
}

TEST(Simplify, LifeComesDownToAtMostThirtyGates) {
  const Netlist clumsy = test::clumsy_life();
  EXPECT_GT(count_netlist(clumsy).active, 100u);
  const Netlist small = simplify(clumsy);
  EXPECT_LE(small.gates.size(), 30u);
  for (int pattern = 0; pattern < 512; ++pattern) {
    std::vector<bool> patch(9);
    for (std::size_t p = 0; p < 9; ++p) patch[p] = pattern >> p & 1;
    EXPECT_EQ(evaluate(small, patch)[0], test::conway(patch));
    EXPECT_EQ(evaluate(life_cell(), patch)[0], test::conway(patch));
  }
  RecordProperty("life_gates", static_cast<int>(small.gates.size()));
}

TEST(Simplify, GivesTheSameResultEveryTime) {
  const Netlist n = test::layered_netlist(9, 40, 50, 8, 10);
  EXPECT_EQ(test::simplify_quickly(n), test::simplify_quickly(n));
}

TEST(Simplify, ReportsCountsThatOnlyFall) {
  SimplifyReport report;
  const Netlist n = test::clumsy_life();
  const Netlist small = simplify(n, test::quick_simplification(), &report);
  ASSERT_GE(report.steps.size(), 3u);
  EXPECT_EQ(report.steps.front().gates, count_netlist(n).gates());
  EXPECT_EQ(report.steps.back().gates, count_netlist(small).gates());
  for (std::size_t s = 1; s < report.steps.size(); ++s) EXPECT_LE(report.steps[s].gates, report.steps[s - 1].gates);
}

TEST(Simplify, ChangesNoBoard) {
  const ThreadPool pool(1);
  const Netlist raw = test::clumsy_life(), small = test::simplify_quickly(raw);
  Board a(64, 64, 1), b(64, 64, 1);
  a.randomize(8);
  b.randomize(8);
  Simulator(raw, 64, 64).run(a, 50, pool);
  Simulator(small, 64, 64).run(b, 50, pool);
  EXPECT_TRUE(a == b);
}

TEST(Simplify, ConstantsMayNameAnyOperands) {
  Netlist n;
  const Net a = n.add_input("a");
  n.gates.push_back({Gate::kTrue, 900, 901});
  const Net high = n.net_of_gate(0);
  n.add_output("y", n.add_gate(Gate::kAnd, a, high));
  for (const CircuitGoal goal : {CircuitGoal::kGates, CircuitGoal::kAnds, CircuitGoal::kDepth, CircuitGoal::kLut6}) {
    SimplifyOptions options;
    options.goal = goal;
    EXPECT_EQ(count_netlist(simplify(n, options)).gates(), 0u);
  }
}

}  // namespace
}  // namespace espalier
