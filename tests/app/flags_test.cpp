// Options that would have no effect are refused in one line, and what is asked for as JSON is JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "program.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

class Flags : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempFolder>();
    const Ended trained = run(
        {"train", "checkerboard-small", "--train-steps", "2", "--refine", "0", "--quiet", "--out", *folder_ / "board"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    std::ofstream(*folder_ / "target.txt") << "##.\n.##\n#..\n";
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string model() { return *folder_ / "board"; }
  static void expect_refused(Arguments command, const Arguments& more, const std::vector<std::string>& words) {
    command.insert(command.end(), more.begin(), more.end());
    expect_one_line(run(command), 2, words);
  }
  // A picture of 3 x 3 with a cell of few gates; the run's folder.
  static Arguments picture(const std::string& name) {
    return {"train",     "pattern",     "--by",       "training", "--target",      *folder_ / "target.txt",
            "--kernels", "4",           "--perceive", "8,4,2",    "--channels",    "4",
            "--update",  "32x2,16,8,4", "--steps",    "4",        "--train-steps", "1",
            "--refine",  "0",           "--quiet",    "--force",  "--out",         *folder_ / name};
  }
  static nlohmann::json config(const std::string& name) {
    return nlohmann::json::parse(text_of(*folder_ / (name + "/config.json")));
  }

  static std::unique_ptr<TempFolder> folder_;
};
std::unique_ptr<TempFolder> Flags::folder_;

TEST_F(Flags, OfAnotherClaimAreRefusedByProve) {
  const auto refused = [](const Arguments& more, const std::vector<std::string>& words) {
    expect_refused({"prove", model()}, more, words);
  };
  refused({"converges", "--rule", "B3/S23"}, {"--rule: got the claim converges, expected equals"});
  refused({"converges", "--damage", "4"}, {"--damage", "heals"});
  refused({"fixed", "--damage", "2"}, {"--damage", "heals"});
  refused({"heals", "--rule", "B3/S23"}, {"--rule", "equals"});
  for (const char* option : {"--size", "--steps", "--round", "--seconds", "--seed"})
    refused({"equals", "--rule", "B3/S23", option, "3"}, {option, "equals", "boards"});
  refused({"equals", "--rule", "B3/S23", "--async"}, {"--async"});
  refused({"equals", "--rule", "B3/S23", "--proof", *folder_ / "proof"}, {"--proof", "boards"});
  refused({"converges", "--round", "3"}, {"--round", "--async"});
  refused({"period", "2", "--steps", "9"}, {"--steps", "converges or heals"});
  refused({"fixed", "--proof", *folder_ / "proof", "--steps", "9"}, {"--steps", "converges or heals"});
}

TEST_F(Flags, NothingIsNotTakenForTheDefault) {
  expect_refused({"prove", model(), "converges"}, {"--steps", "0"}, {"--steps", "got 0, expected 1 to"});
  expect_refused({"export", model(), "--to", "aiger", "-o", *folder_ / "out.aag", "--board", "4"}, {"--steps", "0"},
                 {"--steps", "got 0, expected 1 to"});
  expect_refused({"run", model()}, {"--async", "0"}, {"--async", "got 0, expected 1e-06 to 1"});
}

TEST_F(Flags, WithoutEffectAreRefusedByExport) {
  const auto refused = [](const Arguments& more, const std::vector<std::string>& words) {
    expect_refused({"export", model(), "--to", "aiger", "-o", *folder_ / "out.aag"}, more, words);
  };
  refused({"--steps", "3"}, {"--steps", "--board"});
  refused({"--from-start"}, {"--from-start", "--board", "--across-steps"});
  refused({"--raw", "--search", "100"}, {"--search", "--raw"});
  refused({"--raw", "--for", "ands"}, {"--for", "--raw"});
  for (const Arguments& more : {Arguments{"--raw"}, {"--across-steps"}, {"--search", "100"}, {"--name", "it"}}) {
    Arguments all{"--board", "4"};
    all.insert(all.end(), more.begin(), more.end());
    refused(all, {more[0], "--board"});
  }
}

TEST_F(Flags, ABoardOfTooManyGatesIsRefusedBeforeItIsMade) {
  expect_one_line(run({"export", model(), "--to", "aiger", "--board", "4096", "-o", *folder_ / "large.aag"}), 1,
                  {"4096 x 4096", "gates", "at most 50000000", "has fewer"});
}

TEST_F(Flags, WithoutEffectAreRefusedByEval) {
  expect_refused({"eval", model()}, {"--boards", "3"}, {"--boards", "--divergence"});
  expect_refused({"eval", model()}, {"--svg", *folder_ / "x.svg"}, {"--svg", "--divergence"});
  for (const Arguments& more : {Arguments{"--seed", "2"}, {"--reset-steps", "9"}, {"--require-solved"}})
    expect_refused({"eval", model(), "--divergence"}, more, {more[0], "--divergence"});
  EXPECT_EQ(run({"eval", model(), "--divergence", "--no-require-solved"}).exit_code, 0);  // as good as not given
}

TEST_F(Flags, ResetsLeaveMostOfASmallBoardAsItIs) {
  ASSERT_EQ(run(picture("small")).exit_code, 0);
  const auto square = [](const std::string& of) {
    const nlohmann::json trials = run({"eval", of, "--reset-steps", "5", "--json"}).json()["trials"];
    for (const auto& trial : trials)
      if (trial["name"] == "resets") return trial["description"].get<std::string>();
    return std::string();
  };
  EXPECT_THAT(square(*folder_ / "small"), HasSubstr("a random 2 x 2 square"));
  EXPECT_THAT(square(model()), HasSubstr("a random 10 x 10 square"));
}

// --- The shape of a cell that something else decides.

TEST_F(Flags, AShapeThatIsNotThatOfTheModelToBeginWithIsRefusedAndTheConfigTellsIt) {
  Arguments two = picture("two");
  ASSERT_EQ(run(two).exit_code, 0);
  const Arguments from{"train",         "pattern",
                       "--by",          "training",
                       "--target",      *folder_ / "target.txt",
                       "--from",        *folder_ / "two",
                       "--steps",       "4",
                       "--train-steps", "1",
                       "--refine",      "0",
                       "--quiet",       "--force",
                       "--out",         *folder_ / "on"};
  const auto with = [&](const Arguments& more) {
    Arguments all = from;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  expect_one_line(with({"--channels", "5"}), 1, {"channels 5", "channels 4", "two"});
  expect_one_line(with({"--boundary", "periodic"}), 1, {"boundary periodic", "boundary zero"});
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "on"));
  ASSERT_EQ(with({"--channels", "4"}).exit_code, 0);
  ASSERT_EQ(with({}).exit_code, 0);
  for (const char* name : {"channels", "kernels", "perceive", "update", "wiring", "boundary"})
    EXPECT_EQ(config("on")[name], config("two")[name]) << name;
  EXPECT_EQ(run({"train", "--resume", *folder_ / "on", "--train-steps", "2", "--quiet"}).exit_code, 0);
}

TEST_F(Flags, ABoundaryThatHealingOrAsynchronousUpdatesDoNotHaveIsRefused) {
  const auto with = [](const Arguments& more) {
    Arguments all = picture("kept");
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  expect_one_line(with({"--heal", "--boundary", "periodic"}), 1, {"boundary periodic", "boundary zero", "heals"});
  expect_one_line(with({"--async", "--boundary", "zero"}), 1, {"boundary zero", "boundary periodic"});
  for (const Arguments& more : {Arguments{"--async"}, {"--async", "--boundary", "periodic"}}) {
    ASSERT_EQ(with(more).exit_code, 0);
    EXPECT_EQ(config("kept")["boundary"], "periodic");
  }
  EXPECT_EQ(run({"train", "--resume", *folder_ / "kept", "--train-steps", "2", "--quiet"}).exit_code, 0);
}

TEST_F(Flags, AModelToBeginWithHasTheBoundaryThatHealingOrAsynchronousUpdatesNeed) {
  const auto from = [](const std::string& boundary, const std::string& keep) {
    Arguments first = picture(boundary);
    first.insert(first.end(), {"--boundary", boundary});
    EXPECT_EQ(run(first).exit_code, 0);
    return run({"train", "pattern", "--by", "training", "--target", *folder_ / "target.txt", "--from",
                *folder_ / boundary, keep, "--steps", "4", "--train-steps", "1", "--refine", "0", "--quiet", "--force",
                "--out", *folder_ / "later"});
  };
  expect_one_line(from("periodic", "--heal"), 1, {"boundary periodic", "expected", "boundary zero", "heals", "hint"});
  expect_one_line(from("zero", "--async"), 1, {"boundary zero", "expected", "boundary periodic", "random times"});
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "later"));
  for (const auto& [boundary, keep] : {std::pair("zero", "--heal"), std::pair("periodic", "--async")}) {
    EXPECT_EQ(from(boundary, keep).exit_code, 0) << keep;
    EXPECT_EQ(config("later")["boundary"], boundary);
  }
}

// --- Lists and measurements.

TEST(ListsAsJson, AreOneObject) {
  const auto cases = run({"bench", "--list", "--filter", "lattice/", "--json"}).json()["cases"];
  ASSERT_GT(cases.size(), 1u);
  for (const auto& one : cases) EXPECT_THAT(one["case"].get<std::string>(), HasSubstr("lattice/"));
  const auto tasks = run({"train", "--list", "--json"}).json()["tasks"];
  ASSERT_GT(tasks.size(), 5u);
  EXPECT_EQ(tasks[0]["task"], "life");
  EXPECT_FALSE(tasks[0]["summary"].get<std::string>().empty());
}

TEST(BenchFlags, TheSignatureIsFilteredAndThenHasNoTotal) {
  const Ended hard = run({"bench", "--signature", "--filter", "hard/kept"});
  ASSERT_EQ(hard.exit_code, 0) << hard.err;
  EXPECT_EQ(std::count(hard.out.begin(), hard.out.end(), '\n'), 1) << hard.out;
  EXPECT_EQ(hard.out.rfind("hard/kept ", 0), 0u) << hard.out;
  const auto j = run({"bench", "--signature", "--filter", "lattice/wiring", "--json"}).json();
  EXPECT_EQ(j["cases"].size(), 1u);
  EXPECT_FALSE(j.contains("signature"));
  expect_one_line(run({"bench", "--signature", "--filter", "no-such-case"}), 1, {"no-such-case"});
}

TEST(BenchFlags, SoManySamplesAreTakenAsAreAskedFor) {
  for (const int wanted : {1, 2, 5}) {
    const auto j = run({"bench", "--filter", "lattice/checkerboard-small", "--threads", "1", "--seconds", "60",
                        "--repeat", std::to_string(wanted), "--json", "--quiet"})
                       .json();
    EXPECT_EQ(j["cases"][0]["samples"], wanted);
  }
}

TEST(BenchFlags, WithoutEffectAreRefused) {
  expect_one_line(run({"bench", "--list", "--repeat", "3"}), 2, {"--repeat", "--list"});
  expect_one_line(run({"bench", "--signature", "--seconds", "3"}), 2, {"--seconds", "--signature"});
  expect_one_line(run({"bench", "--comm", "--filter", "life"}), 2, {"--filter", "--comm"});
  expect_one_line(run({"bench", "--list", "--signature"}), 2, {"--list", "--signature"});
}

}  // namespace
}  // namespace espalier
