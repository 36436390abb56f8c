// Many seeds at once: each bit-equal to itself trained alone, the winner decided by the rules and not by timing.
#include "app/program.hpp"

namespace espalier {
namespace {

constexpr const char* kSteps = "60";

Arguments seeds(const std::string& out, const std::string& count, const std::string& threads) {
  return {"train", "checkerboard-small", "--seed", "4",       "--seeds", count,   "--train-steps",
          kSteps,  "--threads",          threads,  "--quiet", "--json",  "--out", out};
}

const Surroundings kMany{{{"ESPALIER_OVERSUBSCRIBE", "1"}}, "", RLIM_INFINITY};

// Without the times and the thread count, which may differ.
nlohmann::json settled(const nlohmann::json& summary) {
  nlohmann::json kept = summary;
  for (const char* field : {"seconds", "ms_per_step", "wall_seconds", "timing", "peak_rss_mb", "threads", "model"})
    kept.erase(field);
  return kept;
}

TEST(Seeds, EachIsBitEqualToItselfTrainedAlone) {
  const TempFolder folder;
  const Ended e = run(seeds(folder / "all", "3", "2"), kMany);
  ASSERT_EQ(e.exit_code, 0) << e.err;
  const auto rows = e.json().at("seeds");
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) {
    const std::string seed = row.at("seed").dump(), alone = folder / ("alone-" + seed);
    const Ended single = run({"train", "checkerboard-small", "--seed", seed, "--until-solved", "--train-steps", kSteps,
                              "--threads", "1", "--quiet", "--json", "--out", alone});
    EXPECT_EQ(single.json().at("weights_hash"), row.at("weights_hash"));
    EXPECT_EQ(single.json().at("score"), row.at("score"));
    const std::string own = folder / ("all/seed-" + seed);
    EXPECT_EQ(text_of(own + "/config.json"), text_of(alone + "/config.json"));
    EXPECT_EQ(text_of(own + "/model.safetensors"), text_of(alone + "/model.safetensors"));
    EXPECT_EQ(metrics_but_seconds(own), metrics_but_seconds(alone));
  }
}

TEST(Seeds, TheWinnerOfNoneThatSolvesIsTheBestAndItsModelIsCopied) {
  const TempFolder folder;
  const auto j = run(seeds(folder / "all", "4", "2"), kMany).json();
  nlohmann::json best = j.at("seeds")[0];
  for (const auto& row : j.at("seeds")) {
    ASSERT_EQ(row.at("solved"), false) << "too easy for this test";
    if (row.at("score") > best.at("score") ||
        (row.at("score") == best.at("score") && row.at("validation_loss") < best.at("validation_loss")))
      best = row;
  }
  EXPECT_EQ(j.at("seed"), best.at("seed"));
  EXPECT_EQ(j.at("model"), folder / "all/model.safetensors");
  EXPECT_EQ(text_of(folder / "all/model.safetensors"),
            text_of(folder / ("all/seed-" + best.at("seed").dump() + "/model.safetensors")));
  const std::string table = text_of(folder / "all/seeds.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 5);
  EXPECT_NE(table.find(best.at("weights_hash").get<std::string>()), std::string::npos);
}

TEST(Seeds, TheResultDoesNotDependOnThreads) {
  const TempFolder folder;
  const auto one = run(seeds(folder / "1", "3", "1"), kMany).json();
  for (const char* threads : {"2", "3", "5", "8"})
    EXPECT_EQ(settled(run(seeds(folder / threads, "3", threads), kMany).json()), settled(one)) << threads;
}

// A picture of nine cells, which some seeds learn in no time.
Arguments picture(const TempFolder& folder, const std::string& seed, const std::string& count,
                  const std::string& threads, const std::string& out) {
  std::ofstream(folder / "target.txt") << "##.\n.##\n#..\n";
  return {"train",
          "pattern",
          "--by",
          "training",
          "--target",
          folder / "target.txt",
          "--channels",
          "4",
          "--kernels",
          "4",
          "--update",
          "32x2,16,8,4",
          "--steps",
          "4",
          "--train-steps",
          "300",
          "--gumbel-final",
          "0",
          "--temperature-final",
          "1",
          "--straight-from",
          "1",
          "--budget",
          "0",
          "--seed",
          seed,
          "--seeds",
          count,
          "--threads",
          threads,
          "--quiet",
          "--json",
          "--out",
          folder / out};
}

TEST(Seeds, TheLowestThatSolvesWinsForAnyNumberOfThreads) {
  const TempFolder folder;
  nlohmann::json lowest;
  for (int seed = 1; seed <= 6 && lowest.is_null(); ++seed) {
    const auto alone = run(picture(folder, std::to_string(seed), "1", "1", "alone-" + std::to_string(seed))).json();
    if (alone.at("solved") == true) lowest = alone;
  }
  ASSERT_FALSE(lowest.is_null()) << "the picture is too hard for this test";
  const std::string model = text_of(lowest.at("model").get<std::string>());
  for (const char* threads : {"1", "2", "3", "5"}) {
    const std::string out = std::string("threads-") + threads;
    const Ended e = run(picture(folder, "1", "6", threads, out), kMany);
    ASSERT_EQ(e.exit_code, 0) << e.err;
    const auto j = e.json();
    for (const char* field : {"seed", "steps", "weights_hash", "score", "outcome"})
      EXPECT_EQ(j.at(field), lowest.at(field)) << field << " with " << threads;
    EXPECT_EQ(text_of(folder / (out + "/model.safetensors")), model) << threads;
    for (const auto& row : j.at("seeds"))
      if (row.at("outcome") == "beaten") {
        EXPECT_GT(row.at("seed"), lowest.at("seed"));
      }
  }
}

TEST(Seeds, OneThatFailsIsToldOfAndTheExitCodeIsOne) {
  const TempFolder folder;
  ASSERT_EQ(run(seeds(folder / "run", "3", "1")).exit_code, 0);
  std::filesystem::remove_all(folder / "run/seed-6");
  std::ofstream(folder / "run/seed-6") << "in the way";
  for (const char* threads : {"1", "3"}) {
    const Ended e = run({"train", "--resume", folder / "run", "--quiet", "--json", "--threads", threads}, kMany);
    EXPECT_EQ(e.exit_code, 1);
    EXPECT_EQ(e.error_lines(), 1u) << e.err;
    EXPECT_NE(e.err.find("seed 6 failed"), std::string::npos) << e.err;
    EXPECT_NE(e.err.find("seed-6"), std::string::npos) << e.err;
    EXPECT_EQ(e.json().at("seeds")[2].at("outcome"), "failed");
    EXPECT_NE(e.json().at("seed"), 6);
  }
  EXPECT_EQ(text_of(folder / "run/seed-6"), "in the way");
}

TEST(Seeds, OneThatFailsIsAFailureAlsoWhenTheTimeIsUp) {
  const TempFolder folder;
  Arguments long_run = seeds(folder / "run", "3", "1");
  long_run.insert(long_run.end(), {"--train-steps", "1000000", "--steps", "1", "--refine", "0", "--seconds", "0.5"});
  ASSERT_EQ(run(long_run).exit_code, 0);
  std::filesystem::remove_all(folder / "run/seed-4");
  std::ofstream(folder / "run/seed-4") << "in the way";
  const Ended e = run({"train", "--resume", folder / "run", "--quiet", "--threads", "1", "--seconds", "0.5"}, kMany);
  EXPECT_NE(e.err.find("seed 4 failed"), std::string::npos) << e.err;
  EXPECT_EQ(e.exit_code, 1);
}

TEST(Seeds, ATrialOfASweepThatFailsIsToldOf) {
  const TempFolder folder;
  const Arguments sweep{"sweep",         "checkerboard-small",
                        "--train-steps", "2",
                        "--refine",      "0",
                        "--batch",       "1",
                        "--steps",       "2",
                        "--seeds",       "2",
                        "--eval-every",  "1",
                        "--threads",     "1",
                        "--quiet",       "--out",
                        folder / "s"};
  ASSERT_EQ(run(sweep).exit_code, 0);
  std::filesystem::remove(folder / "s/defaults/seed-2/checkpoint-previous.safetensors");
  std::ofstream(folder / "s/defaults/seed-2/checkpoint.safetensors") << "damaged";
  const Ended e = run(sweep);
  EXPECT_EQ(e.exit_code, 1);
  EXPECT_EQ(e.error_lines(), 1u) << e.err;
  EXPECT_NE(e.err.find("seed 2 failed"), std::string::npos) << e.err;
  EXPECT_NE(e.out.find("of 1"), std::string::npos) << e.out;
}

TEST(Seeds, WhatASweepIsGivenHoldsAlsoWhereItIsTheDefault) {
  const TempFolder folder;
  const auto refused = [&](const Arguments& more, const std::vector<std::string>& words) {
    Arguments sweep{"sweep", "letter", "--by", "training", "--quiet", "--out", folder / "s"};
    sweep.insert(sweep.end(), more.begin(), more.end());
    expect_one_line(run(sweep), 1, words);
    EXPECT_FALSE(std::filesystem::exists(folder / "s"));
  };
  refused({"--async", "--boundary", "zero"}, {"boundary zero", "boundary periodic"});
  refused({"--vary", "until-solved=false"}, {"until-solved"});
}

TEST(Seeds, KilledOrInterruptedTheyAreContinuedToTheSameBits) {
  const TempFolder folder;
  const auto whole = run(seeds(folder / "whole", "3", "2"), kMany).json();
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string out = folder / (signal == SIGKILL ? "killed" : "interrupted");
    Running program(seeds(out, "3", "2"), kMany);
    program.wait_for(out + "/seed-5/metrics.csv");
    program.send(signal);
    const Ended e = program.wait();
    if (signal == SIGINT) {
      EXPECT_EQ(e.exit_code, 130);
      EXPECT_NE(e.err.find("--resume " + out), std::string::npos) << e.err;
    }
    const Ended resumed = run({"train", "--resume", out, "--threads", "3", "--quiet", "--json"}, kMany);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(settled(resumed.json()), settled(whole));
    EXPECT_EQ(text_of(out + "/model.safetensors"), text_of(folder / "whole/model.safetensors"));
  }
}

TEST(Seeds, ForceRemovesTheOldSeedsAndNothingElse) {
  const TempFolder folder;
  ASSERT_EQ(run(seeds(folder / "run", "3", "2")).exit_code, 0);
  expect_one_line(run(seeds(folder / "run", "2", "2")), 1, {"holds a run", "force"});
  std::ofstream(folder / "run/seed-6/mine.txt") << "kept";
  Arguments again = seeds(folder / "run", "2", "2");
  again.push_back("--force");
  expect_one_line(run(again), 1, {"seed-6/mine.txt"});
  EXPECT_TRUE(std::filesystem::exists(folder / "run/seed-6/model.safetensors"));
  EXPECT_EQ(text_of(folder / "run/seed-6/mine.txt"), "kept");
  std::filesystem::remove(folder / "run/seed-6/mine.txt");
  ASSERT_EQ(run(again).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "run/seed-5/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/seed-6"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/replaced-run"));
}

TEST(Seeds, AllFailingIsOneLine) {
  const TempFolder folder;
  Arguments bad = seeds(folder / "run", "2", "2");
  for (const char* more : {"--lr", "1000", "--weight-decay", "10", "--clip-value", "0"}) bad.push_back(more);
  expect_one_line(run(bad), 1, {"expected a finite number"});
}

}  // namespace
}  // namespace espalier
