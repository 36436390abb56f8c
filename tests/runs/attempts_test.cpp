// One seed under a budget: further attempts, searches in the middle of training, ways back to good weights, and models
// that training begins with. The same bits for any threads and after a stop.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/model.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "models/lattice/trials.hpp"
#include "small_runs.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

namespace fs = std::filesystem;

std::string model_hash(const std::string& folder) {
  return read_safetensors(folder + "/model.safetensors").tensors_hash();
}

// Of the first seed that is not solved alone, but by one of the attempts after it.
RunConfig unlucky_picture(const TempFolder& folder) {
  RunConfig config = small_picture(folder);
  ThreadPool pool(2);
  for (config.seed = 1; config.seed < 30; ++config.seed) {
    config.budget = 0;
    if (TrainingRun::create(config, {}).train(pool).best().solved) continue;
    config.budget = 8 * config.train.steps;
    const RunReport report = TrainingRun::create(config, {}).train(pool);
    if (report.best().solved) return config;
  }
  ADD_FAILURE() << "no seed is of use";
  return config;
}

TEST(Attempts, FollowEachOtherUntilOneIsSolvedForAnyNumberOfThreads) {
  const Oversubscribe many;
  const TempFolder folder;
  const RunConfig config = unlucky_picture(folder);
  std::string first;
  for (const int threads : kThreadCounts) {
    ThreadPool pool(threads);
    const std::string out = folder / fmt::format("run-{}", threads);
    const RunReport report = TrainingRun::create(config, {.folder = out}).train(pool);
    ASSERT_TRUE(report.best().solved);
    EXPECT_EQ(report.winner + 1, report.seeds.size());
    for (std::size_t i = 0; i < report.winner; ++i) EXPECT_FALSE(report.seeds[i].solved);
    if (first.empty()) first = model_hash(out);
    EXPECT_EQ(model_hash(out), first);
    EXPECT_EQ(model_hash(out), model_hash(fmt::format("{}/seed-{}", out, report.best().seed)));
  }
}

TEST(Attempts, StoppedInOneAndResumedTheyEndInTheSameModel) {
  const TempFolder folder;
  const RunConfig config = unlucky_picture(folder);
  ThreadPool pool(1);
  const std::string whole = folder / "whole", pieces = folder / "pieces";
  const RunReport expected = TrainingRun::create(config, {.folder = whole}).train(pool);
  {
    auto run = TrainingRun::create(config, {.folder = pieces});
    run.listen([&](const RunEvent& event) {
      if (event.seed != config.seed && event.state && event.state->step == 7) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
  }
  const RunReport report = TrainingRun::resume(pieces).train(pool);
  ASSERT_EQ(report.seeds.size(), expected.seeds.size());
  for (std::size_t i = 0; i < report.seeds.size(); ++i)
    EXPECT_EQ(report.seeds[i].weights_hash, expected.seeds[i].weights_hash);
  EXPECT_EQ(model_hash(pieces), model_hash(whole));
  EXPECT_EQ(TrainingRun::resume(pieces).train(pool).best().weights_hash, expected.best().weights_hash);
}

TEST(Attempts, EndWhenTheBudgetIsSpentAndGoOnWithALargerOne) {
  const TempFolder folder;
  RunConfig config = small_picture(folder);
  config.train.steps = 3;
  config.budget = 7;
  ThreadPool pool(2);
  const std::string out = folder / "run";
  EXPECT_EQ(TrainingRun::create(config, {.folder = out}).train(pool).seeds.size(), 3u);
  EXPECT_EQ(TrainingRun::resume(out, {}, 0, 12).train(pool).seeds.size(), 4u);
  EXPECT_THROW(TrainingRun::resume(out, {}, 0, 11), Error);
}

TEST(Attempts, ABudgetThatIsAskedForIsKeptOrRefusedAlsoWhereItIsTheTasksOwn) {
  const TempFolder folder;
  const auto budget = [&](const std::vector<std::pair<std::string, std::string>>& more) {
    RunConfig config = configure("pattern", {{"target", small_target(folder)}});
    for (const auto& [name, value] : more) config.set(name, value);
    return TrainingRun::create(config, {}).config().budget;
  };
  const std::string own = std::to_string(find_task("pattern").budget);
  EXPECT_EQ(budget({{"train-steps", "3"}}), 0u);  // a quick try
  EXPECT_EQ(std::to_string(budget({{"train-steps", "3"}, {"budget", own}})), own);
  EXPECT_EQ(budget({{"seeds", "2"}, {"budget", "0"}}), 0u);
  EXPECT_NO_THROW(budget({{"seeds", "2"}}));
  for (const std::string& named : {std::string("99"), own}) {
    const std::string message = message_of<Error>([&] { budget({{"seeds", "2"}, {"budget", named}}); });
    EXPECT_NE(message.find("got " + named + " for 2 seeds, expected a single seed"), std::string::npos) << message;
  }
}

RunConfig searched_picture(const TempFolder& folder) {
  RunConfig config = small_picture(folder);
  config.train.steps = 40;
  config.set("refine", "200000");
  config.set("refine-every", "4");
  return config;
}

TEST(Searches, InTheMiddleOfTrainingEndItForAnyNumberOfThreads) {
  const Oversubscribe many;
  const TempFolder folder;
  std::string first;
  for (const int threads : kThreadCounts) {
    ThreadPool pool(threads);
    const std::string out = folder / fmt::format("run-{}", threads);
    auto run = TrainingRun::create(searched_picture(folder), {.folder = out});
    const Events events(run);
    const RunReport report = run.train(pool);
    EXPECT_TRUE(report.best().solved);
    EXPECT_LT(report.best().steps, 40u);
    EXPECT_FALSE(events.of(RunEvent::Kind::kSearch).empty());
    if (first.empty()) first = model_hash(out);
    EXPECT_EQ(model_hash(out), first);
  }
}

TEST(Searches, StoppedAndResumedEndInTheSameModel) {
  const TempFolder folder;
  ThreadPool pool(1);
  TrainingRun::create(searched_picture(folder), {.folder = folder / "whole"}).train(pool);
  {
    auto run = TrainingRun::create(searched_picture(folder), {.folder = folder / "pieces"});
    run.listen([&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::kSearch) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
  }
  EXPECT_TRUE(TrainingRun::resume(folder / "pieces").train(pool).best().solved);
  EXPECT_EQ(model_hash(folder / "pieces"), model_hash(folder / "whole"));
}

TEST(StraightThrough, GoesBackToTheBestWeightsWhenItLosesThem) {
  const TempFolder folder;
  RunConfig config = steady_picture(folder, 60);
  config.set("straight-from", "0.3");
  config.set("lr", "3");
  config.set("eval-every", "1");
  ThreadPool pool(1);
  const std::string whole = folder / "whole", pieces = folder / "pieces";
  std::uint64_t returns = 0;
  {
    auto run = TrainingRun::create(config, {.folder = whole});
    run.listen([&](const RunEvent& event) {
      if (event.kind != RunEvent::Kind::kEvaluated || event.state->returns == returns) return;
      returns = event.state->returns;
      const auto values = event.trainer->objective().parameters().values();
      EXPECT_TRUE(std::ranges::equal(values, event.state->best_values));
    });
    run.train(pool);
  }
  EXPECT_GT(returns, 0u);
  {
    auto run = TrainingRun::create(config, {.folder = pieces});
    run.listen([&](const RunEvent& event) {
      if (event.state && event.state->step == 40) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
  }
  EXPECT_EQ(TrainingRun::resume(pieces).train(pool).best().weights_hash,
            TrainingRun::resume(whole).train(pool).best().weights_hash);
}

TEST(From, ARefinedModelIsWhereTrainingGoesOn) {
  const TempFolder folder;
  ThreadPool pool(1);
  ASSERT_TRUE(TrainingRun::create(searched_picture(folder), {.folder = folder / "first"}).train(pool).best().solved);
  ASSERT_TRUE(dynamic_cast<const LatticeModel&>(*load_model(folder / "first").model).is_refined());
  RunConfig config = small_picture(folder);
  config.set("from", folder / "first");
  const RunReport soft = TrainingRun::create(config, {.folder = folder / "second"}).train(pool);
  EXPECT_TRUE(soft.best().solved);
  EXPECT_EQ(soft.best().steps, 0u);  // nothing was lost
  const LoadedModel second = load_model(folder / "second");
  const auto& model = dynamic_cast<const LatticeModel&>(*second.model);
  EXPECT_FALSE(model.is_refined());
  const std::string update = format_layers(model.automaton().options().update);
  EXPECT_NE(update, "32x2,16,8,4");  // wider, as the circuit needs it
  EXPECT_NE(read_text(folder / "second/config.json").find("\"update\": \"" + update + "\""), std::string::npos)
      << update;
  config.train.until_solved = false;
  config.train.steps = 5;
  const RunReport on = TrainingRun::create(config, {}).train(pool);
  EXPECT_NE(on.best().weights_hash, soft.best().weights_hash);
}

TEST(Keep, PicturesThatStayAndHealAreFinishedForAnyNumberOfThreads) {
  const Oversubscribe many;
  const TempFolder folder;
  for (const char* keep : {"persist", "heal"}) {
    std::string first;
    for (const int threads : kThreadCounts) {
      RunConfig config = searched_picture(folder);
      config.set(keep, "true");
      ThreadPool pool(threads);
      const std::string out = folder / fmt::format("{}-{}", keep, threads);
      EXPECT_TRUE(TrainingRun::create(config, {.folder = out}).train(pool).best().solved);
      const LoadedModel loaded = load_model(out);
      const auto& model = dynamic_cast<const LatticeModel&>(*loaded.model);
      EXPECT_THAT(failed_trials(model, model.goal().kept(), kChoosingDraw, pool), testing::IsEmpty());
      if (first.empty()) first = model_hash(out);
      EXPECT_EQ(model_hash(out), first);
    }
  }
}

// A run that searches again and again and solves nothing, with its files as they were after every checkpoint.
class Killed : public testing::Test {
 protected:
  void train_whole(const RunConfig& config) {
    const std::string path = folder_ / "whole";
    auto run = TrainingRun::create(config, {.folder = path, .checkpoint_every = 3});
    config_ = config.text();
    run.listen([&](const RunEvent& event) {
      if (event.kind != RunEvent::Kind::kCheckpoint || event.seed != config.seed) return;
      moments_.push_back({read_text(path + "/checkpoint.safetensors"), read_text(path + "/model.safetensors")});
    });
    ThreadPool pool(1);
    report_ = run.train(pool);
    model_ = model_hash(path);
  }

  // With the checkpoint of a moment and a model of another one, or none.
  void expect_same(const std::string& checkpoint, const std::string& model, const std::string& what) {
    const TempFolder folder;
    write_atomically(folder / "config.json", std::string_view(config_));
    write_atomically(folder / "checkpoint.safetensors", std::string_view(checkpoint));
    if (!model.empty()) write_atomically(folder / "model.safetensors", std::string_view(model));
    ThreadPool pool(1);
    const RunReport report = TrainingRun::resume(folder.path(), {.checkpoint_every = 3}).train(pool);
    EXPECT_EQ(model_hash(folder.path()), model_) << what;
    EXPECT_EQ(report.best().verdict.score, report_.best().verdict.score) << what;
    EXPECT_EQ(report.best().weights_hash, report_.best().weights_hash) << what;
  }

  struct Moment {
    std::string checkpoint, model;
  };
  TempFolder folder_;
  std::string config_, model_;
  std::vector<Moment> moments_;
  RunReport report_;
};

TEST_F(Killed, BetweenModelAndCheckpointTheSearchGoesOnFromTheCheckpointAlone) {
  std::size_t ahead = 0;  // moments at which the model is of a search that the checkpoint knows nothing of
  for (const std::uint64_t seed : {1, 2, 3}) {
    moments_.clear();
    RunConfig config = searched_picture(folder_);
    config.seed = seed;
    config.train.steps = 16;
    config.set("refine", "700");
    train_whole(config);
    fs::remove_all(folder_ / "whole");
    ASSERT_GT(moments_.size(), 4u);
    for (std::size_t i = 0; i + 1 < moments_.size(); ++i) {
      ahead +=
          moments_[i].model != moments_[i + 1].model && moments_[i + 1].model.find("cell.gates") != std::string::npos;
      expect_same(moments_[i].checkpoint, moments_[i + 1].model, fmt::format("seed {}, the next model at {}", seed, i));
      expect_same(moments_[i].checkpoint, moments_.back().model, fmt::format("seed {}, the last model at {}", seed, i));
      expect_same(moments_[i].checkpoint, "", fmt::format("seed {}, no model at {}", seed, i));
    }
  }
  EXPECT_GT(ahead, 2u) << "choose other options for this test";
}

TEST_F(Killed, InAttemptsUnderABudgetTheyAreTheSameOnes) {
  RunConfig config = searched_picture(folder_);
  config.train.steps = 8;
  config.set("refine", "700");
  config.budget = 60;
  train_whole(config);
  ASSERT_GT(report_.seeds.size(), 1u);
  for (std::size_t i = 0; i + 1 < moments_.size(); ++i)
    expect_same(moments_[i].checkpoint, moments_.back().model, fmt::format("the last model at {}", i));
  expect_same(moments_.back().checkpoint, read_text(folder_ / "whole/model.safetensors"), "the winner's model");
}

}  // namespace
}  // namespace espalier
