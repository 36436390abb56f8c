// Sweeps: every combination and seed to its end, resumable, and figures that follow from the counts.
#include "runs/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "runs/small_runs.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

const Settings kSmall{{"train-steps", "20"}, {"eval-every", "10"}};

TEST(Sweep, AxesAreReadAndMistakesNamed) {
  const std::vector<SweepAxis> axes = parse_axes("start-logit=3,6;update=16,4|8,4");
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0].values, (std::vector<std::string>{"3", "6"}));
  EXPECT_EQ(axes[1].values, (std::vector<std::string>{"16,4", "8,4"}));
  EXPECT_TRUE(parse_axes("").empty());
  for (const char* wrong : {"lr", "lr=", "=3", "lr=1,1", "lr=1;lr=2", "lr=1;;"}) EXPECT_THROW(parse_axes(wrong), Error);
}

TEST(Sweep, IntervalsAreWilsonsAndTimesFollowFromShares) {
  const auto [low, high] = Share{8, 10}.interval();
  EXPECT_NEAR(low, 0.4902, 1e-3);
  EXPECT_NEAR(high, 0.9433, 1e-3);
  EXPECT_NEAR((Share{0, 20}.interval().second), 0.1611, 1e-3);
  EXPECT_EQ((Share{20, 20}.interval().second), 1);
  EXPECT_NEAR(time_to_solution(10, 0.5), 10 * std::log(0.01) / std::log(0.5), 1e-9);
  EXPECT_EQ(time_to_solution(10, 1), 10);
  EXPECT_TRUE(std::isinf(time_to_solution(10, 0)));
}

TEST(Sweep, WrongSettingsAreRefusedBeforeAnythingIsTrained) {
  EXPECT_THROW(Sweep("life", {}, parse_axes("start-logti=3"), 1, 2), Error);
  EXPECT_THROW(Sweep("life", {}, parse_axes("lr=0.1,-3"), 1, 2), Error);
  for (const char* own : {"seed=1,2", "seeds=2", "until-solved=false"})
    EXPECT_THROW(Sweep("life", {}, parse_axes(own), 1, 2), Error) << own;
  EXPECT_THROW(Sweep("life", {}, {}, 1, 0), Error);
}

TEST(Sweep, EveryTrialIsTheRunOfItsOwnSettingsAndGoesOnWhereItStopped) {
  const TempFolder folder;
  Sweep sweep("checkerboard-small", kSmall, parse_axes("lr=0.01,0.1"), 3, 2);
  EXPECT_EQ(sweep.trials(), 4u);
  std::size_t told = 0;
  const std::vector<SweepRow> rows =
      sweep.run(folder / "sweep", ThreadPool(2), [&](std::size_t done, std::size_t) { told = done; });
  EXPECT_EQ(told, 4u);
  ASSERT_EQ(rows.size(), 2u);
  for (const SweepRow& row : rows) {
    ASSERT_EQ(row.seeds.size(), 2u);
    for (const SeedReport& r : row.seeds) {
      RunConfig config = configure("checkerboard-small", kSmall);
      config.set("lr", row.settings[0].second);
      config.set("until-solved", "true");
      config.seed = r.seed;
      ThreadPool pool(1);
      EXPECT_EQ(TrainingRun::create(config, {}).train(pool).best().weights_hash, r.weights_hash);
    }
  }
  const std::string csv = sweep_csv(rows);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(sweep_picture(rows, "a <title>").find("a &lt;title>"), std::string::npos);
  // Again: nothing is trained anew.
  Sweep again("checkerboard-small", kSmall, parse_axes("lr=0.01,0.1"), 3, 2);
  const auto same = again.run(folder / "sweep", ThreadPool(1), [](std::size_t, std::size_t) {});
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(same[c].seeds[s].weights_hash, rows[c].seeds[s].weights_hash);
  // Other settings in the same folders are refused.
  Settings other = kSmall;
  other[1].second = "5";
  Sweep different("checkerboard-small", other, parse_axes("lr=0.01,0.1"), 3, 2);
  EXPECT_THROW(different.run(folder / "sweep", ThreadPool(1), [](std::size_t, std::size_t) {}), Error);
}

TEST(Sweep, AStopReturnsWhatThereIsAndTheRestFollowsLater) {
  const TempFolder folder;
  Sweep sweep("checkerboard-small", kSmall, {}, 1, 4);
  const auto rows = sweep.run(folder / "s", ThreadPool(1), [&](std::size_t done, std::size_t) {
    if (done == 2) sweep.stop();
  });
  EXPECT_TRUE(sweep.stopped());
  EXPECT_EQ(rows[0].seeds.size(), 2u);
  Sweep rest("checkerboard-small", kSmall, {}, 1, 4);
  EXPECT_EQ(rest.run(folder / "s", ThreadPool(1), [](std::size_t, std::size_t) {})[0].seeds.size(), 4u);
}

TEST(Sweep, TrialsThatFailAreNotCounted) {
  const TempFolder folder;
  const auto run = [&] {
    return Sweep("checkerboard-small", kSmall, {}, 1, 3).run(folder / "s", ThreadPool(1), [](std::size_t, std::size_t) {
    })[0];
  };
  EXPECT_EQ(run().share().trials, 3u);
  const std::string trial = folder / "s/defaults/seed-2/";
  std::filesystem::remove(trial + "checkpoint-previous.safetensors");
  write_atomically(trial + "checkpoint.safetensors", std::string_view("damaged"));
  const SweepRow row = run();
  ASSERT_EQ(row.seeds.size(), 3u);
  EXPECT_TRUE(row.seeds[1].error);
  EXPECT_EQ(row.share().trials, 2u);
  EXPECT_NE(sweep_csv({row}).find(",failed,"), std::string::npos);
}

TEST(Sweep, AFolderWithOtherFilesIsLeftAlone) {
  const TempFolder folder;
  Sweep sweep("checkerboard-small", {{"train-steps", "2"}, {"refine", "0"}}, {}, 1, 1);
  const auto refused = [&](const std::string& file) {
    const TempFolder other;
    std::filesystem::create_directories(std::filesystem::path(other / file).parent_path());
    write_atomically(other / file, std::string_view("precious"));
    EXPECT_THROW(sweep.run(other.path(), ThreadPool(1), [](std::size_t, std::size_t) {}), Error) << file;
    EXPECT_EQ(read_text(other / file), "precious");
    EXPECT_FALSE(file_exists(other / "lock"));
  };
  for (const char* file : {"results.csv", "shares.svg", "config.json", "notes/thoughts.txt"}) refused(file);
  for (int twice = 0; twice < 2; ++twice) {  // its own files are no others, nor is what a kill left of one
    EXPECT_EQ(sweep.run(folder.path(), ThreadPool(1), [](std::size_t, std::size_t) {}).size(), 1u);
    for (const char* own : {"results.csv", ".results.csv.espalier-tmp-2147483646-0"})
      write_atomically(folder / own, std::string_view("of the sweep"));
    make_folder(folder / "notes");  // and others may come later
    for (const char* later : {"nohup.out", "notes/thoughts.txt", "defaults/thoughts.txt"})
      write_atomically(folder / later, std::string_view("precious"));
  }
  EXPECT_EQ(read_text(folder / "nohup.out"), "precious");
}

TEST(Sweep, AFolderHasOneSweepAtATime) {
  const TempFolder folder;
  make_folder(folder / "s");
  const auto run = [&] {
    return Sweep("checkerboard-small", kSmall, {}, 1, 1).run(folder / "s", ThreadPool(1), [](std::size_t, std::size_t) {
    });
  };
  {
    const FileLock other(folder / "s/lock", folder / "s", "sweeping in");
    EXPECT_THROW(run(), Error);
    EXPECT_FALSE(is_folder(folder / "s/defaults"));
  }
  EXPECT_EQ(run()[0].seeds.size(), 1u);
  EXPECT_FALSE(file_exists(folder / "s/lock"));
}

}  // namespace
}  // namespace espalier
