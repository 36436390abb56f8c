// The bit-parallel simulator, on a model's circuit as trained and simplified, against the plain rollout of the hardened
// automaton.
#include <gtest/gtest.h>

#include "espalier/random.hpp"
#include "espalier/simplify.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/hard_cell.hpp"
#include "models/lattice/lattice_model.hpp"
#include "runs/config.hpp"

namespace espalier {
namespace {

constexpr int kHeight = 7, kWidth = 70, kSteps = 5;

// A model of the task's shape with random gates.
LatticeModel random_model(const char* task, Boundary boundary) {
  const Json config = default_config(find_task(task));
  LatticeProblem problem = make_lattice_problem(config, 3, "");
  problem.automaton.boundary = boundary;
  Automaton automaton(problem.automaton, 3);
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  const Random random(5, Purpose::kData);
  std::uint64_t draw = 0;
  for (float& value : parameters.values()) value = random.normal(draw++);
  return {config, std::move(problem), std::move(automaton), std::move(parameters)};
}

TEST(HardSimulation, EqualsTheRolloutOfTheHardenedAutomaton) {
  for (const char* task : {"life", "checkerboard-small", "checkerboard"})
    for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
      const LatticeModel model = random_model(task, boundary);
      const int channels = model.automaton.shape().channels;
      Board start(kHeight, kWidth, channels);
      start.randomize(11);
      BitBoards plain(1, kHeight, kWidth, channels);
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x)
          for (int c = 0; c < channels; ++c)
            plain.set(0, y, x, c, start.get(static_cast<std::size_t>(y), static_cast<std::size_t>(x), c));
      const ThreadPool pool(1);
      plain = hard_rollout(harden(model.automaton, model.parameters.values()), boundary, plain, kSteps, {}, pool);
      for (const Netlist& cell : {model.raw_cell(), model.quick_cell(), simplify(model.raw_cell())}) {
        SimulatorOptions options;
        options.periodic = boundary == Boundary::kPeriodic;
        Board board = start;
        Simulator(cell, kHeight, kWidth, options).run(board, kSteps, pool);
        for (int y = 0; y < kHeight; ++y)
          for (int x = 0; x < kWidth; ++x)
            for (int c = 0; c < channels; ++c)
              ASSERT_EQ(board.get(static_cast<std::size_t>(y), static_cast<std::size_t>(x), c), plain.get(0, y, x, c))
                  << task << " " << y << " " << x << " " << c << ", " << cell.gates.size() << " gates";
      }
    }
}

}  // namespace
}  // namespace espalier
