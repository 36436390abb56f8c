// The lattice tasks: presets over one set of options, each with the goal it trains for.
#include "tasks/lattice_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/npz.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "models/lattice/lattice_objective.hpp"

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
    f.add("from", from_,
          "begin with this model instead of wires; the circuit of a refined one becomes soft gates again")
        .metavar("MODEL");
    return f;
  }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    if (from_.empty()) return std::make_unique<LatticeObjective>(lattice, goal(), seed);
    const LoadedModel loaded = load_model(from_);
    const auto* model = dynamic_cast<const LatticeModel*>(loaded.model.get());
    if (!model) fail("from", fmt::format("{}, a {}", from_, loaded.model->kind()), "a logic automaton");
    return std::make_unique<LatticeObjective>(lattice, goal(), seed, model);
  }
  std::vector<std::string> input_files() const final {
    std::vector<std::string> files = data_files();
    if (!from_.empty()) files.push_back(std::filesystem::is_directory(from_) ? from_ + "/model.safetensors" : from_);
    return files;
  }
  virtual std::vector<std::string> data_files() const { return {}; }
  virtual std::shared_ptr<const LatticeGoal> goal() const = 0;

  LatticeOptions lattice;

 private:
  std::string from_;
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
    f.add("rule", rule_, "a life-like rule, such as B36/S23 (HighLife)").metavar("RULE");
    f.add("table", table_, "a file with the 512 next states of a cell instead; docs/file-formats.md has the order")
        .metavar("FILE");
    return f;
  }
  std::vector<std::string> data_files() const override {
    return table_.empty() ? std::vector<std::string>() : std::vector<std::string>{table_};
  }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (rule_.empty() == table_.empty())
      fail("rule", rule_.empty() ? "neither a rule nor a table" : "both a rule and a table", "one of them");
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
    f.add("persist", persist_,
          "the picture stays: a counter of steps is built around the cell that has learned to grow it");
    f.add("heal", heal_, "it stays, and grows again when cells are set to 0");
    f.add("async", async_, "it grows and stays while cells update at random times; needs a periodic board and a seed");
    return f;
  }
  std::vector<std::string> data_files() const override {
    return built_in_ || target_.empty() ? std::vector<std::string>() : std::vector<std::string>{target_};
  }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (!built_in_ && target_.empty())
      fail("pattern", "no target", "a PNG or an ASCII pattern as target", "data/targets has examples");
    const Pattern pattern = built_in_ ? parse_pattern(built_in_, "target") : read_pattern(target_);
    if (heal_ && async_) fail("pattern", "both --heal and --async", "one of them");
    if (async_ && lattice.automaton.boundary != Boundary::kPeriodic)
      fail("pattern", "--async with a boundary of zeros", "a periodic board", "add --boundary periodic");
    const Keep keep = async_ ? Keep::kAsync : heal_ ? Keep::kHeal : persist_ ? Keep::kPersist : Keep::kNothing;
    return picture_goal(pattern, seed_row_, seed_column_, keep);
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
    f.add("data", data_, "pairs of boards in a NumPy .npz: start and target, [N, H, W] or [N, H, W, C] of 0 and 1")
        .metavar("FILE");
    f.add("validation-fraction", validation_fraction_, "of the pairs, those that choose the best weights", 0, 0.9);
    return f;
  }
  std::vector<std::string> data_files() const override {
    return data_.empty() ? std::vector<std::string>() : std::vector<std::string>{data_};
  }
  std::shared_ptr<const LatticeGoal> goal() const override {
    if (data_.empty()) fail("boards", "no data", "an .npz file with the arrays start and target");
    const NpzFile file = read_npz(data_);
    const NumpyArray start = array(file, "start"), target = array(file, "target");
    if (!std::equal(start.shape.begin(), start.shape.begin() + 3, target.shape.begin()))
      fail("boards", fmt::format("starts and targets of other sizes in {}", data_),
           "the same number, height and width");
    BoardPairs pairs;
    pairs.name = fmt::format("{} pairs of {} x {}", start.shape[0], start.shape[1], start.shape[2]);
    pairs.count = static_cast<int>(start.shape[0]);
    pairs.height = static_cast<int>(start.shape[1]);
    pairs.width = static_cast<int>(start.shape[2]);
    pairs.start_channels = start.shape.size() == 4 ? static_cast<int>(start.shape[3]) : 1;
    pairs.target_channels = target.shape.size() == 4 ? static_cast<int>(target.shape[3]) : 1;
    pairs.start = bits(start, "start");
    pairs.target = bits(target, "target");
    return boards_goal(std::move(pairs), validation_fraction_);
  }

 private:
  NumpyArray array(const NpzFile& file, const std::string& name) const {
    NumpyArray array = file.array(name);
    constexpr std::size_t kMax = 1'000'000;
    if ((array.shape.size() != 3 && array.shape.size() != 4) ||
        !std::ranges::all_of(array.shape, [](std::size_t n) { return n > 0 && n <= kMax; }))
      fail("boards", fmt::format("\"{}\" of {} dimensions in {}", name, array.shape.size(), data_),
           "[N, H, W] or [N, H, W, C], none of them 0");
    return array;
  }
  std::vector<std::uint8_t> bits(const NumpyArray& array, const char* name) const {
    std::vector<std::uint8_t> bits = array.octets(fmt::format("{} of {}", name, data_));
    for (const std::uint8_t bit : bits)
      if (bit > 1) fail("boards", fmt::format("{} in \"{}\" of {}", bit, name, data_), "0 and 1 alone");
    return bits;
  }

  std::string data_;
  double validation_fraction_ = 0.2;
};

struct Preset {
  std::string name = {}, summary = {};
  int channels = 8, height = 0, width = 0, steps = 20, batch = 1;
  int kernels = 16;
  std::string perceive = "8,4,2", update = {};
  Boundary boundary = Boundary::kZero;
  float fire_rate = 1;
  double lr = 0.05;
  // Our recipe; see docs/experiments.md for what each part did.
  std::uint64_t train_steps = 500, eval_every = 5, seeds = 1;
  LatticeRecipe recipe = {};
  std::uint64_t refine = 1'000'000, refine_every = 0, budget = 0;
  bool trials = true;
  std::uint64_t published_steps = 0;  // 0: of no publication
};

template <class Options>
Task make_task(const Preset& p, Options options) {
  AutomatonOptions& automaton = options.lattice.automaton;
  automaton.channels = p.channels;
  automaton.kernels = p.kernels;
  automaton.boundary = p.boundary;
  Fields layers = fields_of(automaton);
  layers.at("perceive").set_text(p.perceive);
  layers.at("update").set_text(p.update);
  options.lattice.rollout = {p.batch, p.height, p.width, p.steps, p.fire_rate};
  options.lattice.recipe = p.recipe;
  options.lattice.refine = p.refine;
  options.lattice.refine_every = p.refine_every;
  options.lattice.trials = p.trials;
  Task task{p.name, p.summary, {}, p.seeds, std::make_shared<Options>(std::move(options))};
  task.budget = p.budget;
  if (p.published_steps)
    task.published = {{"train-steps", std::to_string(p.published_steps)},
                      {"budget", "0"},
                      {"seeds", "1"},
                      {"refine", "0"},
                      {"trials", "false"},
                      {"until-solved", "false"},
                      {"start-logit", "10"},
                      {"gumbel-final", "0"},
                      {"temperature-final", "1"},
                      {"straight-from", "1"}};
  task.train.steps = p.train_steps;
  task.train.eval_every = p.eval_every;
  task.train.until_solved = true;
  task.train.schedule.lr = p.lr;
  task.train.optimizer.beta2 = 0.99f;
  task.train.optimizer.weight_decay = 0.01f;
  task.train.optimizer.clip_value = 100.0f;
  return task;
}

const Preset kRulePreset{.channels = 1,
                         .height = 3,
                         .width = 3,
                         .steps = 1,
                         .batch = 20,
                         .perceive = "8,4,2,1",
                         .update = "128x17,64,32,16,8,4,2,1",
                         .boundary = Boundary::kPeriodic,
                         .train_steps = 3000,
                         .recipe = {.start_logit = 6, .gumbel_final = 1.5},
                         .budget = 50'000,
                         .published_steps = 3000};

const Preset kPicturePreset{.channels = 64,
                            .steps = 15,
                            .kernels = 4,
                            .update = "512x8,256,128,64",
                            .lr = 0.06,
                            .train_steps = 4000,
                            .recipe = {.temperature_final = 0.4, .gumbel_final = 1, .straight_from = 0.85},
                            .refine_every = 500,
                            .budget = 30'000,
                            .published_steps = 3000};

Preset named(Preset preset, std::string name, std::string summary) {
  preset.name = std::move(name);
  preset.summary = std::move(summary);
  return preset;
}

}  // namespace

void add_lattice_tasks(std::vector<Task>& tasks) {
  tasks.push_back(make_task(named(kRulePreset, "life", "learn Conway's Game of Life from examples of single steps"),
                            LifeOptions()));
  tasks.push_back(make_task(
      named(kRulePreset, "rule", "learn any rule over a cell and its eight neighbours: a life-like one or a table"),
      RuleOptions()));
  tasks.push_back(make_task({.name = "checkerboard",
                             .summary = "grow a checkerboard of 2 x 2 squares out of noise",
                             .height = 16,
                             .width = 16,
                             .batch = 2,
                             .update = "256x10,128,64,32,16,8,8",
                             .eval_every = 2,
                             .refine = 500'000,
                             .refine_every = 50,
                             .budget = 30'000,
                             .published_steps = 500},
                            CheckerboardOptions()));
  tasks.push_back(make_task({.name = "checkerboard-small",
                             .summary = "the same with a few hundred gates, for quick tries",
                             .channels = 4,
                             .height = 8,
                             .width = 8,
                             .steps = 10,
                             .batch = 4,
                             .kernels = 4,
                             .update = "32x4,16,8,4",
                             .train_steps = 1500,
                             .recipe = {.start_logit = 5},
                             .refine = 0,
                             .trials = false},
                            CheckerboardOptions()));
  tasks.push_back(make_task({.name = "checkerboard-async",
                             .summary = "the same while cells update at random times",
                             .height = 14,
                             .width = 14,
                             .steps = 50,
                             .update = "256x14,128,64,32,16,8,8",
                             .fire_rate = 0.6f,
                             .train_steps = 800,
                             .recipe = {.start_logit = 5},
                             .refine = 500'000,
                             .refine_every = 100,
                             .budget = 30'000,
                             .trials = false,
                             .published_steps = 800},
                            CheckerboardOptions()));
  Preset lizard = named(kPicturePreset, "lizard", "grow the outline of a lizard from one cell");
  lizard.channels = 128;
  lizard.height = lizard.width = 20;
  lizard.steps = 12;
  lizard.perceive = "8,4,2,1";
  lizard.update = "512x8,256,128";
  lizard.boundary = Boundary::kPeriodic;
  lizard.published_steps = 3500;
  tasks.push_back(make_task(lizard, PictureOptions(kLizard, 10, 10)));
  Preset letter = named(kPicturePreset, "letter", "grow a letter G in four colours out of nothing");
  letter.height = letter.width = 16;
  letter.recipe = {.gumbel_final = 1.5};
  tasks.push_back(make_task(letter, PictureOptions(kLetter, -1, -1)));
  tasks.push_back(make_task(named(kPicturePreset, "pattern", "grow any picture: an ASCII file or a PNG"),
                            PictureOptions(nullptr, -1, -1)));
  Preset boards =
      named(kPicturePreset, "boards", "learn from pairs of boards: starts, and what they are some steps later");
  boards.channels = 8;
  boards.steps = 1;
  boards.batch = 8;
  boards.kernels = 16;
  boards.update = "256x8,128,64,32,16,8";
  boards.lr = 0.05;
  boards.refine_every = 0;
  boards.budget = 0;
  boards.published_steps = 0;
  boards.recipe = {.start_logit = 6, .gumbel_final = 1.5};
  tasks.push_back(make_task(boards, BoardsOptions()));
}

}  // namespace espalier
