// What an automaton is to do: boards to start from, what they should become, and the trials it is put through. A goal
// belongs to the model that learned it and is saved with it, so that nothing of a task is needed to judge or to run
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/life_rule.hpp"
#include "base/pattern.hpp"
#include "espalier/lattice_model.hpp"
#include "models/lattice/cell_wrapper.hpp"

namespace espalier {

// The boards of one training run: those that fit are drawn, those of the validation choose.
struct LatticeData {
  BoardBatch validation;         // starts
  BoardBatch validation_target;  // channels = loss channels
  // initial: [batch][C][H][W], target: [batch][loss_channels][H][W], both to be filled for mini-batch `batch`.
  std::function<void(std::uint64_t batch, std::span<float> initial, std::span<float> target)> draw = {};
};

// The boards that a finished model is judged by.
struct JudgingBoards {
  BoardBatch start, target;
  std::string what;  // for people: "all 512 boards of 3 x 3", "20 boards that neither fitting nor choosing has seen"
  std::string why_not{};       // where they cannot make a model solved: why
  bool known_in_part = false;  // because the model's file has only some of them
};
// Trials and boards are drawn by these when models are chosen and when the chosen one is judged, and by a search that
// fits boards on which a circuit fails; `eval` draws others.
inline constexpr std::uint64_t kChoosingDraw = std::uint64_t{1} << 33, kJudgingDraw = std::uint64_t{1} << 34,
                               kFittingDraw = std::uint64_t{1} << 35;

class LatticeGoal {
 public:
  virtual ~LatticeGoal() = default;

  virtual std::string kind() const = 0;  // as files name it
  virtual std::string name() const = 0;  // for people: "B3/S23", "checkerboard", "picture of 20 x 20"
  virtual int loss_channels() const = 0;
  // Puts sizes that follow from the goal into the rollout, and refuses what cannot be learned.
  virtual void fit(RolloutOptions& rollout, int channels, bool periodic) const = 0;
  // The fewest steps after which cells that have to differ can have heard of what tells them apart; 0 where that is not
  // known, kNever where no number of steps is enough.
  static constexpr int kNever = 1 << 30;
  virtual int least_steps(const RolloutOptions& /*rollout*/, bool /*periodic*/) const { return 0; }
  virtual LatticeData data(const RolloutOptions& rollout, int channels, std::uint64_t seed) const = 0;
  // `seed`: that of the training; `draw`: which of the boards that nothing has seen, where these are drawn.
  virtual JudgingBoards judging(const RolloutOptions& rollout, int channels, std::uint64_t seed,
                                std::uint64_t draw) const = 0;
  // Whether any number of boards can be drawn: a model is then chosen by thousands as well.
  virtual bool draws_boards() const { return false; }
  // Whether only some of the boards there are may be fitted: a search draws from these, and others choose.
  virtual bool fits_a_part(std::uint64_t /*seed*/) const { return false; }
  // The probability with which cells update when a model is judged.
  virtual double judged_fire_rate(const RolloutOptions& rollout) const { return rollout.fire_rate; }
  // Where boards are given: those that a model may have been made from or chosen by.
  virtual std::optional<BoardPairs> known_pairs(std::uint64_t /*seed*/) const { return std::nullopt; }

  // Where a run starts, on a board of any size; `trained` is the rollout of the training. Of its rows only those of
  // `rows`, when it is too large for one process.
  virtual BoardState start(const RolloutOptions& trained, int channels, int height, int width, std::uint64_t seed,
                           RowRange rows) const = 0;
  // What the loss channels are to become on a board of that size; an Error where no one board is wanted.
  virtual Board target(const RolloutOptions& trained, int height, int width) const;
  virtual const RuleTable* rule() const { return nullptr; }  // where one rule of a cell is wanted: the next states
  virtual int tile() const { return 0; }            // after how many cells the target repeats itself; 0: it does not
  virtual bool one_start() const { return false; }  // the task has one start, and others do not count
  virtual BoardView view(const RolloutOptions& trained) const = 0;
  // Beyond the validation, which every model gets.
  virtual std::vector<Trial> trials(const LatticeModel& model, const TrialOptions& options,
                                    const ThreadPool& pool) const = 0;

  // Names of trials that a model without wrong bits should pass, too: the search goes on for them.
  virtual std::vector<std::string> demands() const { return {}; }
  // Boards of other sizes that those are about, where the goal has one start: its start there, and what becomes of it.
  virtual std::vector<LatticeData> larger(const RolloutOptions& /*trained*/, int /*channels*/) const { return {}; }
  virtual bool damaged() const { return false; }  // whether these are also about damage
  // Names of trials that none can pass, only do better in: the search goes on for them when all of the above are
  // passed.
  virtual std::vector<std::string> graded() const { return {}; }
  // Names of trials that finished() is there for: what is built around a cell that does all else. None: nothing is.
  virtual std::vector<std::string> kept() const { return {}; }
  // The cell that passes them, made of one without wrong bits.
  virtual Netlist finished(const Netlist& cell, const RolloutOptions& /*trained*/, int /*channels*/) const {
    return cell;
  }

  virtual void save(SafetensorsFile& file, std::uint64_t seed) const = 0;
  static std::shared_ptr<const LatticeGoal> load(const SafetensorsFile& file);
};

// One step of any rule over the 3x3 neighbourhood, learned from all 512 boards of 3 x 3.
std::shared_ptr<const LatticeGoal> rule_goal(const std::string& name, const RuleTable& rule);
// Squares of 2 x 2 in channel 0, out of noise in every channel.
std::shared_ptr<const LatticeGoal> checkerboard_goal();
// A picture grown from one living cell at (seed_row, seed_column), or from nothing where these are negative.
// pooled: it was trained with a pool of boards, and trials say how far it stays and heals by itself.
std::shared_ptr<const LatticeGoal> picture_goal(const Pattern& target, int seed_row, int seed_column,
                                                Wrapper wrapper = Wrapper::kNone, bool pooled = false);
std::shared_ptr<const LatticeGoal> load_picture(const SafetensorsFile& file);
// Given boards and what becomes of them, in three parts by the seed: to fit, to choose by, to judge by.
struct BoardFractions {
  double validation = 0.2, test = 0.2;
};
std::shared_ptr<const LatticeGoal> boards_goal(BoardPairs pairs, const BoardFractions& fractions);
std::shared_ptr<const LatticeGoal> load_boards(const SafetensorsFile& file);

// What goals refuse alike: a target of another size than the grid, and cells with too few channels for it.
void check_size(const char* goal, const RolloutOptions& rollout, int height, int width);
void check_channels(const char* goal, int channels, int needed, const char* whose = "the target");

// Fraction of target bits that the first channels of boards have right after a rollout of a hard cell, and wrong bits
// per board. fire: see BatchOptions.
struct BitScore {
  double fraction = 0, wrong_per_board = 0;
  std::size_t exact_boards = 0;
  bool all = false;
};
BitScore score_boards(const Netlist& cell, const BoardBatch& start, const BoardBatch& target, int steps, bool periodic,
                      const BoardBatch* fire, const ThreadPool& pool);

}  // namespace espalier
