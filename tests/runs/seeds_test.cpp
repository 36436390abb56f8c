// Many seeds at once, on a picture so small that some seeds solve it in no time.
#include "runs/seeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

constexpr int kSeeds = 6;

class SeedsTest : public testing::Test {
 protected:
  SeedsTest() { write_atomically(folder_ / "target.txt", std::string_view("##.\n.##\n#..\n")); }

  Json config(int seeds) const {
    return checked_config({{"task", "pattern"},
                           {"target", folder_ / "target.txt"},
                           {"channels", 4},
                           {"kernels", 4},
                           {"perceive", "8,4,2"},
                           {"update", "32x2,16,8,4"},
                           {"steps", 4},
                           {"epochs", 300},
                           {"eval-every", 5},
                           {"lr", 0.06},
                           {"gumbel", 0.0},
                           {"gumbel-final", 0.0},
                           {"start-logit", 10.0},
                           {"seed", 1},
                           {"seeds", seeds}});
  }

  SeedsReport train(const std::string& name, const ThreadPool& pool, const SeedsWatcher& watcher = always) {
    const RunFolder folder = create_run(folder_ / name, config(kSeeds), false);
    return train_seeds(folder, pool, {}, watcher);
  }

  static bool always(const std::vector<SeedRow>&) { return true; }

  SeedRow alone(std::uint64_t seed) {
    Json own = config(1);
    own["seed"] = seed;
    own["until-solved"] = true;
    const ThreadPool pool(1);
    Session session(create_run(folder_ / ("alone-" + std::to_string(seed)), own, false), pool);
    const Outcome outcome = session.run([](const Trainer&, bool) { return true; });
    const TrainState& s = session.trainer().state();
    SeedRow row;
    row.seed = seed;
    row.epochs = s.epoch;
    row.score = s.best.score;
    row.validation_loss = s.best.loss;
    row.solved = s.best.solved;
    row.summary = session.summary(outcome);
    row.weights_hash = row.summary.at("weights_hash");
    return row;
  }

  Oversubscribe many_;
  TempFolder folder_;
};

TEST_F(SeedsTest, TheWinnerIsTheSameAsOfAllTrainedAloneForAnyThreadCount) {
  std::vector<SeedRow> singles;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) singles.push_back(alone(seed));
  const SeedRow& best = *std::min_element(singles.begin(), singles.end(), wins);
  ASSERT_TRUE(best.solved) << "the picture is too hard for this test";
  for (const int threads : {1, 2, 3, 5, 8}) {
    const SeedsReport report = train("threads-" + std::to_string(threads), ThreadPool(threads));
    const SeedRow& winner = report.rows[report.winner];
    EXPECT_EQ(winner.seed, best.seed) << threads;
    EXPECT_EQ(winner.epochs, best.epochs) << threads;
    EXPECT_EQ(winner.weights_hash, best.weights_hash) << threads;
    for (const SeedRow& row : report.rows) {
      const SeedRow& single = singles[row.seed - 1];
      if (row.outcome == "hopeless") {
        EXPECT_GE(row.epochs, best.epochs) << "stopped while it could still have won";
        EXPECT_FALSE(row.solved);
      } else {
        EXPECT_EQ(row.weights_hash, single.weights_hash) << row.seed;
      }
    }
  }
}

TEST_F(SeedsTest, InterruptedAgainAndAgainTheWinnerIsTheSame) {
  const ThreadPool pool(3);
  const SeedsReport whole = train("whole", pool);
  const RunFolder folder = create_run(folder_ / "pieces", config(kSeeds), false);
  SeedsReport report;
  int pieces = 0;
  do {
    int epochs = 0;
    report = train_seeds(folder, pool, {}, [&](const auto&) { return ++epochs < 250; });
  } while (report.interrupted && ++pieces < 100);
  EXPECT_GT(pieces, 1);
  EXPECT_EQ(report.rows[report.winner].seed, whole.rows[whole.winner].seed);
  EXPECT_EQ(report.rows[report.winner].weights_hash, whole.rows[whole.winner].weights_hash);
  EXPECT_EQ(read_text(folder_ / "pieces/model.safetensors"), read_text(folder_ / "whole/model.safetensors"));
}

TEST_F(SeedsTest, ASeedOfAnotherRunIsRefused) {
  const ThreadPool pool(1);
  const RunFolder folder = create_run(folder_ / "run", config(2), false);
  Json other = config(1);
  other["lr"] = 0.01;
  create_run(folder_ / "run/seed-1", other, false);
  const SeedsReport report = train_seeds(folder, pool, {}, always);
  EXPECT_EQ(report.rows[0].outcome, "failed");
  EXPECT_EQ(report.rows[report.winner].seed, 2u);
  const std::string message = message_of<Error>([&] { std::rethrow_exception(report.rows[0].error); });
  EXPECT_NE(message.find("--force"), std::string::npos) << message;
}

SeedRow row(std::uint64_t seed, std::uint64_t epochs, double score, double loss) {
  SeedRow r;
  r.seed = seed;
  r.epochs = epochs;
  r.score = score;
  r.validation_loss = loss;
  r.solved = score == 1;
  r.summary = {{"seed", seed}};
  return r;
}

TEST(Wins, SolvedFirstThenEpochsThenScoreThenLossThenSeed) {
  // Each wins against all that follow.
  const SeedRow order[] = {row(7, 10, 1, 0),  row(2, 20, 1, 0),    row(3, 20, 1, 0),   row(9, 500, 0.9, 1),
                           row(1, 5, 0.8, 1), row(5, 500, 0.8, 2), row(6, 10, 0.8, 2), SeedRow{}};
  for (std::size_t i = 0; i < std::size(order); ++i)
    for (std::size_t j = 0; j < std::size(order); ++j)
      EXPECT_EQ(wins(order[i], order[j]), i < j) << i << " against " << j;
}

}  // namespace
}  // namespace espalier
