#include "models/lattice/trials.hpp"

#include <fmt/format.h>

#include "espalier/board.hpp"
#include "espalier/simulator.hpp"
#include "base/pattern.hpp"
#include "tasks/lattice_data.hpp"

namespace espalier {
namespace {

constexpr double kFireRate = 0.6;
constexpr std::size_t kDeadSide = 20, kResetSide = 10;

// What a trial starts from and compares with, on a board of any size.
struct Stage {
  std::size_t height, width;
  Board start;
  std::vector<std::uint8_t> target;  // [loss channel][y][x]
  int loss_channels;
};

Stage checkerboard_stage(const LatticeModel& m, std::size_t side_factor, std::uint64_t seed) {
  const std::size_t h = m.problem.rollout.height * side_factor, w = m.problem.rollout.width * side_factor;
  Stage stage{h, w, Board(h, w, m.automaton.options().channels), {}, 1};
  stage.start.randomize(seed);
  for (std::size_t y = 0; y < h; ++y)
    for (std::size_t x = 0; x < w; ++x) stage.target.push_back(checker(static_cast<int>(y), static_cast<int>(x)));
  return stage;
}

// The pattern in the middle of a larger board, grown from the same seed in the same relative place.
Stage pattern_stage(const LatticeModel& m, std::size_t side_factor) {
  const Pattern pattern = parse_pattern(m.problem.target, "target");
  const std::size_t h = pattern.height * side_factor, w = pattern.width * side_factor;
  const std::size_t top = (h - pattern.height) / 2, left = (w - pattern.width) / 2;
  Stage stage{h, w, Board(h, w, m.automaton.options().channels), {}, pattern.channels};
  const BitBoards& start = m.problem.data.validation;
  stage.target.assign(h * w * pattern.channels, 0);
  for (int y = 0; y < pattern.height; ++y)
    for (int x = 0; x < pattern.width; ++x) {
      for (int c = 0; c < m.automaton.options().channels; ++c)
        stage.start.set(top + y, left + x, c, start.get(0, y, x, c));
      for (int c = 0; c < pattern.channels; ++c) stage.target[(c * h + top + y) * w + left + x] = pattern.at(c, y, x);
    }
  return stage;
}

class TrialRunner {
 public:
  TrialRunner(const LatticeModel& model, const TrialOptions& options, const ThreadPool& pool)
      : model_(model), options_(options), pool_(pool), cell_(model.quick_cell()) {}

  Trial run(std::string name, std::string description, const Stage& stage, std::uint64_t steps,
            SimulatorOptions simulate, const DeadRectangle* unjudged = nullptr) const {
    Board board = stage.start;
    simulate.periodic = model_.automaton.options().boundary == Boundary::kPeriodic;
    simulate.seed = options_.seed;
    Simulator(cell_, stage.height, stage.width, simulate).run(board, steps, pool_);
    long right = 0, total = 0;
    for (int c = 0; c < stage.loss_channels; ++c)
      for (std::size_t y = 0; y < stage.height; ++y)
        for (std::size_t x = 0; x < stage.width; ++x) {
          if (unjudged && y - unjudged->top < unjudged->height && x - unjudged->left < unjudged->width) continue;
          ++total;
          right += board.get(y, x, c) == (stage.target[(c * stage.height + y) * stage.width + x] != 0);
        }
    return {std::move(name), std::move(description), static_cast<double>(right) / static_cast<double>(total),
            right == total};
  }

  // The published trials on a board with four times the sides and four times the steps.
  void add_damage_trials(std::vector<Trial>& trials, const Stage& stage, std::uint64_t steps) const {
    const SimulatorOptions plain;
    const std::size_t side = std::min({kDeadSide, stage.height / 2, stage.width / 2});
    DeadRectangle square{(stage.height - side) / 2, (stage.width - side) / 2, side, side, 0, steps};
    SimulatorOptions dead = plain;
    dead.dead = {square};
    dead.dead[0].to = 2 * steps;  // the way round the square is longer than the straight one
    trials.push_back(run("dead square",
                         fmt::format("a dead {0} x {0} square; judged outside it; {1} steps", side, 2 * steps), stage,
                         2 * steps, dead, &square));
    SimulatorOptions healed = plain;
    healed.dead = {square};
    healed.dead[0].to = steps / 2;
    trials.push_back(
        run("healing", fmt::format("the square lives again after step {}", steps / 2), stage, steps, healed));
    SimulatorOptions async = plain;
    async.fire_rate = kFireRate;
    trials.push_back(run("asynchronous",
                         fmt::format("cells update with probability {}; {} steps", kFireRate, 2 * steps), stage,
                         2 * steps, async));
    SimulatorOptions reset = plain;
    reset.random_reset = kResetSide;
    if (model_.problem.rollout.fire_rate < 1) reset.fire_rate = model_.problem.rollout.fire_rate;
    trials.push_back(
        run("resets",
            fmt::format("a random {0} x {0} square reset at every step, {1} steps", kResetSide, options_.reset_steps),
            stage, options_.reset_steps, reset));
  }

 private:
  const LatticeModel& model_;
  const TrialOptions& options_;
  const ThreadPool& pool_;
  Netlist cell_;
};

Trial validation(const LatticeModel& m, const ThreadPool& pool) {
  const LatticeData& data = m.problem.data;
  const RolloutOptions& r = m.problem.rollout;
  const FireBits fire = draw_fire_bits(data.validation, r.steps, r.fire_rate, m.config.at("seed"), kTrialFireStep);
  const BitBoards out = hard_rollout(harden_folded(m.automaton, m.parameters.values()), m.automaton.options().boundary,
                                     data.validation, r.steps, fire, pool);
  const BitScore score = compare_boards(out, data.validation_target);
  return {"validation",
          fmt::format("{} boards of {} x {}, {} steps", data.validation.samples, r.height, r.width, r.steps),
          score.fraction, score.all};
}

// 128 x 128 for 300 steps, cell by cell equal to Conway's rule.
Trial long_life(const LatticeModel& m, std::uint64_t seed, const ThreadPool& pool) {
  constexpr int kSide = 128, kSteps = 300;
  Board board(kSide, kSide, 1);
  board.randomize(seed);
  BitBoards plain(1, kSide, kSide, 1);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) plain.set(0, y, x, 0, board.get(y, x, 0));
  Simulator(m.quick_cell(), kSide, kSide, {}).run(board, kSteps, pool);
  for (int t = 0; t < kSteps; ++t) {
    BitBoards next = plain;
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) next.set(0, y, x, 0, conway(plain, 0, y, x));
    plain = next;
  }
  long right = 0;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) right += board.get(y, x, 0) == plain.get(0, y, x, 0);
  return {"long run", fmt::format("{0} x {0} for {1} steps against Conway's rule", kSide, kSteps),
          static_cast<double>(right) / (kSide * kSide), right == kSide * kSide};
}

}  // namespace

std::vector<Trial> run_trials(const LatticeModel& m, const TrialOptions& options, const ThreadPool& pool) {
  std::vector<Trial> trials{validation(m, pool)};
  const TrialRunner runner(m, options, pool);
  const auto steps = static_cast<std::uint64_t>(m.problem.rollout.steps);
  SimulatorOptions plain;
  plain.fire_rate = m.problem.rollout.fire_rate;
  if (m.task() == "life") {
    trials.push_back(long_life(m, options.seed, pool));
  } else if (m.task().starts_with("checkerboard")) {
    const Stage large = checkerboard_stage(m, 4, options.seed);
    trials.push_back(runner.run("larger", fmt::format("{} x {}, {} steps", large.height, large.width, 4 * steps), large,
                                4 * steps, plain));
    runner.add_damage_trials(trials, large, 4 * steps);
  } else {
    const Stage twice = pattern_stage(m, 2), large = pattern_stage(m, 4);
    trials.push_back(
        runner.run("double", fmt::format("{} x {}, {} steps", twice.height, twice.width, steps), twice, steps, plain));
    trials.push_back(runner.run("larger", fmt::format("{} x {}, {} steps", large.height, large.width, 4 * steps), large,
                                4 * steps, plain));
    runner.add_damage_trials(trials, pattern_stage(m, 1), 4 * steps);
  }
  return trials;
}

}  // namespace espalier
