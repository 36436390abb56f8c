// Mutants in lanes against mutants made one by one; circuits compacted, reordered and repaired.
#include "synth/mutants.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/repair.hpp"

namespace espalier {
namespace {

// Any change at any place; about half of the lanes have each.
MutantGroup random_group(const Netlist& parent, std::uint64_t seed, std::size_t moves) {
  const Random random(seed, Purpose::kTrial);
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random.choice(draw++, n)); };
  MutantGroup group;
  for (std::size_t m = 0; m < moves; ++m) {
    Move move;
    move.at = static_cast<Move::At>(below(4));
    const bool output = move.at == Move::At::kOutput;
    move.place = below(output ? parent.outputs.size() : parent.gates.size());
    move.gate = static_cast<Gate>(below(kGates));
    move.other = below(output ? parent.nets() : parent.net_of_gate(move.place));
    group.moves.push_back(move);
  }
  group.lanes.resize(moves);
  for (std::size_t lane = 1; lane < kLanes; ++lane)
    for (std::size_t m = 0; m < moves; ++m) {
      bool taken = false;
      for (std::size_t before = 0; before < m; ++before)
        taken = taken || (group.has(before, lane) && group.moves[before].same_place(group.moves[m]));
      if (!taken && random.coin(draw++)) group.give(m, lane);
    }
  return group;
}

std::vector<std::uint64_t> random_words(std::size_t count, std::uint64_t seed) {
  const Random random(seed, Purpose::kData, 5);
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = random.bits64(i);
  return words;
}

std::vector<std::uint64_t> outputs_of(const Netlist& n, const std::vector<std::uint64_t>& inputs) {
  const std::vector<std::uint64_t> values = evaluate_words(n, inputs);
  std::vector<std::uint64_t> result;
  for (const NetlistOutput& output : n.outputs) result.push_back(values[output.net]);
  return result;
}

TEST(Mutants, EveryLaneComputesWhatItsMutantComputesAlone) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Netlist parent = test::random_netlist(seed, 7, 40, 5);
    const MutantGroup group = random_group(parent, seed, 12);
    std::vector<std::uint32_t> all(group.moves.size());
    std::iota(all.begin(), all.end(), 0u);
    const Netlist lanes = lane_circuit(parent, group, all);
    const std::uint64_t pattern = random_words(1, seed)[0];
    for (std::size_t word = 0; word < kLaneWords; ++word) {
      std::vector<std::uint64_t> in;
      for (std::size_t i = 0; i < parent.inputs.size(); ++i) in.push_back(pattern >> i & 1 ? ~std::uint64_t{0} : 0);
      for (const LaneMask& mask : group.lanes) in.push_back(mask[word]);
      const std::vector<std::uint64_t> got = outputs_of(lanes, in);
      for (std::size_t bit = 0; bit < 64; ++bit) {
        std::vector<bool> inputs;
        for (std::size_t i = 0; i < parent.inputs.size(); ++i) inputs.push_back(pattern >> i & 1);
        const std::vector<bool> wanted = evaluate(mutated(parent, group.of(64 * word + bit)), inputs);
        for (std::size_t o = 0; o < wanted.size(); ++o) ASSERT_EQ(got[o] >> bit & 1, wanted[o]) << seed;
      }
    }
  }
}

TEST(Mutants, ACompactedMutantHasTheSameJudgedOutputsAndTheSizeThatWasMeasured) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Netlist parent = test::random_netlist(seed, 6, 50, 6);
    const MutantGroup group = random_group(parent, seed, 4);
    Compactor compactor({3, 0});
    for (std::size_t lane = 0; lane < 20; ++lane) {
      const std::vector<Move> moves = group.of(lane);
      const CircuitSize size = compactor.measure(parent, moves);
      const Netlist small = compactor.build();
      const NetlistCounts counts = count_netlist(small);
      const std::size_t constants = counts.histogram[0] + counts.histogram[15];
      EXPECT_EQ(size.gates, counts.raw - constants);
      EXPECT_EQ(counts.histogram[static_cast<int>(Gate::kA)] + counts.histogram[static_cast<int>(Gate::kB)], 0u);
      const std::vector<std::uint64_t> in = random_words(parent.inputs.size(), 100 * seed + lane);
      const auto got = outputs_of(small, in), wanted = outputs_of(mutated(parent, moves), in);
      for (std::size_t o = 0; o < 3; ++o) ASSERT_EQ(got[o], wanted[o]) << seed << " " << lane;
    }
  }
}

// Channel 1 feeds channel 0 a step later; channel 2 feeds itself alone.
TEST(Mutants, AChannelThatNoJudgedOneNeedsInAnyLaterStepIsLeftOut) {
  Netlist cell = empty_cell(3);
  const Net first = cell.add_gate(Gate::kAnd, patch_net(4, 1, 3), patch_net(3, 0, 3));
  const Net second = cell.add_gate(Gate::kXor, patch_net(4, 1, 3), patch_net(0, 0, 3));
  const Net third = cell.add_gate(Gate::kOr, patch_net(4, 2, 3), patch_net(0, 0, 3));
  for (const Net net : {first, second, third}) cell.add_output("next", net);
  Compactor compactor({1, 3});
  EXPECT_EQ(compactor.measure(cell).gates, 2u);
  const Netlist small = compactor.build();
  EXPECT_EQ(small.gate_of_net(small.outputs[2].net).gate, Gate::kFalse);
}

TEST(Mutants, AShuffledCircuitIsSortedAndComputesTheSame) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Netlist parent = test::random_netlist(seed, 5, 60, 4);
    const Netlist other = shuffled(parent, Random(seed, Purpose::kRefine, 3));
    EXPECT_NE(parent, other);
    check_netlist(other, "test");
    const std::vector<std::uint64_t> in = random_words(5, seed);
    EXPECT_EQ(outputs_of(parent, in), outputs_of(other, in));
  }
}

TEST(Repair, TurnsOverTheExamplesAskedForAndNoOthers) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Netlist circuit = test::random_netlist(seed, 8, 30, 3);
    ExampleWords inputs(8, std::vector<std::uint64_t>(4));
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t w = 0; w < 4; ++w) inputs[i][w] = counting_word(i, w);  // all 256 rows
    Correction wanted{1, random_words(4, seed), std::vector<std::uint64_t>(4)};
    for (std::size_t w = 0; w < 4; ++w) {
      wanted.turn[w] &= random_words(4, seed + 50)[w] & random_words(4, seed + 60)[w];
      wanted.keep[w] = ~wanted.turn[w];
    }
    RepairReport report;
    const Netlist repaired = repair_outputs(circuit, inputs, std::vector{wanted}, &report);
    EXPECT_EQ(report.left, 0u);
    EXPECT_GT(report.fixed, 5u);
    for (std::size_t w = 0; w < 4; ++w) {
      std::vector<std::uint64_t> in;
      for (const auto& words : inputs) in.push_back(words[w]);
      std::vector<std::uint64_t> before = outputs_of(circuit, in);
      before[1] ^= wanted.turn[w];
      ASSERT_EQ(outputs_of(repaired, in), before);
    }
  }
}

TEST(Repair, LeavesAnExampleThatNothingTellsFromOneToBeKept) {
  Netlist circuit;
  circuit.add_input("a");
  circuit.add_input("b");
  circuit.add_output("y", circuit.add_gate(Gate::kAnd, 0, 1));
  // Examples 0 and 1 are the same; 2 differs.
  const ExampleWords inputs{{0b100}, {0b000}};
  RepairReport report;
  const Netlist repaired = repair_outputs(circuit, inputs, std::vector<Correction>{{0, {0b101}, {0b010}}}, &report);
  EXPECT_EQ(report.left, 1u);
  EXPECT_EQ(report.fixed, 1u);
  EXPECT_EQ(outputs_of(repaired, {0b100, 0b000})[0] & 7, 0b100u);
}

}  // namespace
}  // namespace espalier
