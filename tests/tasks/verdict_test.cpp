// What is called solved is so on data that neither fitting nor choosing has seen.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/files.hpp"
#include "base/npz.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/run.hpp"
#include "models/lattice/board_pairs.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "models/lattice/lattice_verdict.hpp"
#include "models/lattice/trials.hpp"
#include "netlist/cell.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using TrainingRun = Run;  // testing::Test has another Run
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr int kSide = 8;

// `count` pairs of boards of random bits, each followed by what `next` makes of it.
template <class Next>
BoardPairs pairs_of(int count, std::uint64_t seed, Next next) {
  BoardPairs pairs{"pairs", count, kSide, kSide, 1, 1, {}, {}};
  const Random random(seed, Purpose::kData);
  constexpr std::size_t kCells = kSide * kSide;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) * kCells; ++i) pairs.start.push_back(random.coin(i));
  for (int n = 0; n < count; ++n)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x)
        pairs.target.push_back(next(n, y, x, [&, n](int v, int u) {
          const int row = (v + kSide) % kSide, column = (u + kSide) % kSide;
          return pairs.start[(static_cast<std::size_t>(n) * kSide + row) * kSide + column] != 0;
        }));
  return pairs;
}

BoardPairs random_targets(int count, std::uint64_t seed) {
  const Random random(seed, Purpose::kTrial);
  return pairs_of(count, seed, [&](int n, int y, int x, auto) {
    return random.coin((static_cast<std::uint64_t>(n) * kSide + y) * kSide + x);
  });
}

std::string saved(const TempFolder& folder, const std::string& name, const BoardPairs& pairs) {
  const auto count = static_cast<std::size_t>(pairs.count);
  write_npz(folder / name, {{"start", numpy_array({count, kSide, kSide}, pairs.start)},
                            {"target", numpy_array({count, kSide, kSide}, pairs.target)}});
  return folder / name;
}

SeedReport trained(const RunConfig& config) {
  ThreadPool pool(1);
  return Run::create(config, {}).train(pool).best();
}

RunConfig boards_config(const std::string& file, const Settings& more = {}) {
  RunConfig config = configure("boards", {{"data", file},
                                          {"boundary", "periodic"},
                                          {"steps", "1"},
                                          {"channels", "2"},
                                          {"kernels", "4"},
                                          {"perceive", "8,4,2,1"},
                                          {"update", "32,16,8,4,2"},
                                          {"train-steps", "30"},
                                          {"refine", "3000"},
                                          {"budget", "0"}});
  for (const auto& [name, value] : more) config.set(name, value);
  return config;
}

TEST(Verdicts, RandomTargetsAreNeverCalledSolved) {
  const TempFolder folder;
  for (std::uint64_t seed = 1; seed <= 17; ++seed)
    for (const int boards : {4, 12, 40}) {
      const std::string file = saved(folder, "random.npz", random_targets(boards, seed));
      RunConfig config = boards_config(file, {{"by", seed % 2 ? "any" : "training"}});
      config.seed = seed;
      const SeedReport report = trained(config);
      EXPECT_FALSE(report.solved) << seed << " " << boards << " " << report.verdict.text;
      EXPECT_FALSE(report.verdict.explained) << seed << " " << boards << " " << report.verdict.text;
    }
}

TEST(Verdicts, ARuleBehindBoardsIsIdentifiedAndSolvedOnlyWhereEveryCaseOccurred) {
  const TempFolder folder;
  const auto life = [](int, int y, int x, auto alive) {
    int count = 0;
    for (int v = -1; v <= 1; ++v)
      for (int u = -1; u <= 1; ++u) count += (v || u) && alive(y + v, x + u);
    return count == 3 || (count == 2 && alive(y, x));
  };
  const SeedReport many = trained(boards_config(saved(folder, "many.npz", pairs_of(200, 1, life))));
  EXPECT_TRUE(many.solved) << many.verdict.text;
  EXPECT_EQ(word_for(many.provenance), "identified");
  EXPECT_EQ(many.steps, 0u);
  EXPECT_THAT(many.verdict.data, HasSubstr("neither fitting nor choosing has seen"));
  // Boards so empty that crowds never occur.
  BoardPairs sparse = pairs_of(200, 2, life);
  const Random random(3, Purpose::kTrial);
  for (std::size_t i = 0; i < sparse.start.size(); ++i) sparse.start[i] = random.uniform(i) < 0.1f;
  const BoardPairs again = sparse;
  for (int n = 0; n < sparse.count; ++n)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x)
        sparse.target[(static_cast<std::size_t>(n) * kSide + y) * kSide + x] = life(n, y, x, [&, n](int v, int u) {
          return again.start[(static_cast<std::size_t>(n) * kSide + (v + kSide) % kSide) * kSide +
                             (u + kSide) % kSide] != 0;
        });
  const SeedReport few = trained(boards_config(saved(folder, "sparse.npz", sparse)));
  EXPECT_FALSE(few.solved) << few.verdict.text;
  EXPECT_EQ(few.verdict.score, 1);
  EXPECT_THAT(few.verdict.text, HasSubstr("never occurred"));
}

// The few boards that judge may all lack what a rare target contradicts.
TEST(Verdicts, BoardsThatWereFittedTellAgainstACircuitToo) {
  const TempFolder folder;
  const auto rare = [](int n, int y, int x, auto) { return n % 20 == 7 && y == 3 && x == 5; };
  const BoardPairs pairs = pairs_of(40, 9, rare);
  ThreadPool pool(1);
  TrainingRun run = TrainingRun::create(
      boards_config(saved(folder, "rare.npz", pairs), {{"by", "gradients"}, {"train-steps", "1"}, {"refine", "0"}}),
      {});
  run.train(pool);
  const auto trained = run.best_model();
  const auto& any = dynamic_cast<const LatticeModel&>(*trained);
  Netlist nothing = empty_cell(any.channels());
  const Net none = nothing.add_constant(false);
  for (int c = 0; c < any.channels(); ++c) nothing.add_output(fmt::format("next{}", c), none);
  int lucky = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const LatticeModel model(any.automaton(), any.rollout(), boards_goal(pairs_of(40, seed, rare), {}),
                             any.parameters().values(), seed);
    const Verdict verdict = judge_model(*model.refined(nothing), kJudgingDraw, true, pool);
    EXPECT_FALSE(verdict.solved) << verdict.text;
    if (verdict.score < 1) continue;
    ++lucky;
    EXPECT_THAT(verdict.text, HasSubstr("of the 32 boards that were fitted or chosen by are wrong"));
  }
  EXPECT_GT(lucky, 0);
  BoardPairs wider = pairs;
  wider.start_channels = 2;
  wider.start.resize(2 * pairs.start.size());
  EXPECT_THROW(score_pairs(any, wider, 1, pool), Error);
  EXPECT_EQ(score_pairs(any, pairs, 1, pool).boards, 40u);
}

// Model files hold few of many boards; the verdict is about all of them.
TEST(Verdicts, BoardsThatAModelFileHasNoRoomForTellAgainstACircuitToo) {
  const TempFolder folder;
  constexpr int kBoards = 3000, kWrong = 7;  // a copy of the start, but for one cell of one board that is fitted
  const auto copy = [](int n, int y, int x, auto alive) { return alive(y, x) != (n == kWrong && y == 3 && x == 5); };
  int fitted = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::string file = saved(folder, "many.npz", pairs_of(kBoards, seed, copy));
    const std::string out = folder / fmt::format("run-{}", seed);
    const RunConfig config = boards_config(file, {{"by", "search"}, {"train-steps", "0"}, {"refine", "20000"}});
    ThreadPool pool(1);
    TrainingRun run = TrainingRun::create(config, {.folder = out});
    const SeedReport report = run.train(pool).best();
    EXPECT_FALSE(report.solved) << report.verdict.text;
    fitted += report.verdict.score == 1;
    const LoadedModel loaded = load_model(out);
    const auto& model = dynamic_cast<const LatticeModel&>(*loaded.model);
    const Verdict again = judge_model(model, 1, true, pool);
    EXPECT_FALSE(again.solved);
    EXPECT_THAT(again.text, HasSubstr("of the 3000 boards that it was made with"));
    const BoardPairs known = *model.goal().known_pairs(1);
    const BoardBatch test = model.goal().judging(model.rollout(), model.channels(), 1, 1).start;
    EXPECT_GT(known.count, 700);
    EXPECT_GT(test.boards(), 150u);
    EXPECT_TRUE(model.goal().fits_a_part(1)) << "a part stands in for another";
  }
  EXPECT_GT(fitted, 0) << "the wrong cell was among those that judge each time";
}

TEST(Verdicts, TargetsThatAreAllAlikeSolveNothing) {
  const TempFolder folder;
  const BoardPairs dead = pairs_of(60, 3, [](int, int, int, auto) { return false; });
  for (const char* by : {"any", "training"}) {
    const SeedReport report = trained(boards_config(saved(folder, "dead.npz", dead), {{"by", by}}));
    EXPECT_FALSE(report.solved) << by << " " << report.verdict.text;
    EXPECT_EQ(report.verdict.score, 1);
  }
}

// What a training fits may not judge the next one that goes on from its model, by whatever seed.
TEST(Verdicts, TheBoardsThatJudgeAreTheSameForEverySeedAndOrder) {
  BoardPairs pairs = random_targets(40, 3);
  const RolloutOptions rollout{.batch = 1, .height = kSide, .width = kSide, .steps = 1};
  const auto judging = [&](const BoardPairs& of, std::uint64_t seed) {
    const BoardBatch boards = boards_goal(of, {})->judging(rollout, 1, seed, kJudgingDraw).start;
    std::set<std::string> hashes;
    for (std::size_t n = 0; n < boards.boards(); ++n) hashes.insert(boards.board(n).hash());
    return hashes;
  };
  const std::set<std::string> judges = judging(pairs, 1);
  EXPECT_EQ(judges.size(), 8u);
  EXPECT_EQ(judging(pairs, 2), judges);
  for (auto* boards : {&pairs.start, &pairs.target}) std::rotate(boards->begin(), boards->begin() + 640, boards->end());
  EXPECT_EQ(judging(pairs, 1), judges);
}

TEST(Verdicts, NoisyBoardsAreExplainedAndNotSolved) {
  const TempFolder folder;
  BoardPairs pairs = pairs_of(200, 4, [](int, int y, int x, auto alive) { return alive(y, x) != alive(y - 1, x); });
  const Random random(5, Purpose::kTrial);
  for (std::size_t i = 0; i < pairs.target.size(); ++i) pairs.target[i] ^= random.uniform(i) < 0.02f;
  const SeedReport report = trained(boards_config(saved(folder, "noisy.npz", pairs)));
  EXPECT_FALSE(report.solved);
  EXPECT_TRUE(report.verdict.explained) << report.verdict.text;
  EXPECT_THAT(report.verdict.text, HasSubstr("up to the noise that was estimated"));
  EXPECT_THAT(report.verdict.hint, HasSubstr("one step apart")) << "the boundary is the right one";
}

TEST(Verdicts, ABoundaryThatDoesNotFitTheBoardsIsNamed) {
  const TempFolder folder;
  const auto shift = [](int, int y, int x, auto alive) { return alive(y, x) != alive(y - 1, x); };
  const std::string torus = saved(folder, "torus.npz", pairs_of(200, 4, shift));
  EXPECT_THAT(trained(boards_config(torus, {{"boundary", "zero"}, {"refine", "0"}})).verdict.hint,
              HasSubstr("\"boundary\" = \"periodic\""));
  BoardPairs edged = pairs_of(200, 4, shift);
  for (int n = 0; n < edged.count; ++n)
    for (int x = 0; x < kSide; ++x) {  // above the first row nothing lives
      const std::size_t at = static_cast<std::size_t>(n) * kSide * kSide + static_cast<std::size_t>(x);
      edged.target[at] = edged.start[at];
    }
  EXPECT_THAT(trained(boards_config(saved(folder, "edged.npz", edged), {{"refine", "0"}})).verdict.hint,
              HasSubstr("\"boundary\" = \"zero\""));
}

TEST(Verdicts, TheSameStartNeverLiesInTwoParts) {
  BoardPairs pairs = random_targets(30, 7);
  constexpr std::size_t kCells = kSide * kSide;
  for (std::size_t n = 10; n < 30; ++n)  // every start three times
    std::copy_n(pairs.start.begin() + static_cast<std::ptrdiff_t>(n % 10 * kCells), kCells,
                pairs.start.begin() + static_cast<std::ptrdiff_t>(n * kCells));
  const auto goal = boards_goal(pairs, {});
  const RolloutOptions rollout{.batch = 30, .height = kSide, .width = kSide, .steps = 1};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto boards = [](const BoardBatch& batch) {
      std::set<std::string> all;
      for (std::size_t n = 0; n < batch.boards(); ++n) all.insert(batch.board(n).hash());
      return all;
    };
    const std::set<std::string> test = boards(goal->judging(rollout, 1, seed, kJudgingDraw).start);
    const LatticeData data = goal->data(rollout, 1, seed);
    const std::set<std::string> chosen = boards(data.validation);
    EXPECT_EQ(test.size(), 2u);
    EXPECT_EQ(chosen.size(), 2u);
    for (const std::string& board : test) EXPECT_FALSE(chosen.contains(board));
    std::vector<float> initial(30 * kCells), target(30 * kCells);
    for (std::uint64_t batch = 0; batch < 20; ++batch) {
      data.draw(batch, initial, target);
      for (std::size_t n = 0; n < 30; ++n) {
        Board board(kSide, kSide, 1);
        for (std::size_t i = 0; i < kCells; ++i) board.set(i / kSide, i % kSide, 0, initial[n * kCells + i] > 0.5f);
        EXPECT_FALSE(test.contains(board.hash()) || chosen.contains(board.hash()));
      }
    }
  }
}

TEST(Verdicts, TooFewBoardsAreSaidToBeTooFew) {
  const TempFolder folder;
  const BoardPairs pairs = pairs_of(4, 8, [](int, int y, int x, auto alive) { return alive(y, x); });
  const SeedReport report = trained(boards_config(saved(folder, "few.npz", pairs)));
  EXPECT_FALSE(report.solved);
  EXPECT_THAT(report.verdict.text, HasSubstr("too few to keep some for a test"));
}

// A cell of a checkerboard's channels that is right wherever `decide` says so.
TEST(Verdicts, BoardsThatJudgeACheckerboardAreNotThoseThatChose) {
  const auto goal = checkerboard_goal();
  const RolloutOptions rollout{.batch = 1, .height = kSide, .width = kSide, .steps = 4};
  std::set<std::string> seen;
  for (std::uint64_t k = 0; k < 16; ++k) {
    const BoardBatch chosen = goal->judging(rollout, 2, 3, kChoosingDraw + k).start;
    for (std::size_t n = 0; n < chosen.boards(); n += 64) seen.insert(chosen.board(n).hash());
  }
  const LatticeData data = goal->data(rollout, 2, 3);
  for (std::size_t n = 0; n < data.validation.boards(); ++n) seen.insert(data.validation.board(n).hash());
  const JudgingBoards judging = goal->judging(rollout, 2, 3, kJudgingDraw);
  ASSERT_GE(judging.start.boards(), 1000u);
  for (std::size_t n = 0; n < judging.start.boards(); ++n) EXPECT_FALSE(seen.contains(judging.start.board(n).hash()));
}

// Solved says nothing about trials that were switched off, and names them.
TEST(Verdicts, TrialsThatWereSwitchedOffAreNamed) {
  ThreadPool pool(1);
  TrainingRun run = TrainingRun::create(configure("checkerboard-small"), {});
  const SeedReport report = run.train(pool).best();
  EXPECT_TRUE(report.solved);
  EXPECT_THAT(report.verdict.text, HasSubstr("not asked for: larger, dead square, healing"));
  ModelNotes notes;
  add_verdict(notes, report.verdict);
  EXPECT_EQ(notes["verdict.not-asked"], "larger, dead square, healing");
  const auto model = run.best_model();
  const Verdict asked = judge_model(dynamic_cast<const LatticeModel&>(*model), kJudgingDraw, true, pool);
  EXPECT_FALSE(asked.solved) << "choose a seed whose circuit fails one of them";
  EXPECT_THAT(asked.not_asked, IsEmpty());
}

TEST(Verdicts, ARuleIsJudgedByAllItsCasesAndOneThatIsWrongIsEnough) {
  const SeedReport life = trained(configure("life", {{"by", "construction"}}));
  EXPECT_TRUE(life.solved);
  EXPECT_THAT(life.verdict.data, HasSubstr("every case there is"));
  EXPECT_EQ(word_for(life.provenance), "built");
  const RunConfig config = configure("life", {{"by", "construction"}});
  ThreadPool pool(1);
  TrainingRun run = TrainingRun::create(config, {});
  run.train(pool);
  const auto model = run.best_model();
  const auto& right = dynamic_cast<const LatticeModel&>(*model);
  EXPECT_TRUE(judge_model(right, kJudgingDraw, true, pool).solved);
  RuleTable other = parse_life_rule("B3/S23");
  other[0] = 1;  // one case of 512
  const LatticeModel wrong =
      LatticeModel(right.automaton(), right.rollout(), rule_goal("other", other), right.parameters().values(), 1);
  const auto judged = judge_model(*wrong.refined(right.raw_cell()), kJudgingDraw, true, pool);
  EXPECT_FALSE(judged.solved);
  EXPECT_LT(judged.score, 1);
}

TEST(Verdicts, PicturesAreBuiltAtOnceAndSaidToBe) {
  const TempFolder folder;
  for (const int side : {5, 16, 33}) {
    std::string text;
    const Random random(static_cast<std::uint64_t>(side), Purpose::kData);
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) text += random.coin(static_cast<std::uint64_t>(y * side + x)) ? '#' : '.';
      text += "\n";
    }
    write_atomically(folder / "target.txt", std::string_view(text));
    const SeedReport report = trained(configure("pattern", {{"target", folder / "target.txt"}}));
    EXPECT_TRUE(report.solved) << side << " " << report.verdict.text;
    EXPECT_EQ(report.steps, 0u);
    EXPECT_EQ(word_for(report.provenance), "built");
    EXPECT_EQ(report.weights_hash, "") << "no weights made it";
  }
}

// Every cell alike, a single one, and four colours at a distance from the rim that only patterns tell apart.
TEST(Verdicts, FullTinyAndLargePicturesAreBuiltToo) {
  const TempFolder folder;
  const auto made = [&](int side, auto cell) {
    std::string text;
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) text += cell(y, x);
      text += "\n";
    }
    write_atomically(folder / "target.txt", std::string_view(text));
    const SeedReport report = trained(configure("pattern", {{"target", folder / "target.txt"}}));
    return report.solved ? word_for(report.provenance) : report.verdict.text;
  };
  EXPECT_EQ(made(1, [](int, int) { return '#'; }), "built");
  EXPECT_EQ(made(9, [](int, int) { return '#'; }), "built");
  EXPECT_EQ(made(64, [](int y, int x) { return "rgb."[(y / 9 + x / 7) % 4]; }), "built");
}

TEST(Verdicts, StepsThatCannotTellCellsApartAreRefused) {
  const TempFolder folder;
  std::string text;
  for (int y = 0; y < 20; ++y) text += y == 10 ? ".........#..........\n" : "....................\n";
  write_atomically(folder / "dot.txt", std::string_view(text));
  const RunConfig config = configure("pattern", {{"target", folder / "dot.txt"}, {"steps", "3"}});
  try {
    config.make_objective();
    ADD_FAILURE() << "a dot in the middle after three steps";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 steps"));
    EXPECT_THAT(error.what(), HasSubstr("at least"));
  }
}

TEST(Verdicts, HowACircuitMayComeAboutIsObeyed) {
  const auto ways = [](const char* by, const Settings& more = {}) {
    Settings settings{{"by", by}, {"train-steps", "400"}, {"refine", "20000"}, {"budget", "0"}};
    settings.insert(settings.end(), more.begin(), more.end());
    std::set<std::string> names;
    for (const Making& making : trained(configure("life", settings)).provenance) names.insert(making.by);
    names.erase("start");
    return names;
  };
  EXPECT_EQ(ways("gradients"), std::set<std::string>{"gradients"});
  EXPECT_EQ(ways("search"), std::set<std::string>{"mutation"});
  EXPECT_EQ(ways("construction"), std::set<std::string>{"construction"});
  EXPECT_THROW(configure("checkerboard", {{"by", "construction"}}).make_objective(), Error);
}

TEST(Verdicts, ARuleTrainedAtRandomTimesIsJudgedByWhatItIs) {
  const SeedReport report =
      trained(configure("rule", {{"rule", "B3/S23"}, {"fire-rate", "0.5"}, {"by", "construction"}}));
  EXPECT_TRUE(report.solved) << report.verdict.text;
}

TEST(Provenance, IsKeptInFilesAndReadBack) {
  const Provenance made{{"gradients", 12, 3.5, 1, 0, 40}, {"mutation", 4096, 1, 0, 40, 31}};
  EXPECT_EQ(parse_provenance(format_provenance(made)), made);
  EXPECT_THAT(parse_provenance(""), IsEmpty());
  const Provenance diverged{{"gradients", 12, 3.5, std::numeric_limits<double>::infinity(), 0, 40}};
  EXPECT_EQ(parse_provenance(format_provenance(diverged)), diverged);
  EXPECT_THROW(parse_provenance("gradients 12 1 1x 0 0\n"), Error);
  EXPECT_THROW(parse_provenance("gradients 12\n"), Error);
  EXPECT_THROW(parse_provenance("magic 1 2 3 4 5\n"), Error);
  EXPECT_EQ(word_for(made), "learned");
  // What put the bits right, not what was tried or only made it smaller.
  EXPECT_EQ(word_for({{"start", 0, 4.5, 4.5}, {"mutation", 1536, 4.5, 3, 0, 0}, {"construction", 1, 3, 0, 0, 26}}),
            "built");
  EXPECT_EQ(word_for({{"construction", 1, 3, 0, 0, 26}, {"mutation", 5000, 0, 0, 26, 24}}), "built");
  EXPECT_EQ(word_for({{"identification", 18, 64, 0, 0, 9}, {"gradients", 5, 2, 0, 9, 9}}), "identified");
  EXPECT_EQ(word_for({{"gradients", 500, 120, 12, 0, 90}, {"construction", 1, 12, 0, 90, 99}}), "learned and built");
  EXPECT_EQ(text_of({{"start", 0, 4.5, 4.5}, {"mutation", 1536, 4.5, 3, 0, 0}}),
            "mutation (1536 mutants: 4.5 -> 3 wrong bits, 0 -> 0 gates)");
  EXPECT_EQ(word_for({{"construction", 1}}), "built");
  EXPECT_EQ(word_for({{"identification", 18}}), "identified");
  EXPECT_EQ(word_for({{"start", 0}}), "untrained");
  EXPECT_EQ(word_for({}), "made");
}

}  // namespace
}  // namespace espalier
