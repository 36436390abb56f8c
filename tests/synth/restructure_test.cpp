// Rewriting, resubstitution and what they stand on: the library of four inputs, and the graph that is rewritten.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "netlist/circuits.hpp"
#include "synth/formats.hpp"
#include "synth/four_inputs.hpp"
#include "synth/gate_graph.hpp"
#include "synth/lut_map.hpp"
#include "synth/passes.hpp"
#include "synth/tools.hpp"

namespace espalier {
namespace {

constexpr ChainCost kCosts[] = {ChainCost::kGates, ChainCost::kAnds, ChainCost::kDepth};

bool equal(const Netlist& a, const Netlist& b) { return verify(a, b).verdict == VerifyReport::Verdict::kEqual; }

std::size_t xors(const Netlist& n) {
  const NetlistCounts counts = count_netlist(n);
  return counts.histogram[gate_bits(Gate::kXor)] + counts.histogram[gate_bits(Gate::kXnor)];
}

// What a chain computes when its class is read as `match` says.
unsigned value_of(const SmallChain& chain, const FourInputLibrary::Match& match) {
  constexpr unsigned kInputs[] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
  std::vector<unsigned> values(4);
  for (unsigned i = 0; i < 4; ++i) values[match.place[i]] = kInputs[i] ^ (match.inputs >> i & 1u ? 0xFFFFu : 0u);
  const auto value = [&](unsigned literal) { return values.at(literal / 2) ^ (literal & 1u ? 0xFFFFu : 0u); };
  for (std::size_t s = 0; s < chain.size; ++s) {
    const unsigned a = value(chain.steps[s].a), b = value(chain.steps[s].b);
    values.push_back(chain.steps[s].is_xor ? a ^ b : a & b);
  }
  const unsigned result =
      chain.result >= SmallChain::kConstant ? (chain.result & 1u ? 0xFFFFu : 0u) : value(chain.result);
  return result ^ (match.output ? 0xFFFFu : 0u);
}

TEST(FourInputs, EveryChainOfEveryFunctionComputesIt) {
  const FourInputLibrary& library = FourInputLibrary::get();
  ASSERT_EQ(library.forms(), 222u);
  for (unsigned f = 0; f < 1 << 16; ++f) {
    const FourInputLibrary::Match& match = library.match(static_cast<std::uint16_t>(f));
    for (const ChainCost cost : kCosts) {
      ASSERT_FALSE(library.chains(match.form, cost).empty());
      for (const SmallChain& chain : library.chains(match.form, cost)) ASSERT_EQ(value_of(chain, match), f);
    }
  }
}

// How many of the 65,536 functions need 0, 1, ... gates is known (Knuth, The Art of Computer Programming 4A, 7.1.2).
TEST(FourInputs, SizesAreThePublishedMinima) {
  const FourInputLibrary& library = FourInputLibrary::get();
  std::vector<int> functions(8), classes(8);
  for (unsigned f = 0; f < 1 << 16; ++f) {
    const std::uint8_t form = library.match(static_cast<std::uint16_t>(f)).form;
    const std::size_t size = library.chains(form, ChainCost::kGates).front().size;
    ++functions.at(size);
    if (library.representative(form) == f) ++classes.at(size);
  }
  EXPECT_EQ(functions, (std::vector<int>{10, 60, 456, 2474, 10624, 24184, 25008, 2720}));
  EXPECT_EQ(classes, (std::vector<int>{2, 2, 5, 20, 34, 75, 72, 12}));
}

// All chains of up to three gates, each gate any of the sixteen of any two nets before it.
void grow(std::vector<unsigned>& nets, int gates, std::vector<bool>& reached) {
  for (const unsigned net : nets) reached[net] = true;
  if (gates == 0) return;
  for (std::size_t a = 0; a < nets.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (unsigned g = 0; g < kGates; ++g) {
        nets.push_back(apply_gate(gate_of_bits(g), nets[a], nets[b]) & 0xFFFFu);
        grow(nets, gates - 1, reached);
        nets.pop_back();
      }
}

TEST(FourInputs, BruteForceFindsNothingSmaller) {
  const FourInputLibrary& library = FourInputLibrary::get();
  for (int gates = 1; gates <= 3; ++gates) {
    std::vector<bool> reached(1 << 16);
    std::vector<unsigned> nets{0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
    grow(nets, gates, reached);
    for (unsigned f = 0; f < 1 << 16; ++f) {
      const std::uint8_t form = library.match(static_cast<std::uint16_t>(f)).form;
      const int size = library.chains(form, ChainCost::kGates).front().size;
      ASSERT_EQ(reached[f], size <= gates) << "function " << f << " in " << gates << " gates";
    }
  }
}

TEST(GateGraph, GivesBackTheCircuitThatItWasMadeFrom) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Netlist n = test::random_netlist(seed, 1 + static_cast<int>(seed % 9), static_cast<int>(seed * 4), 3);
    for (const bool only_ands : {false, true}) {
      const Netlist back = GateGraph(n, only_ands).netlist();
      check_netlist(back, "graph");
      ASSERT_EQ(test::signature(back), test::signature(n)) << seed;
      EXPECT_TRUE(!only_ands || xors(back) == 0);
    }
  }
}

TEST(GateGraph, MergesWhatBecomesEqualWhenANetIsReplaced) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b"), c = n.add_input("c");
  const Net ab = n.add_gate(Gate::kAnd, a, b), other = n.add_gate(Gate::kOr, a, b);
  n.add_output("x", n.add_gate(Gate::kXor, ab, c));
  n.add_output("y", n.add_gate(Gate::kXnor, other, c));
  GateGraph graph(n, false);
  EXPECT_EQ(graph.gates(), 4u);
  const Edge edge = graph.find(false, 2 * 1 + 1, 2 * 2 + 1);  // neither: the OR is its inverse
  ASSERT_NE(edge, kNoEdge);
  graph.replace(node_of(edge), graph.find(false, 2 * 1, 2 * 2) ^ 1u);
  EXPECT_EQ(graph.gates(), 2u);
  const Netlist merged = graph.netlist();
  for (const bool va : {false, true})
    for (const bool vc : {false, true}) {
      const std::vector<bool> out = evaluate(merged, {va, true, vc});
      EXPECT_EQ(out[0], va != vc);
      EXPECT_EQ(out[1], va == vc);
    }
}

// Sources and readers know of each other, in both directions.
void expect_readers_known(const GateGraph& graph) {
  std::vector<std::size_t> read(graph.size());
  const auto expect_read_at = [&](Edge source, std::uint32_t place, std::uint32_t reader) {
    ++read[node_of(source)];
    ASSERT_LT(place, graph.node(node_of(source)).readers.size());
    ASSERT_EQ(graph.node(node_of(source)).readers[place], reader);
  };
  for (std::uint32_t n = graph.inputs() + 1; n < graph.size(); ++n) {
    if (!graph.is_gate(n)) continue;
    expect_read_at(graph.node(n).a, graph.node(n).place_a, n);
    expect_read_at(graph.node(n).b, graph.node(n).place_b, n);
  }
  for (const Edge output : graph.outputs()) ++read[node_of(output)];
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    ASSERT_EQ(graph.node(n).readers.size(), read[n]) << n;
    ASSERT_EQ(graph.node(n).refs, read[n]) << n;
  }
}

TEST(GateGraph, KnowsItsReadersWhateverIsReplaced) {
  std::size_t replaced = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Netlist n = test::random_netlist(seed, 3 + static_cast<int>(seed % 20), 400, 60, seed % 2 ? 20 : 400);
    const Random random(seed, Purpose::kData, 78);
    GateGraph graph(n, seed % 4 == 0);
    for (std::uint64_t round = 0; round < 40 && graph.gates() > 0; ++round) {
      const std::vector<std::uint32_t> order = graph.topological_order();
      const std::uint32_t old = order[random.choice(3 * round, order.size())];
      const Edge by = random.choice(3 * round + 1, 2) ? graph.node(old).a : graph.node(old).b;
      graph.replace(old, by ^ static_cast<Edge>(random.choice(3 * round + 2, 2)));
      ASSERT_FALSE(graph.is_gate(old));
      ASSERT_NO_FATAL_FAILURE(expect_readers_known(graph)) << seed;
      ++replaced;
    }
    check_netlist(graph.netlist(), "graph");
  }
  EXPECT_GT(replaced, 500u);
}

// Gates and outputs read it, and all of them move.
TEST(GateGraph, ANetThatVeryManyReadIsReplacedByAnother) {
  constexpr std::uint32_t kReaders = 50'000;
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b"), c = n.add_input("c");
  for (std::uint32_t i = 0; i < kReaders; ++i) n.add_input(fmt::format("x{}", i));
  const Net both = n.add_gate(Gate::kAnd, a, b), one = n.add_gate(Gate::kXor, n.add_gate(Gate::kAnd, a, c), b);
  for (std::uint32_t i = 0; i < kReaders; ++i) {
    const Net reader = n.add_gate(i % 3 ? Gate::kAnd : Gate::kXor, both, c + 1 + i);
    n.add_output(fmt::format("y{}", i), reader);
    n.add_output(fmt::format("z{}", i), i % 2 ? both : one);
  }
  GateGraph graph(n, false);
  const std::uint32_t old = node_of(graph.find(false, 2 * 1, 2 * 2));
  const std::uint32_t by = node_of(graph.outputs()[1]);
  graph.replace(old, 2 * by);
  EXPECT_FALSE(graph.is_gate(old));
  EXPECT_EQ(graph.gates(), kReaders + 2);
  EXPECT_EQ(graph.node(by).readers.size(), 2 * kReaders);
  expect_readers_known(graph);
}

RC_GTEST_PROP(Restructure, EveryPassKeepsCircuitsOfManyInputsInEveryGoal, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 100000);
  const Netlist n = test::layered_netlist(seed, *rc::gen::inRange(15, 40), *rc::gen::inRange(10, 40),
                                          *rc::gen::inRange(2, 9), *rc::gen::inRange(1, 12));
  const auto goal = static_cast<CircuitGoal>(*rc::gen::inRange(0, 3));
  const bool sideways = *rc::gen::arbitrary<bool>();
  const int kicks = *rc::gen::inRange(0, 5), leaves = *rc::gen::inRange(2, 11);
  const Netlist rewritten = rewrite(n, {goal, sideways, kicks, seed});
  RC_ASSERT(equal(n, rewritten));
  const Netlist small = resubstitute_once(rewritten, {goal, sideways, sideways, seed, 14, leaves, 10'000'000});
  check_netlist(small, "resubstitute");
  RC_ASSERT(equal(n, small));
  RC_ASSERT(goal != CircuitGoal::kGates || small.gates.size() <= rewritten.gates.size());
  RC_ASSERT(goal != CircuitGoal::kDepth || kicks > 0 || count_netlist(small).depth <= count_netlist(n).depth);
  const Netlist level = balance(n);
  RC_ASSERT(equal(n, level));
  RC_ASSERT(count_netlist(level).depth <= count_netlist(n).depth);
}

TEST(Restructure, AGateThatOutputsWantInBothPolaritiesMakesNothingDeeper) {
  Netlist n;
  const Net a = n.add_input("a"), b = n.add_input("b");
  n.add_output("both", n.add_gate(Gate::kAnd, a, b));
  n.add_output("not_both", n.add_gate(Gate::kNand, a, b));
  const Netlist rewritten = rewrite(n, {.goal = CircuitGoal::kDepth});
  const Netlist rebuilt = resubstitute_once(n, {.goal = CircuitGoal::kDepth});
  for (const Netlist& level : {balance(n), rewritten, rebuilt}) {
    EXPECT_EQ(count_netlist(level).depth, 1u);
    EXPECT_EQ(level.gates.size(), 2u);
    EXPECT_TRUE(equal(n, level));
  }
}

RC_GTEST_PROP(Rebuild, CircuitsMadeOfATableAloneComputeIt, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 100000);
  const Netlist n = test::random_netlist(seed, *rc::gen::inRange(1, 11), *rc::gen::inRange(0, 60),
                                         *rc::gen::inRange(1, 5), *rc::gen::inRange(2, 40));
  for (const Netlist& other : rebuild(n, {.seed = seed, .effort = 5'000'000})) {
    check_netlist(other, "rebuild");
    RC_ASSERT(test::signature(other) == test::signature(n));
  }
}

// x is above 4 of 9, some of them inverted, told apart by a chain of multiplexers.
Netlist majority_by_muxes() {
  Netlist n;
  std::vector<Net> at_least(6);
  for (int i = 0; i < 9; ++i) n.add_input(fmt::format("x{}", i));
  at_least[0] = n.add_constant(true);
  for (std::size_t k = 1; k < 6; ++k) at_least[k] = n.add_constant(false);
  for (Net x = 0; x < 9; ++x)
    for (std::size_t k = 5; k > 0; --k) {
      const bool turned = x % 3 == 1;
      const Net rise = n.add_gate(turned ? Gate::kNotAAndB : Gate::kAnd, x, at_least[k - 1]);
      at_least[k] = n.add_gate(Gate::kOr, at_least[k], rise);
    }
  n.add_output("y", at_least[5]);
  return n;
}

TEST(Rebuild, InputsThatAreAlikeAreCounted) {
  const Netlist n = majority_by_muxes();
  const std::vector<Netlist> made = rebuild(n);
  ASSERT_EQ(made.size(), 2u);
  for (const Netlist& other : made) EXPECT_TRUE(equal(n, other));
  // Seven full adders of five gates at most, and what compares the count with four.
  EXPECT_LE(made[0].gates.size(), 40u);
  const std::vector<Netlist> life = rebuild(test::clumsy_life());
  ASSERT_EQ(life.size(), 2u);
  EXPECT_LE(life[0].gates.size(), 30u);
  EXPECT_TRUE(equal(test::clumsy_life(), life[0]));
}

TEST(Rebuild, LifeComesDownToItsAddersWhateverItIsWrittenAs) {
  const Netlist small = test::simplify_quickly(test::clumsy_life());
  EXPECT_LE(small.gates.size(), 30u);
  EXPECT_TRUE(equal(test::clumsy_life(), small));
}

TEST(Rebuild, LeavesCircuitsOfManyInputsAlone) {
  EXPECT_TRUE(rebuild(test::layered_netlist(3, 30, 40, 3, 20)).empty());
}

Netlist ripple_adder(int width) {
  Netlist n;
  std::vector<Net> a, b;
  for (int i = 0; i < width; ++i) a.push_back(n.add_input("a"));
  for (int i = 0; i < width; ++i) b.push_back(n.add_input("b"));
  Net carry = kNoNet;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Net half = n.add_gate(Gate::kXor, a[i], b[i]), both = n.add_gate(Gate::kAnd, a[i], b[i]);
    if (i == 0) {
      n.add_output("s", half);
      carry = both;
      continue;
    }
    n.add_output("s", n.add_gate(Gate::kXor, half, carry));
    // The carry as a person writes it: any two of three.
    const Net ac = n.add_gate(Gate::kAnd, a[i], carry), bc = n.add_gate(Gate::kAnd, b[i], carry);
    carry = n.add_gate(Gate::kOr, n.add_gate(Gate::kOr, both, ac), bc);
  }
  n.add_output("s", carry);
  return n;
}

TEST(Restructure, AnAdderOfManyInputsComesDownToFiveGatesForEachBit) {
  const Netlist n = ripple_adder(8);  // sixteen inputs
  SimplifyOptions options;
  options.resubstitute_options.walks = 10;
  const Netlist small = simplify(n, options);
  EXPECT_EQ(small.gates.size(), 37u);
  EXPECT_TRUE(equal(n, small));
}

TEST(Restructure, EachGoalIsBestAtWhatItCounts) {
  const Netlist n = ripple_adder(8);
  std::vector<Netlist> best;
  for (std::size_t goal = 0; goal < kCircuitGoalNames.size(); ++goal) {
    SimplifyOptions options;
    options.goal = static_cast<CircuitGoal>(goal);
    options.resubstitute_options.walks = 20;
    options.resubstitute_options.effort = 30'000'000;
    options.resubstitute_options.effort_per_gate = 0;
    best.push_back(simplify(n, options));
    EXPECT_TRUE(equal(n, best.back())) << kCircuitGoalNames[goal];
    EXPECT_EQ(simplify(n, options), best.back()) << kCircuitGoalNames[goal];
  }
  const auto ands = [](const Netlist& netlist) { return netlist.gates.size() + 2 * xors(netlist); };
  const auto depth = [](const Netlist& netlist) { return count_netlist(netlist).depth; };
  const auto tables = [](const Netlist& netlist) { return map_luts(netlist, 6).luts.size(); };
  EXPECT_EQ(xors(best[1]), 0u);
  for (const Netlist& other : best) {
    EXPECT_LE(best[0].gates.size(), other.gates.size());
    EXPECT_LE(ands(best[1]), ands(other));
    EXPECT_LE(depth(best[2]), depth(other));
    EXPECT_LE(tables(best[3]), tables(other));
  }
  EXPECT_LT(depth(best[2]), depth(best[0]));
}

TEST(Restructure, AWideCoverIsReadAsAShallowTree) {
  std::string text = ".model wide\n.inputs";
  for (int i = 0; i < 64; ++i) text += fmt::format(" i{}", i);
  text += "\n.outputs y\n.names";
  for (int i = 0; i < 64; ++i) text += fmt::format(" i{}", i);
  text += " y\n";
  for (int row = 0; row < 32; ++row) {
    std::string pattern(64, '1');
    for (int i = 0; i < 6; ++i) pattern[static_cast<std::size_t>((row * 13 + i * 11) % 64)] = '0';
    text += pattern + " 1\n";
  }
  const Netlist n = import_blif(text + ".end\n", "wide.blif");
  EXPECT_EQ(count_netlist(n).depth, 6u + 5u);
}

// Each output picks one of the eight data inputs, another for each, by products of the three select inputs.
Netlist flat_rotator() {
  std::string text = ".model rotator\n.inputs s0 s1 s2 d0 d1 d2 d3 d4 d5 d6 d7\n.outputs q0 q1 q2 q3 q4 q5 q6 q7\n";
  for (unsigned q = 0; q < 8; ++q) {
    text += fmt::format(".names s0 s1 s2 d0 d1 d2 d3 d4 d5 d6 d7 q{}\n", q);
    for (unsigned v = 0; v < 8; ++v) {
      std::string pattern = fmt::format("{}{}{}--------", v & 1, v >> 1 & 1, v >> 2);
      pattern[3 + (q + v) % 8] = '1';
      text += pattern + " 1\n";
    }
  }
  return import_blif(text + ".end\n", "rotator.blif");
}

TEST(Factor, ListsOfProductsThatDifferLittleShareTheirTrees) {
  const Netlist n = flat_rotator(), trees = factor(n);
  EXPECT_EQ(trees.gates.size(), 3u * 8u * 3u);  // three layers of eight multiplexers
  EXPECT_TRUE(equal(n, trees));
}

// Every prefix of lists of the same products is wanted: the lists are few gates, and their sums hold very much.
Netlist prefixes_of_lists(std::size_t lists) {
  constexpr std::size_t kInputs = 12, kProducts = 60, kLiterals = 6;
  Netlist n;
  for (std::size_t i = 0; i < kInputs; ++i) n.add_input(fmt::format("i{}", i));
  const Random random(1, Purpose::kData, 79);
  std::vector<Net> products;
  for (std::uint64_t p = 0; p < kProducts; ++p) {
    Net product = static_cast<Net>(p % kInputs);
    for (std::uint64_t l = 1; l < kLiterals; ++l)
      product =
          n.add_gate(Gate::kAnd, product, static_cast<Net>((p + l + random.choice(p * kLiterals + l, 2)) % kInputs));
    products.push_back(product);
  }
  for (std::size_t list = 0; list < lists; ++list) {
    Net sum = products[list];
    for (std::size_t p = 1; p < kProducts; ++p) {
      sum = n.add_gate(Gate::kOr, sum, products[(list + p * 7) % kProducts]);
      n.add_output(fmt::format("y{}_{}", list, p), sum);
    }
  }
  return n;
}

TEST(Factor, CircuitsWhoseSumsHoldTooMuchAreGivenBackAsTheyAre) {
  const Netlist n = prefixes_of_lists(20);
  const Netlist factored = factor(n);
  EXPECT_NE(factored, n);
  EXPECT_EQ(test::signature(factored), test::signature(n));
  EXPECT_EQ(factor(n, 1'000'000), n);  // given up where sums are factored, or found,
  EXPECT_EQ(factor(n, 10'000), n);     // or at the first of them
  EXPECT_TRUE(equal(n, test::simplify_quickly(n)));
}

RC_GTEST_PROP(Factor, KeepsTheFunctionOfAnyCircuit, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 100000);
  const Netlist n = test::random_netlist(seed, *rc::gen::inRange(1, 11), *rc::gen::inRange(0, 80),
                                         *rc::gen::inRange(1, 5), *rc::gen::inRange(2, 40));
  const Netlist other = factor(n);
  check_netlist(other, "factor");
  RC_ASSERT(test::signature(other) == test::signature(n));
}

// A sum of many numbers: inverting one net turns XORs over on very many paths.
TEST(GateGraph, AnInvertedNetBelowManyPathsOfXorsIsReplacedAtOnce) {
  Netlist n;
  std::vector<Net> row;
  for (int i = 0; i < 40; ++i) row.push_back(n.add_input(fmt::format("x{}", i)));
  const Net start = n.add_gate(Gate::kAnd, row[0], row[1]), other = n.add_gate(Gate::kOr, row[0], row[1]);
  row[0] = start;
  for (int layer = 0; layer < 60; ++layer)
    for (std::size_t i = row.size() - 1; i > 0; --i) row[i] = n.add_gate(Gate::kXor, row[i], row[i - 1]);
  for (std::size_t i = 0; i < row.size(); ++i) n.add_output(fmt::format("y{}", i), row[i]);
  n.add_output("z", other);
  GateGraph graph(n, false);
  const Edge edge = graph.find(false, 2 * 1, 2 * 2);
  ASSERT_NE(edge, kNoEdge);
  graph.replace(node_of(edge), graph.find(false, 2 * 1 + 1, 2 * 2 + 1) ^ 1u);
  EXPECT_LE(graph.size(), 4 * n.nets());
}

TEST(Restructure, EffortIsABound) {
  const Netlist n = test::layered_netlist(3, 60, 200, 10, 50);
  ResubstituteReport report;
  resubstitute(n, {.walks = 1000, .effort = 20'000'000, .effort_per_gate = 0}, &report);
  EXPECT_GE(report.spent, 20'000'000u);
  EXPECT_LT(report.spent, 80'000'000u);  // the last pass is finished
}

TEST(Restructure, ALargeCircuitThatGivesNothingUpIsNotWalkedOverForLong) {
  const Netlist swept = simplify(test::layered_netlist(3, 1200, 1200, 5, 1200), {.resubstitute = false});
  ASSERT_GT(swept.gates.size(), 1000u);
  const ResubstituteOptions options;
  const std::uint64_t effort = options.effort + options.effort_per_gate * swept.gates.size();
  ResubstituteReport report;
  const Netlist small = resubstitute(swept, options, &report);
  ASSERT_GT(100 * small.gates.size(), 99 * swept.gates.size());
  EXPECT_LT(report.spent, effort / 4);  // a third is what may be in vain for others
}

// The net below the chain is replaced by its opposite, and every XOR above it is made anew.
TEST(Restructure, AChainOfXorsAboveANetThatIsInvertedOverflowsNothing) {
  constexpr int kXors = 60'000;
  Netlist n;
  for (const char* name : {"a", "b", "c", "d"}) n.add_input(name);
  for (int i = 0; i < kXors; ++i) n.add_input(fmt::format("i{}", i));
  Net net = n.add_gate(Gate::kAnd, n.add_gate(Gate::kNand, 0, 1), n.add_gate(Gate::kNand, 0, 2));
  for (int i = 0; i < kXors; ++i) net = n.add_gate(Gate::kXor, net, static_cast<Net>(4 + i));
  n.add_output("y", n.add_gate(Gate::kAnd, net, 3));
  const Netlist small = rewrite(n);
  EXPECT_LT(small.gates.size(), n.gates.size());
  EXPECT_EQ(test::signature(small, 4), test::signature(n, 4));
}

}  // namespace
}  // namespace espalier
