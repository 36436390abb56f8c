// Several seeds over ranks: each is bit-equal to itself trained alone, and the winner is the same for any number.
#include <sstream>

#include "ranks/mpirun.hpp"

namespace espalier {
namespace {

const Arguments kUnsolved{"train",  "checkerboard-small", "--seeds", "5",       "--train-steps",
                          "6",      "--eval-every",       "3",       "--quiet", "--json",
                          "--force"};

TEST(RanksSeeds, EachIsBitEqualToItselfForAnyNumberOfRanks) {
  const TempFolder folder;
  const auto alone = run(kUnsolved + Arguments{"--out", folder / "alone"}).json();
  for (const int count : {2, 3, 7}) {
    const std::string out = folder / ("over-" + std::to_string(count));
    const Ended e = run(kUnsolved + Arguments{"--threads", "2", "--out", out}, ranks(count));
    ASSERT_EQ(e.exit_code, 0) << e.err;
    const auto j = e.json();
    EXPECT_EQ(j.at("seed"), alone.at("seed"));
    EXPECT_EQ(j.at("seeds"), alone.at("seeds"));
    EXPECT_EQ(j.at("report"), alone.at("report"));
    EXPECT_EQ(text_of(out + "/seeds.csv"), text_of(folder / "alone/seeds.csv"));
    EXPECT_EQ(text_of(out + "/model.safetensors"), text_of(folder / "alone/model.safetensors"));
    for (int seed = 1; seed <= 5; ++seed) {
      const std::string name = "/seed-" + std::to_string(seed);
      EXPECT_EQ(metrics_but_seconds(out + name), metrics_but_seconds(folder / ("alone" + name)));
      for (const char* file : {"/config.json", "/model.safetensors", "/gates.svg", "/growth.gif"})
        EXPECT_EQ(text_of(out + name + file), text_of(folder / ("alone" + name) + file)) << seed << file;
    }
  }
}

TEST(RanksSeeds, TheLowestThatSolvesWinsForAnyNumberOfRanks) {
  const TempFolder folder;
  const Arguments life{"train", "life", "--seeds", "6", "--train-steps", "400", "--quiet", "--json", "--force"};
  const auto alone = run(life + Arguments{"--out", folder / "alone"}).json();
  for (const int count : {2, 4}) {
    const Ended e = run(life + Arguments{"--threads", "1", "--out", folder / "ranks"}, ranks(count));
    ASSERT_EQ(e.exit_code, 0) << e.err;
    const auto j = e.json();
    EXPECT_EQ(j.at("seed"), alone.at("seed"));
    EXPECT_EQ(j.at("model_hash"), alone.at("model_hash"));
    EXPECT_EQ(text_of(folder / "ranks/model.safetensors"), text_of(folder / "alone/model.safetensors"));
  }
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(text_of(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// A rank that has not heard yet of a lower seed's success may even take a step or two more.
TEST(RanksSeeds, ResumedAfterItsEndARunStillTellsOfSeedsThatWereBeaten) {
  const TempFolder folder;
  const Ended first = run(
      {"train", "life", "--seeds", "6", "--train-steps", "400", "--threads", "2", "--quiet", "--out", folder / "run"},
      ranks(3));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::vector<std::string> before = lines_of(folder / "run/seeds.csv");
  ASSERT_EQ(before.size(), 7u);
  const Ended again = run({"train", "--resume", folder / "run", "--quiet"}, ranks(3));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const std::vector<std::string> after = lines_of(folder / "run/seeds.csv");
  ASSERT_EQ(after.size(), before.size());
  const auto unknown = [](const std::string& line) { return line.find(",,,,,beaten,") != std::string::npos; };
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_LE(unknown(after[i]), unknown(before[i])) << after[i];
    if (before[i].find(",solved,") != std::string::npos) {
      EXPECT_EQ(after[i], before[i]);
    }
  }
}

TEST(RanksSeeds, AWinnerOfAnotherRankIsToldOfInTheSameWords) {
  const TempFolder folder;
  const Arguments task{"train", "checkerboard-small", "--seeds", "2",       "--train-steps",
                       "40",    "--refine",           "0",       "--quiet", "--force"};
  const auto outcome = [&](const Ended& e) {  // up to the time
    const std::size_t at = e.out.find("solved");
    return at == std::string::npos ? "nothing: " + e.out : e.out.substr(0, e.out.find(" in ", at));
  };
  const Ended alone = run(task + Arguments{"--out", folder / "alone"});
  EXPECT_EQ(outcome(run(task + Arguments{"--out", folder / "ranks"}, ranks(2))), outcome(alone));
  EXPECT_NE(alone.out.find("judged by"), std::string::npos) << alone.out;
}

TEST(RanksSeeds, MoreStepsWithAnotherNumberOfRanksGoOnToTheSameBits) {
  const TempFolder folder;
  hash_of(run(kUnsolved + Arguments{"--out", folder / "run"}, ranks(3)));
  const Ended more = run({"train", "--resume", folder / "run", "--train-steps", "9", "--quiet", "--json"}, ranks(2));
  const Ended whole = run(kUnsolved + Arguments{"--train-steps", "9", "--out", folder / "whole"});
  EXPECT_EQ(hash_of(more), hash_of(whole));
  EXPECT_EQ(text_of(folder / "run/seeds.csv"), text_of(folder / "whole/seeds.csv"));
}

}  // namespace
}  // namespace espalier
