// Sentences of the program that say solved, learned, built or exact: each is made true once and false once, and seen to
// change.
#include <gmock/gmock.h>

#include <sstream>

#include "app/program.hpp"
#include "codecs.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kSide = 8;
enum class Targets { kOpposite, kOneBitWrong, kNoisy, kRandom };

// Pairs of boards, one step of the rule that turns every cell over, more or less.
std::string pairs_file(const std::string& path, std::size_t count, Targets targets) {
  const Random random(7, Purpose::kData);
  std::vector<std::uint8_t> start, target;
  for (std::size_t i = 0; i < count * kSide * kSide; ++i) {
    start.push_back(random.coin(2 * i));
    const bool turned = targets == Targets::kNoisy && random.uniform(2 * i + 1) < 0.02f;
    target.push_back(targets == Targets::kRandom ? random.coin(2 * i + 1) : (start.back() == 0) != turned);
  }
  if (targets == Targets::kOneBitWrong) target.back() ^= 1;
  write_npz(path, {{"start", numpy_array({count, kSide, kSide}, start)},
                   {"target", numpy_array({count, kSide, kSide}, target)}});
  return path;
}

Ended train_boards(const std::string& data, const std::string& out) {
  return run({"train",      "boards",      "--data",        data,    "--boundary", "periodic",
              "--channels", "2",           "--kernels",     "4",     "--perceive", "8,4,2,1",
              "--update",   "32,16,8,4,2", "--train-steps", "5",     "--refine",   "2000",
              "--budget",   "0",           "--quiet",       "--out", out});
}

TEST(Claims, WhatIsBuiltIsNowhereSaidToBeLearnedOrTrained) {
  const TempFolder folder;
  const std::string built = folder / "built", trained = folder / "trained";
  const Ended short_run = run({"train", "rule", "--rule", "B36/S23", "--train-steps", "5", "--quiet", "--out", built});
  EXPECT_THAT(short_run.out, AllOf(HasSubstr("solved: every bit right"), HasSubstr("\nbuilt "), HasSubstr("\ncircuit "),
                                   HasSubstr("construction (1 round: "), Not(HasSubstr("learned"))));
  EXPECT_THAT(run({"eval", built, "--reset-steps", "1"}).out, AllOf(HasSubstr("; built: "), Not(HasSubstr("learned"))));
  EXPECT_EQ(run({"eval", built, "--json", "--reset-steps", "1"}).json().at("made"), "built");
  EXPECT_THAT(run({"circuit", built}).out, AllOf(HasSubstr("as built,"), Not(HasSubstr("as trained"))));
  EXPECT_THAT(text_of(built + "/gates.svg"), HasSubstr("Gates as built: "));
  EXPECT_THAT(text_of(built + "/loss.svg"), HasSubstr(">construction<"));
  const Ended by_steps =
      run({"train", "life", "--by", "gradients", "--train-steps", "400", "--budget", "0", "--quiet", "--out", trained});
  EXPECT_THAT(by_steps.out,
              AllOf(HasSubstr("not solved: "), HasSubstr("\nlearned gradients ("), HasSubstr("\nweights ")));
  EXPECT_THAT(run({"circuit", trained}).out, HasSubstr("as trained,"));
  EXPECT_THAT(text_of(trained + "/gates.svg"), HasSubstr("Gates as trained: "));
  EXPECT_THAT(text_of(trained + "/loss.svg"), AllOf(HasSubstr("soft gates"), Not(HasSubstr("construction"))));
}

// Wrong bits in one unit, per board, from the first entry to the last; the score of the metrics with them.
TEST(Claims, ProvenanceIsOneChainInOneUnit) {
  const TempFolder folder;
  ASSERT_EQ(run({"train", "life", "--by", "construction", "--quiet", "--out", folder / "run"}).exit_code, 0);
  const auto made = [&](const std::string& model) {
    return run({"eval", model, "--json", "--reset-steps", "1"}).json().at("provenance");
  };
  const json built = made(folder / "run");
  ASSERT_EQ(built.size(), 1u);
  EXPECT_EQ(built[0].at("wrong_before"), 9 * 140 / 512.0);  // what dies or lives where everything dies
  std::istringstream lines(text_of(folder / "run/metrics.csv"));
  std::size_t searched = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t score = line.find("nan,");
    if (score == std::string::npos) continue;
    EXPECT_GE(std::stod(line.substr(score + 4)), 0) << line;
    ++searched;
  }
  EXPECT_EQ(searched, 2u) << "before and after";
  ASSERT_EQ(run({"refine", folder / "run", "-o", folder / "small", "--shrink", "20000", "--quiet"}).exit_code, 0);
  ASSERT_EQ(run({"train", "life", "--from", folder / "small", "--train-steps", "2", "--quiet", "--out", folder / "on"})
                .exit_code,
            0);
  for (const char* name : {"small", "on"}) {
    const json later = made(folder / name);
    EXPECT_EQ(later.at(0), built[0]) << name;
    for (std::size_t i = 1; i < later.size(); ++i)
      EXPECT_EQ(later[i].at("wrong_before"), later[i - 1].at("wrong_after")) << name << later;
    EXPECT_EQ(run({"eval", folder / name, "--json", "--reset-steps", "1"}).json().at("made"), "built");
  }
  expect_one_line(run({"train", "life", "--from", folder / "small", "--by", "construction", "--out", folder / "no"}), 1,
                  {"begins with a model"});
}

TEST(Claims, AStepTooFewIsToldBeforeTraining) {
  const TempFolder folder;
  const auto said = [&](const char* steps) {
    return run({"train", "letter", "--by", "gradients", "--steps", steps, "--train-steps", "1", "--quiet", "--out",
                folder / steps})
        .err;
  };
  EXPECT_THAT(said("2"), HasSubstr("2 steps for a picture of 16 x 16 cannot be enough"));
  EXPECT_THAT(said("15"), Not(HasSubstr("cannot be enough")));
}

TEST(Claims, BoardsAreSolvedExplainedOrNeither) {
  const TempFolder folder;
  const Ended right = train_boards(pairs_file(folder / "right.npz", 100, Targets::kOpposite), folder / "right");
  EXPECT_THAT(right.out, AllOf(HasSubstr("seed 1: solved: every bit right; all "), HasSubstr("\nidentified ")));
  EXPECT_THAT(right.err, HasSubstr("identified from the boards"));
  EXPECT_THAT(run({"circuit", folder / "right"}).out, HasSubstr("as identified,"));
  const Ended noisy = train_boards(pairs_file(folder / "noisy.npz", 100, Targets::kNoisy), folder / "noisy");
  EXPECT_THAT(noisy.out, AllOf(HasSubstr("seed 1: explained up to noise: "), Not(HasSubstr("solved: "))));
  const Ended random = train_boards(pairs_file(folder / "random.npz", 20, Targets::kRandom), folder / "random");
  EXPECT_THAT(random.out, AllOf(HasSubstr("seed 1: not solved: "), Not(HasSubstr("every bit right"))));
  EXPECT_THAT(random.err, HasSubstr("no rule could be read off the boards"));
  // On boards of a file there are figures alone.
  const auto eval = [&](const char* data) {
    return run({"eval", folder / "right", "--data", folder / data, "--require-solved"});
  };
  EXPECT_THAT(eval("right.npz").out, AllOf(HasSubstr("100 of 100 boards exact"), Not(HasSubstr("solved"))));
  EXPECT_EQ(eval("right.npz").exit_code, 0);
  pairs_file(folder / "almost.npz", 100, Targets::kOneBitWrong);
  EXPECT_THAT(eval("almost.npz").out, HasSubstr("99 of 100 boards exact"));
  EXPECT_EQ(eval("almost.npz").exit_code, 3);
}

TEST(Claims, ATableOfATaskOrANetlistIsSolvedWhereEveryRowIsRight) {
  const TempFolder folder;
  std::ofstream(folder / "and.blif") << ".model m\n.inputs a b\n.outputs y\n.names a b y\n11 1\n.end\n";
  const auto refine = [&](const char* rows) {
    std::ofstream(folder / "rows.txt") << rows;
    return run({"refine", folder / "and.blif", "--table", folder / "rows.txt", "-o", folder / "out.blif",
                "--evaluations", "2000", "--quiet"})
        .out;
  };
  EXPECT_THAT(refine("00 0\n01 0\n10 0\n11 1\n"), HasSubstr("\nsolved: every row right"));
  EXPECT_THAT(refine("00 0\n00 1\n"), AllOf(HasSubstr("not solved: rows wrong"), Not(HasSubstr("\nsolved"))));
  const auto train = [&](int rows) {
    std::ofstream csv(folder / "rows.csv");
    csv << "a,b,kind\n";
    for (int i = 0; i < rows; ++i) csv << i << "," << (i * 7) % 31 << "," << (i % 2 ? "odd" : "even") << "\n";
    csv.close();
    return run({"train", "table", "--csv", folder / "rows.csv", "--target", "kind", "--train-steps", "2", "--quiet",
                "--force", "--out", folder / "table"})
        .out;
  };
  EXPECT_THAT(train(20), AllOf(HasSubstr("nothing is called solved"), HasSubstr("not solved: ")));
  EXPECT_THAT(train(400), Not(HasSubstr("nothing is called solved")));
  EXPECT_THAT(run({"eval", folder / "table", folder / "rows.csv"}).out, HasSubstr("learned: "));
}

}  // namespace
}  // namespace espalier
