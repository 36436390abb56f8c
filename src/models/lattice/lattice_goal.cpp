#include "models/lattice/lattice_goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "models/lattice/trials.hpp"

namespace espalier {
namespace {

constexpr int kRuleBoards = 512;        // all boards of 3 x 3
constexpr int kValidationBoards = 200;  // of tasks that start from noise

BoardState noise(int channels, int height, int width, std::uint64_t seed, RowRange rows) {
  BoardState state(channels, rows.count, width);
  const Random coins(seed, Purpose::kTrial);
  for (int c = 0; c < channels; ++c) {
    const std::size_t first = (static_cast<std::size_t>(c) * height + rows.first) * width;
    const std::size_t cells = static_cast<std::size_t>(rows.count) * width;
    float* const values = state.values.data() + c * cells;
    for (std::size_t i = 0; i < cells; ++i) values[i] = coins.coin(first + i);
  }
  return state;
}

// --- One step of a rule.

class RuleGoal : public LatticeGoal {
 public:
  RuleGoal(const std::string& name, const RuleTable& rule) : name_(name), rule_(rule) {}
  std::string kind() const override { return "rule"; }
  std::string name() const override { return name_; }
  int loss_channels() const override { return 1; }
  const RuleTable* rule() const override { return &rule_; }

  void fit(RolloutOptions& r, int, bool) const override {
    if (r.height != 3 || r.width != 3 || r.steps != 1)
      fail("rule", fmt::format("a grid of {} x {}, steps: {}", r.height, r.width, r.steps), "3 x 3 and 1 step",
           "a rule is learned from all 512 neighbourhoods; run the model on any size afterwards");
  }

  LatticeData data(const RolloutOptions& r, int channels, std::uint64_t seed) const override {
    LatticeData data{BoardBatch(kRuleBoards, 3, 3, channels), BoardBatch(kRuleBoards, 3, 3, 1)};
    for (int n = 0; n < kRuleBoards; ++n)
      for (int cell = 0; cell < 9; ++cell) data.validation.set(n, cell / 3, cell % 3, 0, n >> cell & 1);
    const auto alive = [](int n) { return [n](int y, int x) { return n >> (y * 3 + x) & 1; }; };
    for (int n = 0; n < kRuleBoards; ++n)
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) data.validation_target.set(n, y, x, 0, next(alive(n), 3, 3, y, x));
    data.draw = [r, channels, seed, boards = data.validation, targets = data.validation_target](
                    std::uint64_t batch, std::span<float> initial, std::span<float> target) {
      const Random random(seed, Purpose::kBatch, static_cast<std::uint32_t>(batch));
      std::ranges::fill(initial, 0.0f);
      for (int n = 0; n < r.batch; ++n) {
        const auto board = static_cast<int>(random.choice(n, kRuleBoards));
        for (int cell = 0; cell < 9; ++cell) {
          initial[n * channels * 9 + cell] = boards.get(board, cell / 3, cell % 3, 0);
          target[n * 9 + cell] = targets.get(board, cell / 3, cell % 3, 0);
        }
      }
    };
    return data;
  }

  JudgingBoards judging(const RolloutOptions& r, int channels, std::uint64_t seed, std::uint64_t) const override {
    LatticeData all = data(r, channels, seed);
    return {std::move(all.validation), std::move(all.validation_target),
            "all 512 boards of 3 x 3: every case there is"};
  }
  // A rule says what becomes of cells that update; the others stay as they are, whatever it is.
  double judged_fire_rate(const RolloutOptions&) const override { return 1; }

  BoardState start(const RolloutOptions&, int channels, int height, int width, std::uint64_t seed,
                   RowRange rows) const override {
    BoardState state = noise(1, height, width, seed, rows);
    state.channels = channels;
    state.values.resize(state.values.size() * static_cast<std::size_t>(channels));
    return state;
  }
  BoardView view(const RolloutOptions&) const override { return {64, 64, 100}; }

  // On a large periodic board for many steps, cell by cell against the rule itself.
  std::vector<Trial> trials(const LatticeModel& model, const TrialOptions& options,
                            const ThreadPool& pool) const override {
    constexpr int kSide = 128, kSteps = 300;
    Board start(kSide, kSide, model.channels());
    Board plain(kSide, kSide, 1);
    plain.randomize(options.seed);
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) start.set(y, x, 0, plain.get(y, x, 0));
    for (int t = 0; t < kSteps; ++t) {
      Board after = plain;
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x)
          after.set(y, x, 0, next([&](int v, int u) { return plain.get(v, u, 0); }, kSide, kSide, y, x));
      plain = after;
    }
    return {TrialRunner(model, options, pool)
                .judge("long run", fmt::format("{0} x {0} for {1} steps against {2}", kSide, kSteps, name_),
                       {std::move(start), std::move(plain)}, kSteps, {})};
  }

  void save(SafetensorsFile& file, std::uint64_t) const override {
    file.metadata["goal.name"] = name_;
    file.add("goal.rule", {rule_.size()}, std::span<const std::uint8_t>(rule_));
  }

 private:
  template <class Alive>
  bool next(const Alive& alive, int height, int width, int y, int x) const {
    unsigned patch = 0;
    for (int o = 0; o < 9; ++o)
      patch |= unsigned{alive((y + o / 3 - 1 + height) % height, (x + o % 3 - 1 + width) % width) ? 1u : 0u} << o;
    return rule_[patch] != 0;
  }

  std::string name_;
  RuleTable rule_;
};

// --- The checkerboard.

bool checker(int y, int x) { return (y / 2 + x / 2) % 2 == 1; }

class CheckerboardGoal : public LatticeGoal {
 public:
  std::string kind() const override { return "checkerboard"; }
  std::string name() const override { return "checkerboard"; }
  int loss_channels() const override { return 1; }
  void fit(RolloutOptions&, int, bool) const override {}

  LatticeData data(const RolloutOptions& r, int channels, std::uint64_t seed) const override {
    LatticeData data{BoardBatch(kValidationBoards, r.height, r.width, channels),
                     BoardBatch(kValidationBoards, r.height, r.width, 1)};
    const Random fresh(seed, Purpose::kValidation);
    std::uint64_t draw = 0;
    for (int n = 0; n < kValidationBoards; ++n)
      for (int y = 0; y < r.height; ++y)
        for (int x = 0; x < r.width; ++x) {
          for (int c = 0; c < channels; ++c) data.validation.set(n, y, x, c, fresh.coin(draw++));
          data.validation_target.set(n, y, x, 0, checker(y, x));
        }
    data.draw = [r, seed](std::uint64_t batch, std::span<float> initial, std::span<float> target) {
      const Random random(seed, Purpose::kBatch, static_cast<std::uint32_t>(batch));
      for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = random.coin(i) ? 1.0f : 0.0f;
      for (std::size_t i = 0; i < target.size(); ++i)
        target[i] = checker(static_cast<int>(i / r.width % r.height), static_cast<int>(i % r.width)) ? 1.0f : 0.0f;
    };
    return data;
  }

  // As many as are cheap, and never under a thousand.
  JudgingBoards judging(const RolloutOptions& r, int channels, std::uint64_t seed, std::uint64_t draw) const override {
    const auto cells = static_cast<std::size_t>(r.height) * static_cast<std::size_t>(r.width);
    const std::size_t most = (std::size_t{1} << 31) / (cells * static_cast<std::size_t>(std::max(channels, r.steps)));
    const std::size_t count = std::clamp<std::size_t>(most, 1024, 4096);
    JudgingBoards boards{BoardBatch(count, r.height, r.width, channels), BoardBatch(count, r.height, r.width, 1),
                         fmt::format("{} boards that neither fitting nor choosing has seen", count)};
    const Random fresh(seed ^ draw, Purpose::kTest);
    std::uint64_t element = 0;
    for (std::size_t w = 0; w < boards.start.words(); ++w)
      for (std::size_t y = 0; y < boards.start.height(); ++y)
        for (std::size_t x = 0; x < boards.start.width(); ++x) {
          for (int c = 0; c < channels; ++c) boards.start.set_word(w, y, x, c, fresh.bits64(element++));
          boards.target.set_word(w, y, x, 0, checker(static_cast<int>(y), static_cast<int>(x)) ? ~std::uint64_t{0} : 0);
        }
    return boards;
  }
  bool draws_boards() const override { return true; }

  BoardState start(const RolloutOptions&, int channels, int height, int width, std::uint64_t seed,
                   RowRange rows) const override {
    return noise(channels, height, width, seed, rows);
  }
  Board target(const RolloutOptions&, int height, int width) const override {
    Board board(height, width, 1);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) board.set(y, x, 0, checker(y, x));
    return board;
  }
  int tile() const override { return 4; }
  // Twice the trained steps show that it stays.
  BoardView view(const RolloutOptions& r) const override {
    return {r.height, r.width, 2 * static_cast<std::uint64_t>(r.steps)};
  }

  std::vector<Trial> trials(const LatticeModel& model, const TrialOptions& options,
                            const ThreadPool& pool) const override {
    const int height = 4 * model.rollout().height, width = 4 * model.rollout().width;
    const auto steps = 4 * static_cast<std::uint64_t>(model.rollout().steps);
    TrialStage stage{Board(height, width, model.channels()), target(model.rollout(), height, width)};
    stage.start.randomize(options.seed);
    const TrialRunner runner(model, options, pool);
    std::vector<Trial> trials;
    if (runner.wanted("larger")) trials.push_back(runner.undisturbed("larger", stage, steps));
    runner.add_damage_trials(trials, stage, steps);
    return trials;
  }
  std::vector<std::string> demands() const override { return {"larger", "dead square", "healing"}; }
  bool damaged() const override { return true; }
  std::vector<std::string> graded() const override { return {"resets"}; }
  void save(SafetensorsFile&, std::uint64_t) const override {}
};

std::shared_ptr<const LatticeGoal> load_rule(const SafetensorsFile& file) {
  const std::vector<std::uint8_t> next = file.octets("goal.rule");
  RuleTable rule{};
  if (next.size() != rule.size())
    fail("load model", fmt::format("a rule of {} entries", next.size()), "512, one for each neighbourhood");
  std::ranges::copy(next, rule.begin());
  return rule_goal(file.meta("goal.name"), rule);
}

}  // namespace

std::shared_ptr<const LatticeGoal> rule_goal(const std::string& name, const RuleTable& rule) {
  return std::make_shared<RuleGoal>(name, rule);
}
std::shared_ptr<const LatticeGoal> checkerboard_goal() { return std::make_shared<CheckerboardGoal>(); }

Board LatticeGoal::target(const RolloutOptions&, int, int) const {
  fail("target", "a model of " + name(), "one that has one board as its target, a checkerboard or a picture");
}

void check_size(const char* goal, const RolloutOptions& r, int height, int width) {
  if (height != r.height || width != r.width)
    fail(goal, fmt::format("a target of {} x {}", height, width),
         fmt::format("{} x {}, the size of the grid", r.height, r.width),
         "set the options \"height\" and \"width\" to the target's");
}

void check_channels(const char* goal, int channels, int needed, const char* whose) {
  if (channels < needed)
    fail(goal, counted(static_cast<std::uint64_t>(channels), "channel"),
         fmt::format("at least {}, those of {}", needed, whose));
}

std::shared_ptr<const LatticeGoal> LatticeGoal::load(const SafetensorsFile& file) {
  const std::string& kind = file.meta("goal");
  if (kind == "rule") return load_rule(file);
  if (kind == "checkerboard") return checkerboard_goal();
  if (kind == "picture") return load_picture(file);
  if (kind == "boards") return load_boards(file);
  fail("load model", fmt::format("a goal of kind \"{}\"", kind), "rule, checkerboard, picture or boards",
       "the file was made by a newer version");
}

}  // namespace espalier
