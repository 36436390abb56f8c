// Successive halving: who goes on, the same for any number of threads, in memory and in folders, and after stops.
#include "runs/halving.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "espalier/error.hpp"
#include "runs/small_runs.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;

std::vector<SeedReport> rows(std::initializer_list<double> losses) {
  std::vector<SeedReport> all;
  for (const double loss : losses) {
    all.emplace_back();
    all.back().seed = 7 + all.size();
    all.back().validation_loss = loss;
  }
  return all;
}

TEST(Halving, TheBetterHalfGoesOnForTwiceAsLong) {
  const std::vector<SeedReport> seeds = rows({3, 1, 3, 0.5, 9});
  Halving halving(10, 1000, 5);
  EXPECT_EQ(halving.round_end(), 10u);
  halving.decide(seeds);
  EXPECT_THAT(halving.alive(), ElementsAre(0, 1, 3));  // of the two with 3 the lower seed
  EXPECT_EQ(halving.round_end(), 20u);
  halving.decide(seeds);
  EXPECT_THAT(halving.alive(), ElementsAre(1, 3));
  EXPECT_FALSE(halving.decided());
  halving.decide(seeds);
  EXPECT_THAT(halving.alive(), ElementsAre(3));
  EXPECT_TRUE(halving.decided());
  EXPECT_EQ(halving.round_end(), 1000u);
}

TEST(Halving, WithoutStepsForAnotherRoundAllThatAreLeftGoOn) {
  Halving halving(10, 25, 4);
  halving.decide(rows({4, 3, 2, 1}));
  EXPECT_EQ(halving.round_end(), 20u);
  halving.decide(rows({4, 3, 2, 1}));
  EXPECT_TRUE(halving.decided());
  Halving none(25, 25, 4);
  EXPECT_TRUE(none.decided());
  EXPECT_THAT(none.alive(), ElementsAre(0, 1, 2, 3));
  EXPECT_THROW(Halving(0, 25, 4), Error);
}

TEST(Halving, ItsTableLeadsToTheSameRound) {
  const std::vector<SeedReport> seeds = rows({3, 1, 3, 0.5, 9});
  Halving halving(10, 1000, 5);
  halving.decide(seeds);
  halving.decide(seeds);
  Halving again(10, 1000, 5);
  again.read(halving.table(), "t", seeds);
  EXPECT_EQ(again.alive(), halving.alive());
  EXPECT_EQ(again.round_end(), halving.round_end());
  EXPECT_EQ(again.table(), halving.table());
  const auto refused = [&](std::string table, std::uint64_t first = 10) {
    Halving other(first, 1000, 5);
    EXPECT_THROW(other.read(table, "t", seeds), Error) << table;
  };
  const std::string whole = halving.table();
  refused("");
  refused("seed\n");
  refused(whole, 20);                                                 // other rounds
  refused(whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));  // a line too few
  refused(whole + "3,40,9,0,1,1\n3,40,11,0,1,1\n");                   // two of two
  std::string foreign = whole;
  foreign.replace(foreign.find(",8,"), 3, ",5,");
  refused(foreign);
}

class HalvingRuns : public testing::Test {
 protected:
  // None solves it so soon.
  RunConfig config() const {
    RunConfig c = small_picture(folder_, 6);
    c.halving = 4;
    c.train.steps = 30;
    c.train.eval_every = 2;
    return c;
  }
  // A seed alone, stopped after so many steps of the same plan.
  SeedReport after(std::uint64_t seed, std::uint64_t steps) const {
    RunConfig own = config();
    own.seed = seed;
    own.seeds = 1;
    own.halving = 0;
    ThreadPool pool(1);
    TrainingRun run = TrainingRun::create(own, {});
    run.listen([&](const RunEvent& event) {
      const bool step = event.kind == RunEvent::Kind::kStep || event.kind == RunEvent::Kind::kEvaluated;
      if (step && event.trainer->state().step == steps) run.control().stop();
    });
    return run.train(pool).best();
  }
  static std::string told(const RunReport& report) {
    std::string text;
    for (const SeedReport& row : report.seeds)
      text += std::to_string(row.seed) + " " + std::to_string(row.steps) + " " + row.outcome + " " + row.weights_hash +
              "\n";
    return text + std::to_string(report.best().seed);
  }

  Oversubscribe many_;
  TempFolder folder_;
};

TEST_F(HalvingRuns, AreTheSameForAnyThreadCountInMemoryAndInAFolder) {
  std::string expected;
  for (const int threads : kThreadCounts)
    for (const bool in_folder : {false, true}) {
      const std::string path = in_folder ? folder_ / ("run-" + std::to_string(threads)) : "";
      ThreadPool pool(threads);
      RunReport report;
      {
        TrainingRun run = TrainingRun::create(config(), {.folder = path});
        report = run.train(pool);
        EXPECT_NE(run.best_model(), nullptr);
      }
      if (expected.empty()) expected = told(report);
      EXPECT_EQ(told(report), expected) << threads;
      if (!in_folder) continue;
      EXPECT_EQ(read_text(path + "/halving.csv").substr(0, 6), "round,");
      EXPECT_TRUE(std::filesystem::exists(path + "/model.safetensors"));
      // Read again, a finished run tells the same.
      EXPECT_EQ(told(TrainingRun::resume(path).train(pool)), expected);
    }
}

TEST_F(HalvingRuns, EverySeedIsAsTrainedAloneUpToWhereItWasDropped) {
  ThreadPool pool(2);
  const RunReport report = TrainingRun::create(config(), {}).train(pool);
  std::vector<std::uint64_t> steps;
  for (const SeedReport& row : report.seeds) {
    steps.push_back(row.steps);
    EXPECT_EQ(row.weights_hash, after(row.seed, row.steps).weights_hash);
    EXPECT_EQ(row.outcome, row.steps == 30 ? "finished" : "dropped");
  }
  std::ranges::sort(steps);
  EXPECT_THAT(steps, ElementsAre(4, 4, 4, 8, 16, 30));
  const SeedReport& winner = report.best();
  EXPECT_EQ(winner.steps, 30u);
  EXPECT_EQ(winner.weights_hash, after(winner.seed, 30).weights_hash);
  // In each round nobody that was dropped was better than one that went on.
  for (const std::uint64_t round : {4u, 8u, 16u})
    for (const SeedReport& out : report.seeds)
      for (const SeedReport& on : report.seeds)
        if (out.steps == round && on.steps > round) {
          const SeedReport then = after(on.seed, round);
          EXPECT_GE(then.validation_score, out.validation_score) << on.seed << " " << out.seed;
        }
}

TEST_F(HalvingRuns, StoppedAgainAndAgainEndAlike) {
  ThreadPool pool(3);
  const std::string expected = told(TrainingRun::create(config(), {}).train(pool));
  const std::string path = folder_ / "stopped";
  std::optional<TrainingRun> run(TrainingRun::create(config(), {.folder = path}));
  for (int stops = 0;; ++stops) {
    ASSERT_LT(stops, 200);
    int left = 5;
    run->listen([&](const RunEvent& event) {
      const bool step = event.kind == RunEvent::Kind::kStep || event.kind == RunEvent::Kind::kEvaluated;
      if (step && --left == 0) run->control().stop();
    });
    const RunReport report = run->train(pool);
    if (!report.interrupted) {
      EXPECT_GT(stops, 3);
      EXPECT_EQ(told(report), expected);
      break;
    }
    run.reset();
    run.emplace(TrainingRun::resume(path));
  }
}

TEST_F(HalvingRuns, ASeedThatSolvesTheTaskEndsThemForAnyThreadCount) {
  RunConfig longer = config();
  longer.train.steps = 300;
  longer.halving = 120;
  std::string expected;
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    const RunReport report = TrainingRun::create(longer, {}).train(pool);
    ASSERT_TRUE(report.best().solved) << "choose other options for this test";
    const std::string got = std::to_string(report.best().seed) + report.best().weights_hash;
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected) << threads;
  }
}

TEST_F(HalvingRuns, OneInThePlaceOfAnotherKeepsNothingOfIt) {
  ThreadPool pool(2);
  const std::string path = folder_ / "run";
  TrainingRun::create(config(), {.folder = path}).train(pool);
  RunConfig other = config();
  other.halving = 8;
  const std::string expected = told(TrainingRun::create(other, {}).train(pool));
  EXPECT_EQ(told(TrainingRun::create(other, {.folder = path, .force = true}).train(pool)), expected);
}

TEST_F(HalvingRuns, NeedSeveralSeeds) {
  RunConfig one = config();
  one.seeds = 1;
  EXPECT_THROW(TrainingRun::create(one, {.folder = folder_ / "one"}), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "one"));
}

}  // namespace
}  // namespace espalier
