// The tasks that learn any rule and any pairs of boards: what they learn, what their models remember of it, and what
// they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/files.hpp"
#include "base/image.hpp"
#include "base/life_rule.hpp"
#include "base/npz.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "espalier/run.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using TrainingRun = Run;  // every googletest has a member Run
using Settings = std::initializer_list<std::pair<std::string, std::string>>;

// Every cell after one step of a rule on a board whose outside is dead, or that is closed to a ring.
std::vector<std::uint8_t> next_board(const RuleTable& rule, const std::vector<std::uint8_t>& board, int height,
                                     int width, bool periodic) {
  std::vector<std::uint8_t> after(board.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      unsigned patch = 0;
      for (int o = 0; o < 9; ++o) {
        int v = y + o / 3 - 1, u = x + o % 3 - 1;
        if (!periodic && (v < 0 || u < 0 || v >= height || u >= width)) continue;
        v = (v + height) % height;
        u = (u + width) % width;
        patch |= static_cast<unsigned>(board[static_cast<std::size_t>(v * width + u)]) << o;
      }
      after[static_cast<std::size_t>(y * width + x)] = rule[patch];
    }
  return after;
}

std::unique_ptr<LatticeModel> trained(const RunConfig& config, bool& solved) {
  ThreadPool pool;
  TrainingRun run = TrainingRun::create(config, {});
  solved = run.train(pool).best().solved;
  std::unique_ptr<Model> best = run.best_model();
  // Through a file: what it learned goes with the model.
  const SafetensorsFile file = SafetensorsFile::parse(model_file(*best).serialize(), "test");
  std::unique_ptr<Model> loaded = load_model(file, "test").model;
  EXPECT_EQ(loaded->facts(), best->facts());
  return std::unique_ptr<LatticeModel>(&dynamic_cast<LatticeModel&>(*loaded.release()));
}

void expect_follows(const LatticeModel& model, const RuleTable& rule, int height, int width) {
  std::vector<std::uint8_t> board(static_cast<std::size_t>(height) * width);
  const Random random(8, Purpose::kTrial);
  for (std::size_t i = 0; i < board.size(); ++i) board[i] = random.coin(i);
  BoardState start(model.channels(), height, width);
  for (std::size_t i = 0; i < board.size(); ++i) start.values[i] = board[i];
  SimulatorOptions options;
  options.periodic = model.periodic();
  const auto stepper = make_stepper(model, start, options, false);
  stepper->advance(1, ThreadPool(1));
  const BoardState state = stepper->state();
  board = next_board(rule, board, height, width, model.periodic());
  for (std::size_t i = 0; i < board.size(); ++i) ASSERT_EQ(state.values[i], board[i]) << i;
}

TEST(RuleTask, TheExamplesAreAllBoardsOfNineCells) {
  for (const char* name : {"B3/S23", "B36/S23", "B2/S"}) {
    const RuleTable rule = parse_life_rule(name);
    const auto objective =
        configure("rule", {{"rule", name}, {"channels", "2"}, {"update", "32,16,8,4,2"}}).make_objective();
    const LatticeData& data = dynamic_cast<const LatticeObjective&>(*objective).data();
    ASSERT_EQ(data.validation.boards(), 512u);
    std::set<std::vector<std::uint8_t>> seen;
    for (int n = 0; n < 512; ++n) {
      std::vector<std::uint8_t> board(9);
      for (int cell = 0; cell < 9; ++cell) {
        board[static_cast<std::size_t>(cell)] = data.validation.get(n, cell / 3, cell % 3, 0);
        EXPECT_FALSE(data.validation.get(n, cell / 3, cell % 3, 1)) << "a second channel begins dead";
      }
      const auto after = next_board(rule, board, 3, 3, true);
      for (int cell = 0; cell < 9; ++cell)
        EXPECT_EQ(data.validation_target.get(n, cell / 3, cell % 3, 0), after[static_cast<std::size_t>(cell)] != 0);
      seen.insert(board);
    }
    EXPECT_EQ(seen.size(), 512u);
  }
}

// Rules of a few gates, so that they are learned in no time.
TEST(RuleTask, ALifeLikeRuleIsLearnedAndRemembered) {
  const std::string inversion = "B012345678/S";
  bool solved = false;
  const auto model = trained(configure("rule", {{"rule", inversion}}), solved);
  ASSERT_TRUE(solved);
  EXPECT_EQ(model->goal().name(), inversion);
  EXPECT_EQ(model->goal().kind(), "rule");
  expect_follows(*model, parse_life_rule(inversion), 20, 33);
  const auto trials = run_trials(*model, {}, ThreadPool(1));
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_THAT(trials[1].description, HasSubstr("against " + inversion));
  EXPECT_TRUE(trials[0].exact && trials[1].exact);
  // The same circuit is no good as Life.
  LatticeModel other(model->automaton(), model->rollout(), rule_goal("B3/S23", parse_life_rule("B3/S23")),
                     model->parameters().values(), 1);
  EXPECT_FALSE(run_trials(other, {}, ThreadPool(1))[1].exact);
}

TEST(RuleTask, ATableOfAnyRuleIsLearnedAndRemembered) {
  const TempFolder folder;
  // The upper left neighbour's state, or the cell's own: no life-like rule, it has a direction.
  RuleTable rule{};
  for (std::size_t patch = 0; patch < rule.size(); ++patch) rule[patch] = (patch & 1) || (patch >> 4 & 1);
  const std::string file = folder / "shift.txt";
  write_atomically(file, std::string_view(format_rule_table(rule)));
  bool solved = false;
  const auto model = trained(configure("rule", {{"table", file}}), solved);
  ASSERT_TRUE(solved);
  EXPECT_EQ(model->goal().name(), file);
  expect_follows(*model, rule, 11, 70);
}

TEST(RuleTask, ATableOfALifeLikeRuleGetsItsName) {
  const TempFolder folder;
  const std::string file = folder / "highlife.txt";
  write_atomically(file, std::string_view(format_rule_table(parse_life_rule("B36/S23"))));
  RunConfig by_table = configure("rule", {{"table", file}, {"train-steps", "3"}}),
            by_name = configure("rule", {{"rule", "b36s23"}, {"train-steps", "3"}}),
            conway = configure("rule", {{"rule", "B3/S23"}, {"train-steps", "3"}}),
            life = configure("life", {{"train-steps", "3"}});
  ThreadPool pool(1);
  const auto result = [&](const RunConfig& config) {
    TrainingRun run = TrainingRun::create(config, {});
    const std::string hash = run.train(pool).best().model_hash;
    const auto model = run.best_model();
    return std::pair(dynamic_cast<const LatticeModel&>(*model).goal().name(), hash);
  };
  EXPECT_EQ(result(by_table).first, "B36/S23");
  EXPECT_EQ(result(by_name), result(by_table));
  EXPECT_EQ(result(conway), result(life)) << "life is the rule B3/S23 and nothing else";
  EXPECT_NE(result(conway).second, result(by_name).second);
}

std::string refused(const std::string& task, Settings settings) {
  return message_of<Error>([&] { configure(task, settings).make_objective(); });
}

TEST(RuleTask, RefusesWhatIsNoRule) {
  const TempFolder folder;
  write_atomically(folder / "short.txt", std::string_view("0101"));
  write_atomically(folder / "full.txt", std::string_view(format_rule_table(parse_life_rule("B3/S23"))));
  EXPECT_THAT(refused("rule", {}), HasSubstr("neither a rule nor a table"));
  EXPECT_THAT(refused("rule", {{"rule", "B3/S23"}, {"table", folder / "full.txt"}}), HasSubstr("both"));
  EXPECT_THAT(refused("rule", {{"rule", "B9/S23"}}), HasSubstr("B9/S23"));
  EXPECT_THAT(refused("rule", {{"rule", "life"}}), HasSubstr("life"));
  EXPECT_THAT(refused("rule", {{"table", folder / "short.txt"}}), HasSubstr("short.txt"));
  EXPECT_THAT(refused("rule", {{"table", folder / "none.txt"}}), HasSubstr("none.txt"));
  EXPECT_THAT(refused("rule", {{"rule", "B3/S23"}, {"height", "4"}}), HasSubstr("3 x 3"));
  EXPECT_THAT(refused("rule", {{"rule", "B3/S23"}, {"steps", "2"}}), HasSubstr("1 step"));
}

// Users of Python and C++ have no flags.
TEST(PictureTask, RefusesWhatContradictsItselfWithoutWordsOfTheCommandLine) {
  const TempFolder folder;
  write_atomically(folder / "target.txt", std::string_view("##.\n.##\n#..\n"));
  const std::string target = folder / "target.txt";
  const std::string both = refused("pattern", {{"target", target}, {"heal", "true"}, {"async", "true"}});
  EXPECT_THAT(both, HasSubstr("healing and asynchronous"));
  EXPECT_EQ(both.find("--"), std::string::npos) << both;
}

TEST(PictureTask, AnEmptyPictureIsLearnedLikeAnyOther) {
  const TempFolder folder;
  write_atomically(folder / "empty.txt", std::string_view("....\n....\n"));
  write_png(folder / "black.png", Image(4, 2));
  for (const char* name : {"empty.txt", "black.png"}) {
    bool solved = false;
    trained(configure("pattern", {{"target", folder / name},
                                  {"channels", "4"},
                                  {"kernels", "4"},
                                  {"perceive", "8,4,2"},
                                  {"update", "32x2,16,8,4"},
                                  {"steps", "4"}}),
            solved);
    EXPECT_TRUE(solved) << name;
  }
}

// --- Pairs of boards.

constexpr int kHeight = 6, kWidth = 7, kPairs = 40;

// Random boards and what a rule makes of them after so many steps.
std::string pairs_of(const TempFolder& folder, const RuleTable& rule, int steps, bool periodic) {
  const std::size_t cells = kHeight * kWidth;
  std::vector<std::uint8_t> start(kPairs * cells), target;
  const Random random(4, Purpose::kData);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = random.coin(i);
  for (std::size_t n = 0; n < kPairs; ++n) {
    std::vector<std::uint8_t> board(start.begin() + static_cast<std::ptrdiff_t>(n * cells),
                                    start.begin() + static_cast<std::ptrdiff_t>((n + 1) * cells));
    for (int t = 0; t < steps; ++t) board = next_board(rule, board, kHeight, kWidth, periodic);
    target.insert(target.end(), board.begin(), board.end());
  }
  const std::string file = folder / ("pairs-" + std::to_string(steps) + ".npz");
  write_npz(file, {{"start", numpy_array({kPairs, kHeight, kWidth}, start)},
                   {"target", numpy_array({kPairs, kHeight, kWidth}, target)}});
  return file;
}

TEST(BoardsTask, LearnsTheRuleBehindPairsAfterOneStepAndAfterTwo) {
  const TempFolder folder;
  // The upper neighbour or the cell itself.
  RuleTable rule{};
  for (std::size_t patch = 0; patch < rule.size(); ++patch) rule[patch] = (patch >> 1 & 1) || (patch >> 4 & 1);
  for (const int steps : {1, 2}) {
    RunConfig config = configure("boards", {{"data", pairs_of(folder, rule, steps, true)},
                                            {"steps", std::to_string(steps)},
                                            {"boundary", "periodic"},
                                            {"channels", "2"},
                                            {"kernels", "8"},
                                            {"perceive", "8,4,2,1"},
                                            {"update", "64x3,32,16,8,4,2"},
                                            {"train-steps", "1500"}});
    bool solved = false;
    std::unique_ptr<LatticeModel> model;
    // Boards two steps apart do not show every case of a circuit with hidden channels: there it is only exact.
    const auto right = [&] { return steps == 1 ? solved : model && run_trials(*model, {}, ThreadPool(1))[0].exact; };
    for (config.seed = 1; config.seed <= 4 && !right(); ++config.seed) model = trained(config, solved);
    ASSERT_TRUE(right()) << steps;
    EXPECT_EQ(model->goal().kind(), "boards");
    EXPECT_EQ(model->goal().name(), "40 pairs of 6 x 7");
    EXPECT_EQ(model->rollout().height, kHeight);
    EXPECT_EQ(model->rollout().width, kWidth);
    const auto trials = run_trials(*model, {}, ThreadPool(1));
    ASSERT_EQ(trials.size(), 1u);
    EXPECT_TRUE(trials[0].exact);
    EXPECT_THAT(trials[0].description, HasSubstr("8 boards that neither fitting nor choosing has seen; 6 x 7"))
        << "a fifth";
    if (steps == 1) expect_follows(*model, rule, kHeight, kWidth);
  }
}

TEST(BoardsTask, ChannelsBeyondThoseGivenBeginDead) {
  const TempFolder folder;
  std::vector<std::uint8_t> start(4 * 3 * 3 * 2, 1), target(4 * 3 * 3 * 3, 0);
  write_npz(folder / "pairs.npz",
            {{"start", numpy_array({4, 3, 3, 2}, start)}, {"target", numpy_array({4, 3, 3, 3}, target)}});
  const RunConfig config = configure("boards", {{"data", folder / "pairs.npz"}, {"train-steps", "2"}});
  bool solved = false;
  const auto model = trained(config, solved);
  EXPECT_EQ(model->goal().loss_channels(), 3);
  const BoardState board = model->start(3, 3, 1);
  EXPECT_EQ(board.at(0, 1, 1), 1.0f);
  EXPECT_EQ(board.at(1, 1, 1), 1.0f);
  for (int c = 2; c < model->channels(); ++c) EXPECT_EQ(board.at(c, 1, 1), 0.0f) << c;
  const BoardState large = model->start(5, 5, 1);
  EXPECT_EQ(large.at(0, 0, 0), 0.0f);
  EXPECT_EQ(large.at(0, 2, 2), 1.0f);
}

TEST(BoardsTask, RefusesWhatAreNoPairs) {
  const TempFolder folder;
  const std::vector<std::uint8_t> ones(4 * 3 * 3, 1), twos(4 * 3 * 3, 2), few(3 * 3 * 3, 1);
  const NumpyArray good = numpy_array({4, 3, 3}, ones);
  const auto with = [&](const std::map<std::string, NumpyArray>& arrays, Settings more = {}) {
    write_npz(folder / "pairs.npz", arrays);
    RunConfig config = configure("boards", {{"data", folder / "pairs.npz"}});
    for (const auto& [name, value] : more) config.set(name, value);
    return message_of<Error>([&] { config.make_objective(); });
  };
  EXPECT_THAT(refused("boards", {}), HasSubstr("no data"));
  EXPECT_THAT(refused("boards", {{"data", folder / "none.npz"}}), HasSubstr("none.npz"));
  EXPECT_THAT(with({{"start", good}}), HasSubstr("target"));
  EXPECT_THAT(with({{"start", good}, {"target", numpy_array({4, 3, 3}, twos)}}),
              AllOf(HasSubstr("2 in \"target\""), HasSubstr("numpy.eye")));
  const std::vector<std::int64_t> many(36, 309);
  const std::vector<float> halves(36, 0.5f);
  EXPECT_THAT(with({{"start", good}, {"target", numpy_array({4, 3, 3}, many)}}),
              AllOf(HasSubstr("309 in \"target\""), HasSubstr("only 0 and 1"), HasSubstr("threshold")));
  EXPECT_THAT(with({{"start", numpy_array({4, 3, 3}, halves)}, {"target", good}}),
              AllOf(HasSubstr("0.5 in \"start\""), HasSubstr("only 0 and 1"), HasSubstr("threshold")));
  EXPECT_THAT(with({{"start", numpy_array({6, 6}, ones)}, {"target", good}}), HasSubstr("boards[None]"));
  EXPECT_THAT(with({{"start", good}, {"target", numpy_array({3, 3, 3}, few)}}),
              HasSubstr("4 starts of 3 x 3 and 3 targets"));
  EXPECT_THAT(with({{"start", numpy_array({36}, ones)}, {"target", good}}), HasSubstr("1 dimension "));
  EXPECT_THAT(with({{"start", good}, {"target", good}}, {{"height", "4"}}), HasSubstr("4 x 3"));
  EXPECT_THAT(with({{"start", numpy_array({2, 3, 3, 2}, ones)}, {"target", numpy_array({2, 3, 3, 2}, ones)}},
                   {{"channels", "1"}, {"update", "16,8,4,2,1"}}),
              HasSubstr("at least 2"));
}

TEST(BoardsTask, OnePairAloneIsFittedAndNeverCalledSolved) {
  const TempFolder folder;
  const std::vector<std::uint8_t> ones(9, 1);
  write_npz(folder / "pair.npz", {{"start", numpy_array({1, 3, 3}, ones)}, {"target", numpy_array({1, 3, 3}, ones)}});
  bool solved = false;
  const auto model = trained(configure("boards", {{"data", folder / "pair.npz"}}), solved);
  EXPECT_FALSE(solved);
  EXPECT_TRUE(run_trials(*model, {}, ThreadPool(1))[0].exact);
  EXPECT_EQ(model->goal().name(), "1 pair of 3 x 3");
}

}  // namespace
}  // namespace espalier
