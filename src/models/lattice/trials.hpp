// How trials are run: a board, a number of steps, damage, and the share of bits that come out right.
#pragma once

#include <string>
#include <vector>

#include "espalier/simulator.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {

// What a trial starts from and compares with, on a board of any size.
struct TrialStage {
  Board start;
  Board target;  // the loss channels
};

class TrialRunner {
 public:
  TrialRunner(const LatticeModel& model, const TrialOptions& options, const ThreadPool& pool);

  // With the boundary and the fire masks that `simulate` names; over the ranks of the pool in bands of rows.
  Trial judge(std::string name, std::string description, const TrialStage& stage, std::uint64_t steps,
              SimulatorOptions simulate, const DeadRectangle* unjudged = nullptr) const;
  // With those of the model and of the options.
  Trial run(std::string name, std::string description, const TrialStage& stage, std::uint64_t steps,
            SimulatorOptions simulate, const DeadRectangle* unjudged = nullptr) const;
  Trial undisturbed(std::string name, const TrialStage& stage, std::uint64_t steps) const;
  // What keeps a picture: right at every step from `steps` to 10,000, or to where the whole board repeats itself;
  Trial stays(const TrialStage& stage, std::uint64_t steps) const;
  // right again after each of many kinds of damage to at most a quarter of the board, cells set to 0, to 1 or to random
  // bits in every channel, and `time` for it;
  Trial heals(std::string name, const TrialStage& stage, std::uint64_t steps, std::uint64_t time) const;
  // right at every step once slow cells have had their time.
  Trial stays_asynchronous(const TrialStage& stage, std::uint64_t steps) const;
  bool wanted(const std::string& name) const;
  // The published trials of damage: a dead square, healing, asynchronous updates, resets at every step.
  void add_damage_trials(std::vector<Trial>& trials, const TrialStage& stage, std::uint64_t steps) const;

 private:
  SimulatorOptions kept_updates() const;
  double reset_limit(const Board& target, SimulatorOptions simulate) const;

  const LatticeModel& model_;
  const TrialOptions& options_;
  const ThreadPool& pool_;
  Netlist cell_;
};

// Who fires on boards of these sizes, 64 boards at a time: drawn one by one, thousands would take longer than they run.
BoardBatch draw_fire_words(const BoardBatch& boards, int steps, double rate, std::uint64_t seed);
// The boards that its goal judges a model by, `draw` where these are drawn.
Trial judge_boards(const LatticeModel& model, std::uint64_t draw, const ThreadPool& pool);
// The names of the trials of its goal that a model fails, out of these. Where its goal can draw any number of boards,
// those come first.
std::vector<std::string> failed_trials(const LatticeModel& model, const std::vector<std::string>& names,
                                       std::uint64_t draw, const ThreadPool& pool);
// What it gets wrong in these, in millionths of their bits, over several runs that `eval` does not do.
struct LossRuns {
  std::uint64_t runs = 12, steps = 400;
};
std::uint64_t trial_losses(const LatticeModel& model, const std::vector<std::string>& names, const ThreadPool& pool,
                           const LossRuns& over = {});

}  // namespace espalier
