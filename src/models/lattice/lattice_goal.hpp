// What an automaton is to do: boards to start from, what they should become, and the trials it is put through. A goal
// belongs to the model that learned it and is saved with it, so that nothing of a task is needed to judge or to run
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/life_rule.hpp"
#include "base/pattern.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/kept_cell.hpp"

namespace espalier {

class LatticeModel;

// One state of one board: [C][H][W], values in [0, 1].
struct BoardState {
  int channels = 0, height = 0, width = 0;
  std::vector<float> values;

  BoardState() = default;
  BoardState(int c, int h, int w) : channels(c), height(h), width(w), values(static_cast<std::size_t>(c) * h * w) {}
  std::size_t index(int c, int y, int x) const { return (static_cast<std::size_t>(c) * height + y) * width + x; }
  float& at(int c, int y, int x) { return values[index(c, y, x)]; }
  float at(int c, int y, int x) const { return values[index(c, y, x)]; }
};

// `count` rows of a board from `first` on.
struct RowRange {
  int first, count;
};

// The boards of one training run.
struct LatticeData {
  BoardBatch validation;         // starts
  BoardBatch validation_target;  // channels = loss channels
  // initial: [batch][C][H][W], target: [batch][loss_channels][H][W], both to be filled for mini-batch `batch`.
  std::function<void(std::uint64_t batch, std::span<float> initial, std::span<float> target)> draw = {};
};

struct Trial {
  std::string name, description;
  double score = 0;    // fraction of loss-channel bits right
  bool exact = false;  // all of them
};

struct TrialOptions {
  std::uint64_t seed = 1;
  std::uint64_t reset_steps = 4000;  // of the trial with a random reset at every step
};

class LatticeGoal {
 public:
  virtual ~LatticeGoal() = default;

  virtual std::string kind() const = 0;  // as files name it
  virtual std::string name() const = 0;  // for people: "B3/S23", "checkerboard", "picture of 20 x 20"
  virtual int loss_channels() const = 0;
  // Puts sizes that follow from the goal into the rollout, and refuses what cannot be learned.
  virtual void fit(RolloutOptions& rollout, int channels) const = 0;
  virtual LatticeData data(const RolloutOptions& rollout, int channels, std::uint64_t seed) const = 0;

  // Where a run starts, on a board of any size; `trained` is the rollout of the training. Of its rows only those of
  // `rows`, when it is too large for one process.
  virtual BoardState start(const RolloutOptions& trained, int channels, int height, int width, std::uint64_t seed,
                           RowRange rows) const = 0;
  // What the loss channels are to become on a board of that size; an Error where no one board is wanted.
  virtual Board target(const RolloutOptions& trained, int height, int width) const;
  virtual int tile() const { return 0; }            // after how many cells the target repeats itself; 0: it does not
  virtual bool one_start() const { return false; }  // the task has one start, and others do not count
  // The board and the number of steps on which it is best looked at.
  struct View {
    int height, width;
    std::uint64_t steps;
  };
  virtual View view(const RolloutOptions& trained) const = 0;
  // Beyond the validation, which every model gets.
  virtual std::vector<Trial> trials(const LatticeModel& model, const TrialOptions& options,
                                    const ThreadPool& pool) const = 0;

  // Names of trials that a model without wrong bits should pass, too: the search goes on for them.
  virtual std::vector<std::string> demands() const { return {}; }

  virtual bool damaged() const { return false; }  // whether these are also about damage
  // Names of trials that finished() is there for: what is built around a cell that does all else. None: nothing is.
  virtual std::vector<std::string> kept() const { return {}; }
  // The cell that passes them, made of one without wrong bits.
  virtual Netlist finished(const Netlist& cell, const RolloutOptions& /*trained*/, int /*channels*/) const {
    return cell;
  }

  virtual void save(SafetensorsFile& file) const = 0;
  static std::shared_ptr<const LatticeGoal> load(const SafetensorsFile& file);
};

// One step of any rule over the 3x3 neighbourhood, learned from all 512 boards of 3 x 3.
std::shared_ptr<const LatticeGoal> rule_goal(const std::string& name, const RuleTable& rule);
// Squares of 2 x 2 in channel 0, out of noise in every channel.
std::shared_ptr<const LatticeGoal> checkerboard_goal();
// A picture grown from one living cell at (seed_row, seed_column), or from nothing where these are negative.
std::shared_ptr<const LatticeGoal> picture_goal(const Pattern& target, int seed_row, int seed_column,
                                                Keep keep = Keep::kNothing);
// Given starts [N][H][W][C] and what they are after T steps, [N][H][W][loss channels], as 0 and 1. Where a start has
// fewer channels than a cell, the others begin as 0.
struct BoardPairs {
  std::string name;
  int count = 0, height = 0, width = 0, start_channels = 0, target_channels = 0;
  std::vector<std::uint8_t> start, target;
};
std::shared_ptr<const LatticeGoal> boards_goal(BoardPairs pairs, double validation_fraction);

// The validation and then the trials of the model's goal.
std::vector<Trial> run_trials(const LatticeModel& model, const TrialOptions& options, const ThreadPool& pool);

// Fraction of target bits that the first channels of the validation boards have right after a rollout of a hard cell,
// and wrong bits per board. fire: see BatchOptions.
struct BitScore {
  double fraction = 0, wrong_per_board = 0;
  bool all = false;
};
BitScore validate(const Netlist& cell, const LatticeData& data, int steps, bool periodic, const BoardBatch* fire,
                  const ThreadPool& pool);

}  // namespace espalier
