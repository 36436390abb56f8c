// Hardened automata in the simulators: against the reference with certain gates, and one simulator against the other.

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/automaton_reference.hpp"

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
      l[at + static_cast<std::size_t>(likeliest_gate(parameters.values().subspan(at).first<kGates>()))] = 1000;
    return l;
  }
  Automaton automaton;
  Parameters parameters;
};

TEST(HardRollout, RolloutEqualsTheReferenceWithOneHotGates) {
  for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
    const Trained t(boundary);
    constexpr int kSamples = 70, kH = 5, kW = 6, kSteps = 4;  // more than a word of boards
    BoardBatch start(kSamples, kH, kW, 4);
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
    BoardBatch out = start;
    BatchSimulator(harden_folded(t.automaton, t.parameters.values()), {.periodic = boundary == Boundary::kPeriodic})
        .run(out, kSteps, ThreadPool(2));
    reference::AutomatonReference<double> r(t.automaton, t.hard_logits());
    r.forward({kSamples, kH, kW, kSteps, 1.0f}, initial);
    std::size_t i = 0;
    for (int n = 0; n < kSamples; ++n)
      for (int c = 0; c < 4; ++c)
        for (int y = 0; y < kH; ++y)
          for (int x = 0; x < kW; ++x) ASSERT_EQ(out.get(n, y, x, c), r.state(kSteps)[i++] > 0.5);
  }
}

TEST(HardSimulation, EqualsTheRolloutOfTheHardenedAutomaton) {
  constexpr int kHeight = 7, kWidth = 70, kSteps = 5;
  const AutomatonOptions shapes[] = {{1, 16, {8, 4, 2, 1}, parse_layers("128x4,64,32,16,8,4,2,1")},
                                     {4, 4, {8, 4, 2}, parse_layers("32x4,16,8,4")},
                                     {8, 16, {8, 4, 2}, parse_layers("256x10,128,64,32,16,8,8")}};
  const ThreadPool pool(1);
  const Random random(5, Purpose::kData);
  for (AutomatonOptions shape : shapes)
    for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
      shape.boundary = boundary;
      const Automaton automaton(shape, 3);
      std::vector<float> logits(static_cast<std::size_t>(automaton.gates()) * kGates);
      for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = random.normal(i);
      Board start(kHeight, kWidth, shape.channels);
      start.randomize(11);
      BoardBatch plain(1, kHeight, kWidth, shape.channels);
      const bool periodic = boundary == Boundary::kPeriodic;
      plain.set_board(0, start);
      BatchSimulator(harden_folded(automaton, logits), {.periodic = periodic}).run(plain, kSteps, pool);
      const Netlist raw = harden(automaton, logits);
      for (const Netlist& cell : {raw, harden_folded(automaton, logits), simplify(raw, SimplifyOptions::brief())}) {
        Board board = start;
        Simulator(cell, kHeight, kWidth, {.periodic = periodic}).run(board, kSteps, pool);
        ASSERT_EQ(board, plain.board(0)) << shape.channels << " channels, " << cell.gates.size() << " gates";
      }
    }
}

}  // namespace
}  // namespace espalier
