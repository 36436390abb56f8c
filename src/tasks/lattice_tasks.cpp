// The lattice tasks: presets over one set of options, each with the goal it trains for.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "models/lattice/board_pairs.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "tasks/registry.hpp"

namespace espalier {
namespace {

// The published targets, so that the program needs no file beside it; data/targets holds the same.
constexpr const char* kLizard = R"(....................
....###.............
....###.............
...#####..#.........
...#####.###........
...#####.##.........
....#######....#....
.....######...###...
....#.##########....
...###########......
...###########......
........######......
.........######.....
........#######.....
.......####.###.....
........##..###.....
.............##.##..
.............###.#..
..............####..
....................
)";
constexpr const char* kLetter = R"(................
.....rrrrrr.....
...rrrrrrrrrr...
..rrrrrrrrrr....
..rrr...........
.yyr............
.yyy............
.yyy....bbbbbbb.
.yyy....bbbbbbb.
.yyy.......bbbb.
.yyg........bbb.
..ggg......bbb..
...ggg....gbbb..
....gggggggg....
......gggg......
................
)";

// Options shared by all lattice tasks; what differs is where the goal comes from.
class LatticeTaskOptions : public TaskOptions {
 public:
  Fields fields() override {
    Fields f = fields_of(lattice);
    AutomatonOptions shape;
    const Fields of_shape = fields_of(shape);
    for (const Field& field : of_shape.list())
      f.at(field.name()).when_named([this, name = field.name()] { named_.insert(name); });
    f.add("from", from_,
          "begin with the gates and the shape of this model; a circuit found by search, or built, becomes soft gates "
          "again")
        .metavar("MODEL");
    return f;
  }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    if (from_.empty()) return std::make_unique<LatticeObjective>(prepared(), goal(), seed);
    const LoadedModel loaded = load_model(from_);
    const auto* model = dynamic_cast<const LatticeModel*>(loaded.model.get());
    if (!model) fail("from", fmt::format("{}, a {}", from_, loaded.model->kind()), "a logic automaton");
    const AutomatonOptions own = prepared().automaton, of_model = model->automaton().options();
    if (const std::string why = boundary_reason(); !why.empty() && own.boundary != of_model.boundary) {
      const auto boundary = [](AutomatonOptions shape) { return fields_of(shape).at("boundary").text(); };
      fail("from", fmt::format("{}, a model with the boundary {}", from_, boundary(of_model)),
           fmt::format("one with the boundary {}, {}", boundary(own), why), "train it with that boundary first");
    }
    auto made = std::make_unique<LatticeObjective>(prepared(), goal(), seed, model, provenance_of(loaded.notes));
    // What a search made of the model may be wider as soft gates than what was trained: either is its shape.
    check_named("from", {of_model, made->options().automaton}, fmt::format("as in {}", from_));
    return made;
  }
  void follow(const Objective& made) override {
    const LatticeOptions& options = dynamic_cast<const LatticeObjective&>(made).options();
    lattice.automaton = options.automaton;
    lattice.rollout.steps = options.rollout.steps;
  }
  std::vector<std::string> input_files() const final {
    std::vector<std::string> files;
    if (!data_file().empty()) files.push_back(data_file());
    if (!from_.empty()) files.push_back(file_in(from_, "model.safetensors"));
    return files;
  }
  virtual std::string data_file() const { return ""; }
  virtual std::shared_ptr<const LatticeGoal> goal() const = 0;
  // With what follows from the options of the task.
  virtual LatticeOptions prepared() const { return lattice; }
  // Why these options fix the boundary; empty where they leave it to the user, and to a model to begin with.
  virtual std::string boundary_reason() const { return ""; }

  LatticeOptions lattice;

 protected:
  // A shape that is decided otherwise: what was named must be the same, or that of one of several.
  void check_named(const char* who, std::vector<AutomatonOptions> decided, const std::string& why) const {
    for (const std::string& name : named_) {
      const auto value = [&](AutomatonOptions shape) { return fields_of(shape).at(name).text(); };
      const std::string chosen = value(lattice.automaton);
      if (std::ranges::none_of(decided, [&](const AutomatonOptions& shape) { return value(shape) == chosen; }))
        fail(who, fmt::format("{} {}", name, chosen), fmt::format("{} {}, {}", name, value(decided.front()), why));
    }
  }

 private:
  std::string from_;
  std::set<std::string> named_;  // fields of the automaton that somebody chose
};

class LifeOptions : public LatticeTaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<LifeOptions>(*this); }
  std::shared_ptr<const LatticeGoal> goal() const override { return rule_goal("B3/S23", parse_life_rule("B3/S23")); }
};

class RuleOptions : public LatticeTaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<RuleOptions>(*this); }
  Fields fields() override {
    Fields f = LatticeTaskOptions::fields();
    f.add("rule", rule_, "a life-like rule, such as B36/S23 (HighLife); this or a table is needed").metavar("RULE");
    f.add("table", table_, "a file with the 512 next states of a cell instead; docs/file-formats.md has the order")
        .metavar("FILE");
    return f;
  }
  std::string data_file() const override { return table_; }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (rule_.empty() == table_.empty())
      fail("rule", rule_.empty() ? "neither a rule nor a table" : "both a rule and a table",
           "one of the options \"rule\" and \"table\"");
    const RuleTable rule = table_.empty() ? parse_life_rule(rule_) : read_rule_table(table_);
    return rule_goal(format_life_rule(rule).value_or(table_), rule);
  }

 private:
  std::string rule_, table_;
};

class CheckerboardOptions : public LatticeTaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<CheckerboardOptions>(*this); }
  std::shared_ptr<const LatticeGoal> goal() const override { return checkerboard_goal(); }
};

class PictureOptions : public LatticeTaskOptions {
 public:
  PictureOptions(const char* built_in, int row, int column)
      : built_in_(built_in), seed_row_(row), seed_column_(column) {}
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<PictureOptions>(*this); }
  Fields fields() override {
    Fields f = LatticeTaskOptions::fields();
    if (!built_in_) f.add("target", target_, "the target: an ASCII pattern or a PNG").metavar("FILE");
    f.add("seed-row", seed_row_, "row of the one living cell at the start; -1 = none", -1, 1e5);
    f.add("seed-column", seed_column_, "its column", -1, 1e5);
    f.add("pool", lattice.pool.boards,
          "boards that training keeps from step to step; 0 = none: each step begins with the task's start. The best "
          "model is the first one that is right after the trained steps",
          0, 1e7);
    f.add("pool-damage", lattice.pool.damaged,
          "boards of a mini-batch from the pool, those with the fewest wrong bits, that get a damaged square", 0, 1e6);
    f.add("persist", persist_, "the picture stays: a step counter is built around the cell that grows it");
    f.add("heal", heal_, "the picture stays, and comes back whatever is done to its cells; the boundary is zero");
    f.add("async", async_,
          "the picture grows and stays while cells update at random times; on a periodic board, from a cell in the "
          "middle");
    return f;
  }
  std::string data_file() const override { return target_; }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (!built_in_ && target_.empty())
      fail("pattern", "no target", "a PNG or an ASCII pattern in the option \"target\"", "data/targets has examples");
    const Pattern pattern = built_in_ ? parse_pattern(built_in_, "target") : read_pattern(target_);
    if (heal_ && async_)
      fail("pattern", "healing and asynchronous updates at once", "one of the options \"heal\" and \"async\"");
    const Wrapper wrapper = async_     ? Wrapper::kAsync
                            : heal_    ? Wrapper::kHeal
                            : persist_ ? Wrapper::kPersist
                                       : Wrapper::kNone;
    const bool in_the_middle = async_ && seed_row_ < 0 && seed_column_ < 0;
    return picture_goal(pattern, in_the_middle ? pattern.height / 2 : seed_row_,
                        in_the_middle ? pattern.width / 2 : seed_column_, wrapper, lattice.pool.boards > 0);
  }
  LatticeOptions prepared() const override {
    LatticeOptions options = lattice;
    if (heal_) options.automaton.boundary = Boundary::kZero;
    if (async_) options.automaton.boundary = Boundary::kPeriodic;
    check_named("pattern", {options.automaton}, boundary_reason());
    return options;
  }
  std::string boundary_reason() const override {
    return heal_ ? "where a picture heals" : async_ ? "where cells update at random times" : "";
  }

 private:
  const char* built_in_;  // null: the target is a file
  std::string target_;
  int seed_row_, seed_column_;
  bool persist_ = false, heal_ = false, async_ = false;
};

class BoardsOptions : public LatticeTaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<BoardsOptions>(*this); }
  Fields fields() override {
    Fields f = LatticeTaskOptions::fields();
    f.add("data", data_,
          "pairs of boards in a NumPy .npz: start and target, [N, H, W] or [N, H, W, C] of 0 and 1; if their "
          "opposite edges touch, set the boundary to periodic")
        .metavar("FILE");
    f.add("validation-fraction", fractions_.validation, "fraction of the pairs by which the best circuit is chosen", 0,
          0.9);
    f.add(
        "test-fraction", fractions_.test,
        "fraction of the pairs that neither fitting nor choosing sees: they judge the result; 0 = none, and nothing is "
        "called solved",
        0, 0.9);
    return f;
  }
  std::string data_file() const override { return data_; }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (data_.empty())
      fail("boards", "no data", "an .npz file with the arrays start and target in the option \"data\"");
    return boards_goal(read_board_pairs(data_), fractions_);
  }

 private:
  std::string data_;
  BoardFractions fractions_;
};

struct Preset {
  std::string name = {}, summary = {};
  LatticeOptions lattice = {};
  // Our recipe; see docs/experiments.md for what each part did.
  double lr = 0.05;
  std::uint64_t train_steps = 500, eval_every = 5, budget = 0;
  std::uint64_t published_steps = 0;  // 0: of no publication
};

template <class Options>
Task make_task(const Preset& p, Options options) {
  options.lattice = p.lattice;
  Task task{p.name, p.summary, {}, 1, std::make_shared<Options>(std::move(options))};
  task.budget = p.budget;
  if (p.published_steps)
    task.published = {{"train-steps", std::to_string(p.published_steps)},
                      {"budget", "0"},
                      {"seeds", "1"},
                      {"by", "gradients"},
                      {"refine", "0"},
                      {"trials", "false"},
                      {"until-solved", "false"},
                      {"start-logit", "10"},
                      {"gumbel-final", "0"},
                      {"temperature-final", "1"},
                      {"straight-from", "1"}};
  if (p.published_steps && p.lattice.rollout.steps == 0) task.published.emplace_back("steps", "15");
  task.train.steps = p.train_steps;
  task.train.eval_every = p.eval_every;
  task.train.until_solved = true;
  task.train.schedule.lr = p.lr;
  task.train.optimizer.beta2 = 0.99f;
  task.train.optimizer.weight_decay = 0.01f;
  task.train.optimizer.clip_value = 100.0f;
  return task;
}

Preset rule_preset(const char* name, const char* summary) {
  return {.name = name,
          .summary = summary,
          .lattice = {.automaton = {.channels = 1,
                                    .perceive = {8, 4, 2, 1},
                                    .update = parse_layers("128x17,64,32,16,8,4,2,1"),
                                    .boundary = Boundary::kPeriodic},
                      .rollout = {.batch = 20, .height = 3, .width = 3, .steps = 1},
                      .recipe = {.start_logit = 6, .gumbel_final = 1.5}},
          .train_steps = 3000,
          .budget = 50'000,
          .published_steps = 3000};
}

Preset picture_preset(const char* name, const char* summary, int side) {
  return {.name = name,
          .summary = summary,
          .lattice = {.automaton = {.channels = 64, .kernels = 4, .update = parse_layers("512x8,256,128,64")},
                      .rollout = {.batch = 1,
                                  .height = side,
                                  .width = side,
                                  .steps = side ? 15 : 0},  // 0: those of the target
                      .recipe = {.temperature_final = 0.4, .gumbel_final = 1, .straight_from = 0.85},
                      .refine_every = 500},
          .lr = 0.06,
          .train_steps = 4000,
          .budget = 30'000,
          .published_steps = 3000};
}

}  // namespace

void add_lattice_tasks(std::vector<Task>& tasks) {
  tasks.push_back(
      make_task(rule_preset("life", "learn Conway's Game of Life from examples of single steps"), LifeOptions()));
  tasks.push_back(
      make_task(rule_preset("rule", "learn any rule over a cell and its eight neighbours: a life-like one or a table"),
                RuleOptions()));
  tasks.push_back(make_task({.name = "checkerboard",
                             .summary = "grow a checkerboard of 2 x 2 squares out of noise",
                             .lattice = {.automaton = {},
                                         .rollout = {.batch = 2},
                                         .recipe = {},
                                         .refine = 500'000,
                                         .improve = 400'000,
                                         .refine_every = 50},
                             .eval_every = 2,
                             .budget = 30'000,
                             .published_steps = 500},
                            CheckerboardOptions()));
  tasks.push_back(
      make_task({.name = "checkerboard-small",
                 .summary = "the checkerboard with a few hundred gates, for quick experiments",
                 .lattice = {.automaton = {.channels = 4, .kernels = 4, .update = parse_layers("32x4,16,8,4")},
                             .rollout = {.batch = 4, .height = 8, .width = 8, .steps = 10},
                             .recipe = {.start_logit = 5},
                             .refine = 0,
                             .trials = false},
                 .train_steps = 1500},
                CheckerboardOptions()));
  tasks.push_back(
      make_task({.name = "checkerboard-async",
                 .summary = "the checkerboard while cells update at random times",
                 .lattice = {.automaton = {.update = parse_layers("256x14,128,64,32,16,8,8")},
                             .rollout = {.batch = 1, .height = 14, .width = 14, .steps = 50, .fire_rate = 0.6f},
                             .recipe = {.start_logit = 5},
                             .refine = 500'000,
                             .refine_every = 100,
                             .trials = false},
                 .train_steps = 800,
                 .budget = 30'000,
                 .published_steps = 800},
                CheckerboardOptions()));
  Preset lizard = picture_preset("lizard", "grow the outline of a lizard from one cell", 20);
  lizard.lattice.automaton = {.channels = 128,
                              .kernels = 4,
                              .perceive = {8, 4, 2, 1},
                              .update = parse_layers("512x8,256,128"),
                              .boundary = Boundary::kPeriodic};
  lizard.lattice.rollout.steps = 12;
  lizard.published_steps = 3500;
  tasks.push_back(make_task(lizard, PictureOptions(kLizard, 10, 10)));
  Preset letter = picture_preset("letter", "grow a letter G in four colours out of nothing", 16);
  letter.lattice.recipe = {.gumbel_final = 1.5};
  tasks.push_back(make_task(letter, PictureOptions(kLetter, -1, -1)));
  tasks.push_back(make_task(picture_preset("pattern", "grow any picture: an ASCII file or a PNG", 0),
                            PictureOptions(nullptr, -1, -1)));
  tasks.push_back(make_task({.name = "boards",
                             .summary = "learn from pairs of boards: starts, and what they become some steps later",
                             .lattice = {.automaton = {.update = parse_layers("256x8,128,64,32,16,8")},
                                         .rollout = {.batch = 8, .height = 0, .width = 0, .steps = 1},
                                         .recipe = {.start_logit = 6, .gumbel_final = 1.5}},
                             .train_steps = 4000},
                            BoardsOptions()));
}

}  // namespace espalier
