// Hardened cells against gate-by-gate evaluation, and against the circuit simulator.
#include <gtest/gtest.h>

#include "models/lattice/automaton_reference.hpp"
#include "models/lattice/hard_cell.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

struct Trained {
  explicit Trained(Boundary boundary) : automaton({4, 3, {8, 4, 2}, {24, 16, 8, 4}, WiringKind::kUnique, boundary}, 5) {
    automaton.add_parameters(parameters, 0);
    const Random r(21, Purpose::kData);
    std::uint64_t draw = 0;
    for (float& v : parameters.values()) v = r.normal(draw++);
  }
  // One-hot logits: the soft automaton then computes what the hard one does.
  std::vector<double> hard_logits() const {
    std::vector<double> l(parameters.num_parameters(), 0.0);
    for (std::size_t at = 0; at < l.size(); at += kGates)
      l[at + static_cast<std::size_t>(hard_choice(&parameters.values()[at]))] = 1000;
    return l;
  }
  Automaton automaton;
  Parameters parameters;
};

TEST(HardCell, RolloutEqualsTheReferenceWithOneHotGates) {
  for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
    const Trained t(boundary);
    constexpr int kSamples = 70, kH = 5, kW = 6, kSteps = 4;  // more than a word of boards
    BitBoards start(kSamples, kH, kW, 4);
    std::vector<double> initial;
    const Random coins(2, Purpose::kTrial);
    std::uint64_t draw = 0;
    for (int n = 0; n < kSamples; ++n)
      for (int c = 0; c < 4; ++c)
        for (int y = 0; y < kH; ++y)
          for (int x = 0; x < kW; ++x) {
            const bool bit = coins.coin(draw++);
            start.set(n, y, x, c, bit);
            initial.push_back(bit);
          }
    const BitBoards out =
        hard_rollout(harden(t.automaton, t.parameters.values()), boundary, start, kSteps, {}, ThreadPool(2));
    reference::AutomatonReference<double> r(t.automaton, t.hard_logits());
    r.forward({kSamples, kH, kW, kSteps, 1.0f}, initial);
    std::size_t i = 0;
    for (int n = 0; n < kSamples; ++n)
      for (int c = 0; c < 4; ++c)
        for (int y = 0; y < kH; ++y)
          for (int x = 0; x < kW; ++x) ASSERT_EQ(out.get(n, y, x, c), r.state(kSteps)[i++] > 0.5);
  }
}

TEST(HardCell, UnfiredCellsKeepTheirState) {
  const Trained t(Boundary::kPeriodic);
  BitBoards start(3, 4, 4, 4);
  for (std::size_t i = 0; i < start.bits.size(); ++i) start.bits[i] = i % 8;
  const FireBits never(static_cast<std::size_t>(5) * 16 * start.words(), 0);
  const HardCell cell = harden(t.automaton, t.parameters.values());
  EXPECT_EQ(hard_rollout(cell, Boundary::kPeriodic, start, 5, never, ThreadPool(1)).bits, start.bits);
}

TEST(HardCell, FireBitsHaveTheirRate) {
  const BitBoards boards(100, 20, 20, 1);
  const FireBits fire = draw_fire_bits(boards, 10, 0.6, 1, 0);
  long fired = 0;
  for (const std::uint64_t word : fire) fired += __builtin_popcountll(word);
  EXPECT_NEAR(static_cast<double>(fired) / (100 * 400 * 10), 0.6, 0.005);
}

TEST(HardCell, CountsKnowWiresFromActiveGates) {
  std::vector<float> logits(3 * kGates, 0.0f);
  logits[0 * kGates + static_cast<int>(Gate::kA)] = 1;
  logits[1 * kGates + static_cast<int>(Gate::kXor)] = 1;
  logits[2 * kGates + static_cast<int>(Gate::kB)] = 1;
  const GateCounts counts = count_gates(logits);
  EXPECT_EQ(counts.raw, 3);
  EXPECT_EQ(counts.active, 1);
  EXPECT_EQ(counts.histogram[static_cast<int>(Gate::kXor)], 1);
}

}  // namespace
}  // namespace espalier
