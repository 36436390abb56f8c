#include "models/lattice/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/text.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "espalier/ranks.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "netlist/cell.hpp"
#include "netlist/fire_mask.hpp"

namespace espalier {
namespace {

constexpr double kTrialFireRate = 0.6;
constexpr std::size_t kDeadSide = 20, kResetSide = 10;

}  // namespace

TrialRunner::TrialRunner(const LatticeModel& model, const TrialOptions& options, const ThreadPool& pool)
    : model_(model), options_(options), pool_(pool), cell_(model.quick_cell()) {}

Trial TrialRunner::run(std::string name, std::string description, const TrialStage& stage, std::uint64_t steps,
                       SimulatorOptions simulate, const DeadRectangle* unjudged) const {
  simulate.periodic = model_.periodic();
  simulate.seed = options_.seed;
  return judge(std::move(name), std::move(description), stage, steps, simulate, unjudged);
}

Trial TrialRunner::judge(std::string name, std::string description, const TrialStage& stage, std::uint64_t steps,
                         SimulatorOptions simulate, const DeadRectangle* unjudged) const {
  const std::size_t height = stage.start.height(), width = stage.start.width();
  simulate.ranks = pool_.ranks();
  Simulator simulator(cell_, height, width, simulate);
  Board board(std::max<std::size_t>(1, simulator.rows()), width, stage.start.channels());
  for (int c = 0; c < board.channels(); ++c)
    for (std::size_t y = 0; y < simulator.rows(); ++y)
      std::copy_n(stage.start.row(simulator.first_row() + y, c), board.row_words(), board.row(y, c));
  simulator.run(board, steps, pool_);
  struct Count {
    std::int64_t right = 0, total = 0;
  } count;
  for (int c = 0; c < stage.target.channels(); ++c)
    for (std::size_t y = simulator.first_row(); y < simulator.first_row() + simulator.rows(); ++y)
      for (std::size_t x = 0; x < width; ++x) {
        if (unjudged && y - unjudged->top < unjudged->height && x - unjudged->left < unjudged->width) continue;
        ++count.total;
        count.right += board.get(y - simulator.first_row(), x, c) == stage.target.get(y, x, c);
      }
  std::int64_t right = 0, total = 0;
  for (const Count& one : pool_.ranks() ? pool_.ranks()->all_gather(count) : std::vector{count})
    right += one.right, total += one.total;
  return {std::move(name), std::move(description), static_cast<double>(right) / static_cast<double>(total),
          right == total};
}

Trial TrialRunner::undisturbed(std::string name, const TrialStage& stage, std::uint64_t steps) const {
  SimulatorOptions plain;
  plain.fire_rate = model_.rollout().fire_rate;
  return run(std::move(name),
             fmt::format("{} x {}, {}", stage.start.height(), stage.start.width(),
                         counted(static_cast<std::uint64_t>(steps), "step")),
             stage, steps, plain);
}

bool TrialRunner::wanted(const std::string& name) const {
  return options_.only.empty() || std::ranges::find(options_.only, name) != options_.only.end();
}

// A cell that has been cleared and has heard of nothing since, from one neighbour to the next, is in the state of every
// other such cell: one bit for all of them is the best it can show. What the others show may be right.
double TrialRunner::reset_limit(const Board& target, SimulatorOptions simulate) const {
  Netlist hears = empty_cell(1);
  Net any = patch_net(0, 0, 1);
  for (int p = 1; p < kPatch; ++p) any = hears.add_gate(Gate::kOr, any, patch_net(p, 0, 1));
  hears.add_output("next0", any);
  const std::size_t height = target.height(), width = target.width();
  simulate.periodic = model_.periodic();
  simulate.seed = options_.seed;
  Board knows(height, width, 1);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) knows.set(y, x, 0, true);
  Simulator(hears, height, width, simulate).run(knows, options_.reset_steps, pool_);
  std::size_t right = 0;
  for (int c = 0; c < target.channels(); ++c) {
    std::size_t of_bit[2] = {};
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x) ++(knows.get(y, x, 0) ? right : of_bit[target.get(y, x, c)]);
    right += std::max(of_bit[0], of_bit[1]);
  }
  return static_cast<double>(right) / static_cast<double>(height * width * static_cast<std::size_t>(target.channels()));
}

void TrialRunner::add_damage_trials(std::vector<Trial>& trials, const TrialStage& stage, std::uint64_t steps) const {
  const SimulatorOptions plain;
  const std::size_t height = stage.start.height(), width = stage.start.width();
  const std::size_t side = std::min({kDeadSide, height / 2, width / 2});
  DeadRectangle square{(height - side) / 2, (width - side) / 2, side, side, 0, steps};
  SimulatorOptions dead = plain;
  dead.dead = {square};
  dead.dead[0].to = 2 * steps;  // the way round the square is longer than the straight one
  if (wanted("dead square"))
    trials.push_back(run("dead square",
                         fmt::format("a dead {0} x {0} square; judged outside it; {1} steps", side, 2 * steps), stage,
                         2 * steps, dead, &square));
  SimulatorOptions healed = plain;
  healed.dead = {square};
  healed.dead[0].to = steps / 2;
  if (wanted("healing"))
    trials.push_back(
        run("healing", fmt::format("the square lives again after step {}", steps / 2), stage, steps, healed));
  SimulatorOptions async = plain;
  async.fire_rate = kTrialFireRate;
  if (wanted("asynchronous"))
    trials.push_back(run("asynchronous",
                         fmt::format("cells update with probability {}; {} steps", kTrialFireRate, 2 * steps), stage,
                         2 * steps, async));
  if (!wanted("resets")) return;
  // Most of a small board is left as it is: what is reset as a whole can show nothing.
  const std::size_t reset_side = std::max<std::size_t>(1, std::min({kResetSide, 2 * height / 3, 2 * width / 3}));
  SimulatorOptions reset = plain;
  reset.random_reset = reset_side;
  if (model_.rollout().fire_rate < 1) reset.fire_rate = model_.rollout().fire_rate;
  trials.push_back(
      run("resets",
          fmt::format("a random {0} x {0} square reset at every step, {1} steps", reset_side, options_.reset_steps),
          stage, options_.reset_steps, reset));
  trials.back().limit = reset_limit(stage.target, reset);
}

namespace {

struct Count {
  std::int64_t right = 0, total = 0;
  void add(const Board& board, const Board& target) {
    for (int c = 0; c < target.channels(); ++c)
      for (std::size_t y = 0; y < target.height(); ++y)
        for (std::size_t x = 0; x < target.width(); ++x, ++total) right += board.get(y, x, c) == target.get(y, x, c);
  }
  Trial trial(std::string name, std::string description) const {
    return {std::move(name), std::move(description), static_cast<double>(right) / static_cast<double>(total),
            right == total};
  }
};

constexpr std::uint64_t kLongSteps = 10'000;

}  // namespace

// A cell that was built to keep its picture counts steps; what merely learned to is judged as it was trained.
SimulatorOptions TrialRunner::kept_updates() const {
  SimulatorOptions options;
  options.periodic = model_.periodic();
  options.seed = options_.seed;
  if (model_.goal().kept().empty()) options.fire_rate = model_.rollout().fire_rate;
  return options;
}

Trial TrialRunner::stays(const TrialStage& stage, std::uint64_t steps) const {
  const SimulatorOptions options = kept_updates();
  Simulator simulator(cell_, stage.start.height(), stage.start.width(), options);
  Board board = stage.start;
  simulator.run(board, steps, pool_);
  Count count;
  count.add(board, stage.target);
  Board earlier = board;
  std::uint64_t noted = steps;
  for (std::uint64_t t = steps; t < kLongSteps;) {
    simulator.run(board, 1, pool_);
    count.add(board, stage.target);
    if (++t >= 3 * steps && options.fire_rate == 1 && board == earlier) break;  // it goes round in a circle
    if (t >= 2 * noted) earlier = board, noted = t;
  }
  return count.trial("stays", fmt::format("every step from {} to {}", steps, kLongSteps));
}

Trial TrialRunner::heals(std::string name, const TrialStage& stage, std::uint64_t steps, std::uint64_t time) const {
  constexpr std::uint64_t kDamages = 96;
  const std::size_t H = stage.start.height(), W = stage.start.width();
  Simulator simulator(cell_, H, W, kept_updates());
  Board whole = stage.start;
  simulator.run(whole, 2 * steps, pool_);
  Count count;
  const Random random(options_.seed, Purpose::kDamage);
  std::uint64_t draw = 0;
  // In turn cells become 0, random bits, and 1 in every channel.
  const auto strike = [&](Board& board, std::size_t y, std::size_t x, std::uint64_t kind) {
    for (int c = 0; c < board.channels(); ++c) board.set(y, x, c, kind == 1 ? random.coin(draw++) : kind == 2);
  };
  for (std::uint64_t k = 0; k < kDamages; ++k) {
    Board board = whole;
    simulator.run(board, random.choice(draw++, time), pool_);  // a moment like any other
    if (k % 2 == 0) {                                          // a rectangle somewhere
      const std::size_t h = 1 + random.choice(draw++, H),
                        w = 1 + random.choice(draw++, std::max<std::size_t>(1, H * W / 4 / h));
      const std::size_t top = random.choice(draw++, H), left = random.choice(draw++, W);
      for (std::size_t y = 0; y < h; ++y)
        for (std::size_t x = 0; x < std::min(w, W); ++x) strike(board, (top + y) % H, (left + x) % W, k / 2 % 3);
    } else {  // cells here and there
      for (std::size_t n = 1 + random.choice(draw++, std::max<std::size_t>(1, H * W / 4)); n > 0; --n) {
        const std::size_t y = random.choice(draw++, H), x = random.choice(draw++, W);
        strike(board, y, x, k / 2 % 3);
      }
    }
    if (k % 4 == 3) {  // and once more while it heals
      simulator.run(board, 1 + random.choice(draw++, std::max<std::uint64_t>(1, time / 2)), pool_);
      board.clear_rectangle(H / 4, W / 4, H / 2, W / 2);
    }
    simulator.run(board, time, pool_);
    count.add(board, stage.target);
  }
  return count.trial(std::move(name),
                     fmt::format("{} kinds of damage to at most a quarter of the cells: 0, 1 or random bits in every "
                                 "channel; after {} steps",
                                 kDamages, time));
}

Trial TrialRunner::stays_asynchronous(const TrialStage& stage, std::uint64_t steps) const {
  SimulatorOptions options;
  options.periodic = model_.periodic();
  options.seed = options_.seed;
  options.fire_rate = kTrialFireRate;
  Simulator simulator(cell_, stage.start.height(), stage.start.width(), options);
  Board board = stage.start;
  const std::uint64_t first = 12 * steps, last = 24 * steps;
  simulator.run(board, first, pool_);
  Count count;
  count.add(board, stage.target);
  for (std::uint64_t t = first; t < last; ++t) {
    simulator.run(board, 1, pool_);
    count.add(board, stage.target);
  }
  return count.trial("stays, asynchronous", fmt::format("cells update with probability {}; every step from {} to {}",
                                                        kTrialFireRate, first, last));
}

BitScore score_boards(const Netlist& cell, const BoardBatch& start, const BoardBatch& target, int steps, bool periodic,
                      const BoardBatch* fire, const ThreadPool& pool) {
  BoardBatch boards = start;
  BatchSimulator(cell, {.periodic = periodic, .fire = fire}).run(boards, static_cast<std::uint64_t>(steps), pool);
  const auto wrong = static_cast<double>(count_differences(boards, target));
  const auto count = static_cast<double>(boards.boards());
  const double bits = count * static_cast<double>(boards.height() * boards.width()) * target.channels();
  std::size_t exact = boards.boards();
  for (std::size_t w = 0; wrong > 0 && w < boards.words(); ++w) {
    std::uint64_t differ = 0;
    for (int c = 0; c < target.channels(); ++c)
      for (std::size_t y = 0; y < boards.height(); ++y)
        for (std::size_t x = 0; x < boards.width(); ++x) differ |= boards.word(w, y, x, c) ^ target.word(w, y, x, c);
    exact -= static_cast<std::size_t>(std::popcount(differ));
  }
  return {1 - wrong / bits, wrong / count, exact, wrong == 0};
}

BoardBatch draw_fire_words(const BoardBatch& boards, int steps, double rate, std::uint64_t seed) {
  BoardBatch fire(boards.boards(), boards.height(), boards.width(), steps);
  std::vector<std::uint64_t> words(boards.words() * boards.height() * boards.width());
  for (int t = 0; t < steps; ++t) {
    FireMask(seed, static_cast<std::uint32_t>(t), rate).fill(0, words);
    std::size_t i = 0;
    for (std::size_t w = 0; w < boards.words(); ++w)
      for (std::size_t y = 0; y < boards.height(); ++y)
        for (std::size_t x = 0; x < boards.width(); ++x) fire.set_word(w, y, x, t, words[i++]);
  }
  return fire;
}

Trial judge_boards(const LatticeModel& m, std::uint64_t draw, const ThreadPool& pool) {
  const RolloutOptions& r = m.rollout();
  const JudgingBoards boards = m.goal().judging(r, m.channels(), m.seed(), draw);
  const double rate = m.goal().judged_fire_rate(r);
  std::optional<BoardBatch> fire;
  if (rate < 1) fire = draw_fire_words(boards.start, r.steps, rate, m.seed() ^ draw);
  const BitScore score =
      score_boards(m.quick_cell(), boards.start, boards.target, r.steps, m.periodic(), fire ? &*fire : nullptr, pool);
  Trial trial{"boards",
              fmt::format("{}; {} x {}, {}", boards.what, r.height, r.width,
                          counted(static_cast<std::uint64_t>(r.steps), "step")),
              score.fraction, score.all};
  if (boards.start.boards() > 1)
    trial.description += fmt::format("; {} of {} exact", score.exact_boards, boards.start.boards());
  return trial;
}

std::vector<std::string> failed_trials(const LatticeModel& model, const std::vector<std::string>& names,
                                       std::uint64_t draw, const ThreadPool& pool) {
  std::vector<std::string> failed;
  // Whoever tries thousands of circuits on the same boards finds one that is right on them by luck: choosing takes many
  // more than judging.
  const std::uint64_t times = !model.goal().draws_boards() ? 0 : draw == kChoosingDraw ? 16 : 1;
  for (std::uint64_t k = 0; k < times && failed.empty(); ++k)
    if (!judge_boards(model, draw + k, pool).exact) failed.push_back("boards");
  if (names.empty()) return failed;
  for (const Trial& trial : model.goal().trials(model, {.seed = draw, .only = names}, pool))
    if (!trial.exact) failed.push_back(trial.name);
  return failed;
}

std::uint64_t trial_losses(const LatticeModel& model, const std::vector<std::string>& names, const ThreadPool& pool,
                           const LossRuns& over) {
  constexpr std::uint64_t kFirstSeed = std::uint64_t{1} << 32;
  double losses = 0;
  for (std::uint64_t run = 0; run < over.runs; ++run)
    for (const Trial& trial : model.goal().trials(model, {kFirstSeed + run, over.steps, names}, pool))
      losses += 1 - trial.score;
  return static_cast<std::uint64_t>(1e6 * losses / static_cast<double>(over.runs) + 0.5);
}

std::vector<Trial> run_trials(const LatticeModel& m, const TrialOptions& options, const ThreadPool& pool) {
  std::vector<Trial> trials{judge_boards(m, options.seed, pool)};
  for (Trial& trial : m.goal().trials(m, options, pool)) trials.push_back(std::move(trial));
  return trials;
}

}  // namespace espalier
