#include "espalier/netlist.hpp"

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "netlist/circuits.hpp"

namespace espalier {
namespace {

using test::signature;

TEST(Gates, TheNumberIsTheTruthTableAndAllFormsAgree) {
  for (int g = 0; g < kGates; ++g) {
    const Gate gate = static_cast<Gate>(g);
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        const auto& c = kGateCoefficients[static_cast<std::size_t>(g)];
        EXPECT_EQ(gate_value(gate, a, b), c[0] + c[1] * a + c[2] * b + c[3] * a * b > 0.5f);
        EXPECT_EQ(gate_value(gate, a, b), apply_gate(gate, unsigned{a}, unsigned{b}) & 1);
        EXPECT_EQ(gate_value(invert_output(gate), a, b), !gate_value(gate, a, b));
        EXPECT_EQ(gate_value(swap_inputs(gate), a, b), gate_value(gate, b, a));
        EXPECT_EQ(gate_value(invert_a(gate), a, b), gate_value(gate, !a, b));
        EXPECT_EQ(gate_value(invert_b(gate), a, b), gate_value(gate, a, !b));
        EXPECT_EQ(gate_value(fix_a(gate, a), b, false), gate_value(gate, a, b));
        EXPECT_EQ(gate_value(fix_b(gate, b), a, true), gate_value(gate, a, b));
        EXPECT_EQ(gate_value(merge_inputs(gate), a, b), gate_value(gate, a, a));
      }
    EXPECT_EQ(gate, gate_of_values(gate_value(gate, 0, 0), gate_value(gate, 0, 1), gate_value(gate, 1, 0),
                                   gate_value(gate, 1, 1)));
  }
}

// What clean() promises to leave: no wires, no dead gates, constants at outputs only.
void expect_clean(const Netlist& n) {
  check_netlist(n, "clean");
  const std::vector<bool> live = live_nets(n);
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    EXPECT_TRUE(live[n.net_of_gate(g)]);
    EXPECT_FALSE(is_wire(gate));
    if (is_constant(gate)) continue;
    EXPECT_TRUE(is_not(gate) || a != b);
    for (const Net net : {a, b}) EXPECT_TRUE(n.is_input(net) || !is_constant(n.gate_of_net(net).gate));
  }
}

TEST(Clean, KeepsTheFunctionAndLeavesNoWiresConstantsOrDeadGates) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Netlist n = test::random_netlist(seed, 1 + static_cast<int>(seed % 10), static_cast<int>(seed),
                                           1 + static_cast<int>(seed % 4), 8);
    const Netlist small = clean(n);
    expect_clean(small);
    EXPECT_EQ(signature(small), signature(n)) << seed;
    EXPECT_EQ(small.inputs, n.inputs);
    EXPECT_EQ(small.name, n.name);
    EXPECT_EQ(clean(small), small) << seed;
  }
}

TEST(Clean, GivesASmallExampleAsExpected) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b");
  const Net one = n.add_constant(true), wire = n.add_gate(Gate::kB, a, b);
  const Net same = n.add_gate(Gate::kAnd, one, wire);    // b
  const Net flipped = n.add_gate(Gate::kNand, same, b);  // NOT b
  n.add_gate(Gate::kXor, a, b);                          // dead
  n.add_output("x", n.add_gate(Gate::kOr, a, flipped));
  n.add_output("one", n.add_gate(Gate::kNotAOrB, n.add_constant(false), a));
  n.add_output("a", n.add_gate(Gate::kA, a, b));
  const Netlist small = clean(n);
  ASSERT_EQ(small.gates.size(), 3u);
  EXPECT_EQ(small.gates[0], (NetlistGate{Gate::kNotA, b, b}));
  EXPECT_EQ(small.gates[1], (NetlistGate{Gate::kOr, a, 2}));
  EXPECT_EQ(small.gates[2].gate, Gate::kTrue);
  EXPECT_EQ(small.outputs[2].net, a);
}

TEST(Netlist, AddingRefusesNetsThatAreNotThere) {
  Netlist n;
  const Net a = n.add_input("a");
  EXPECT_THROW(n.add_gate(Gate::kAnd, a, 1), Error);
  EXPECT_THROW(n.add_gate(Gate::kAnd, kNoNet, a), Error);
  EXPECT_THROW(n.add_gate(static_cast<Gate>(16), a, a), Error);
  EXPECT_THROW(n.add_output("x", 1), Error);
  EXPECT_NO_THROW(n.add_gate(Gate::kNotA, a, 99));  // b is not read
  EXPECT_THROW(n.add_input("b"), Error);
}

TEST(Netlist, EveryFunctionRefusesNetsOutOfRangeAndOrder) {
  const Netlist good = test::random_netlist(3, 4, 20, 2);
  std::vector<Netlist> bad(5, good);
  bad[0].gates[7] = {Gate::kAnd, 0, 1000};
  bad[1].gates[7] = {Gate::kAnd, 0, good.net_of_gate(7)};   // itself
  bad[2].gates[7] = {Gate::kXor, 0, good.net_of_gate(12)};  // a later one
  bad[3].outputs[1].net = static_cast<Net>(good.nets());
  bad[4].gates[7].gate = static_cast<Gate>(77);
  const std::vector<std::uint64_t> words(4);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_THROW(check_netlist(bad[i], "test"), Error);
    EXPECT_THROW(clean(bad[i]), Error);
    EXPECT_THROW(live_nets(bad[i]), Error);
    EXPECT_THROW(count_netlist(bad[i]), Error);
    EXPECT_THROW(evaluate_words(bad[i], words), Error);
    EXPECT_THROW(evaluate(bad[i], std::vector<bool>(4)), Error);
    // Sorting is for netlists out of order; what is not there and cycles are refused all the same.
    if (i != 2) {
      EXPECT_THROW(sort_netlist(bad[i], "test", false), Error);
    }
  }
  EXPECT_THROW(evaluate(good, std::vector<bool>(3)), Error);
  EXPECT_THROW(evaluate_words(good, std::span(words).first(2)), Error);
}

TEST(Netlist, SortingPutsGatesAfterWhatTheyRead) {
  const Netlist n = test::random_netlist(5, 6, 60, 3);
  // Gates in reverse, nets renamed accordingly.
  Netlist reversed = without_gates(n);
  const auto renamed = [&](Net net) {
    return n.is_input(net) ? net : static_cast<Net>(n.nets() - 1 - (net - n.inputs.size()));
  };
  for (std::size_t g = n.gates.size(); g-- > 0;)
    reversed.gates.push_back({n.gates[g].gate, renamed(n.gates[g].a), renamed(n.gates[g].b)});
  for (NetlistOutput& output : reversed.outputs) output.net = renamed(output.net);
  EXPECT_THROW(check_netlist(reversed, "test"), Error);
  const Netlist sorted = sort_netlist(reversed, "test", false);
  check_netlist(sorted, "test");
  EXPECT_EQ(signature(sorted), signature(n));
  EXPECT_EQ(sorted.gates.size(), n.gates.size());
}

// A recursion over gates would end here.
TEST(Netlist, AChainOfAHundredThousandGatesOverflowsNothing) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b");
  Net net = a;
  for (int g = 0; g < 100'000; ++g) net = n.add_gate(g % 2 ? Gate::kXor : Gate::kNotAAndB, net, g % 3 ? a : b);
  n.add_output("x", net);
  EXPECT_EQ(count_netlist(n).depth, 100'000u);
  EXPECT_EQ(evaluate(clean(n), {true, false}), evaluate(n, {true, false}));
  EXPECT_EQ(evaluate(sort_netlist(n, "test", true), {true, true}), evaluate(n, {true, true}));
}

TEST(CleanBuilder, FollowsWiresFoldsConstantsAndDropsIdleGates) {
  CleanBuilder b(2);
  EXPECT_EQ(b.add(Gate::kA, 0, 1), 0u);
  EXPECT_EQ(b.add(Gate::kB, 0, 1), 1u);
  EXPECT_EQ(b.add(Gate::kXor, 0, 0), CleanBuilder::kFalse);
  EXPECT_EQ(b.add(Gate::kOr, 0, CleanBuilder::kTrue), CleanBuilder::kTrue);
  EXPECT_EQ(b.add(Gate::kAnd, CleanBuilder::kTrue, 1), 1u);
  b.add(Gate::kNand, 0, 1);  // nobody reads it
  const Net inverted = b.add(Gate::kXor, 0, CleanBuilder::kTrue);
  const Net both = b.add(Gate::kAnd, inverted, 1);
  const Netlist n = b.finish({"small", {"x", "y"}, {}, {{"o0", both}, {"o1", CleanBuilder::kTrue}, {"o2", 0}}});
  EXPECT_EQ(n.gates, (std::vector<NetlistGate>{{Gate::kNotA, 0, 0}, {Gate::kAnd, 2, 1}, {Gate::kTrue, 0, 0}}));
  EXPECT_EQ(n.outputs, (std::vector<NetlistOutput>{{"o0", 3}, {"o1", 4}, {"o2", 0}}));
}

}  // namespace
}  // namespace espalier
