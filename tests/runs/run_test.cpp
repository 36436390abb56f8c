// Runs as objects: in memory or in a folder, several at once, stopped, gone on with, given more steps.
#include "espalier/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <functional>
#include <thread>

#include "espalier/error.hpp"
#include "runs/small_runs.hpp"
#include "thread_counts.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using Kind = RunEvent::Kind;
namespace fs = std::filesystem;

SeedReport train(TrainingRun run) {
  ThreadPool pool(2);
  return run.train(pool).best();
}

// Configurations of every kind of model.
std::vector<RunConfig> every_kind(const TempFolder& folder) {
  std::vector<RunConfig> all;
  all.push_back(steady_picture(folder));
  all.push_back(steady_picture(folder));
  for (const auto& [name, value] : {std::pair{"parametrisation", "entries"}, {"gumbel-final", "1"}})
    all.back().set(name, value);
  all.push_back(steady_picture(folder));
  for (const auto& [name, value] : {std::pair{"candidates", "4"}, {"gumbel-final", "1"}}) all.back().set(name, value);
  all.push_back(pooled_picture(folder));
  all.push_back(small_table(folder));
  all.push_back(small_simplify());
  return all;
}

TEST(Run, InMemoryItGivesTheBitsOfARunInAFolder) {
  const TempFolder folder;
  int number = 0;
  for (const RunConfig& config : every_kind(folder)) {
    const std::string path = folder / ("run-" + std::to_string(number++));
    const SeedReport kept = train(TrainingRun::create(config, {.folder = path}));
    ThreadPool pool(1);
    TrainingRun run = TrainingRun::create(config, {});
    EXPECT_EQ(run.folder(), "");
    const RunReport report = run.train(pool);
    EXPECT_EQ(report.best().weights_hash, kept.weights_hash) << config.task;
    EXPECT_EQ(report.best().verdict.score, kept.verdict.score);
    EXPECT_EQ(report.best().facts, kept.facts);
    EXPECT_EQ(report.best().steps, config.train.steps);
    EXPECT_EQ(report.best().outcome, "finished");
    const auto best = run.best_model();
    const LoadedModel stored = load_model(path);
    EXPECT_EQ(best->parameters().hash(), stored.model->parameters().hash());
    EXPECT_EQ(best->kind(), stored.model->kind());
    EXPECT_EQ(best->facts(), stored.model->facts());
    EXPECT_EQ(stored.notes.at("config"), config.text());
    EXPECT_EQ(stored.notes.at("step"), std::to_string(kept.best_step));
  }
}

TEST(Run, TheFolderHoldsAllThatWasPromised) {
  const TempFolder folder;
  train(TrainingRun::create(steady_picture(folder), {.folder = folder / "run"}));
  for (const char* name : {"config.json", "metrics.csv", "model.safetensors", "checkpoint.safetensors", "loss.svg",
                           "gates.svg", "growth.gif"})
    EXPECT_TRUE(fs::exists(folder / "run/" + name)) << name;
  EXPECT_EQ(read_text(folder / "run/config.json"), steady_picture(folder).text());
}

TEST(Run, TwoAtOnceInTwoThreadsAreAsTwoAlone) {
  const TempFolder folder;
  RunConfig first = steady_picture(folder), second = first;
  second.seed = 2;
  const std::string expected[] = {train(TrainingRun::create(first, {})).weights_hash,
                                  train(TrainingRun::create(second, {})).weights_hash};
  EXPECT_NE(expected[0], expected[1]);
  std::string hashes[4];
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        const RunConfig& config = i % 2 ? second : first;
        hashes[i] = train(TrainingRun::create(config, {.folder = i < 2 ? "" : folder / ("run-" + std::to_string(i))}))
                        .weights_hash;
      });
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(hashes[i], expected[i % 2]) << i;
}

TEST(Run, StoppedAtAnyStepAndResumedItEndsInTheSameBits) {
  const TempFolder folder;
  int number = 0;
  for (const RunConfig& config : every_kind(folder)) {
    const std::string whole = train(TrainingRun::create(config, {})).weights_hash;
    for (const std::uint64_t at : {1u, 5u, 7u, 11u}) {
      const std::string path = folder / ("run-" + std::to_string(number++));
      {
        ThreadPool pool(2);
        TrainingRun run = TrainingRun::create(config, {.folder = path});
        run.listen([&](const RunEvent& event) {
          if ((event.kind == Kind::kStep || event.kind == Kind::kEvaluated) && event.trainer->state().step == at)
            run.control().stop();
        });
        const RunReport report = run.train(pool);
        EXPECT_TRUE(report.interrupted);
        EXPECT_EQ(report.best().steps, at);
        EXPECT_EQ(report.best().outcome, "interrupted");
      }
      EXPECT_EQ(train(TrainingRun::resume(path)).weights_hash, whole) << config.task << " stopped after " << at;
    }
  }
}

TEST(Run, AFinishedRunGivenMoreStepsGoesOn) {
  const TempFolder folder;
  // With a constant rate and no recipe over time, thirty and ten steps are forty.
  RunConfig config = steady_picture(folder, 30);
  const std::string path = folder / "run";
  train(TrainingRun::create(config, {.folder = path}));
  const std::string metrics = read_text(path + "/metrics.csv");
  const SeedReport longer = train(TrainingRun::resume(path, {}, 40));
  EXPECT_EQ(longer.steps, 40u);
  EXPECT_EQ(longer.phase_steps, 10u);
  EXPECT_EQ(longer.weights_hash, train(TrainingRun::create(steady_picture(folder, 40), {})).weights_hash);
  EXPECT_TRUE(read_text(path + "/metrics.csv").starts_with(metrics));
  EXPECT_THAT(read_text(path + "/config.json"), HasSubstr("\"train-steps\": 40"));
  // The new number of steps is that of the run from now on.
  EXPECT_EQ(train(TrainingRun::resume(path)).phase_steps, 0u);
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::resume(path, {}, 39); }), HasSubstr("at least the 40"));
  EXPECT_THAT(read_text(path + "/config.json"), HasSubstr("\"train-steps\": 40"));
}

TEST(Run, MoreStepsAreAlsoSavedWherePatienceWasGiven) {
  const TempFolder folder;
  RunConfig config = steady_picture(folder, 20);
  config.train.patience = 1000;
  train(TrainingRun::create(config, {.folder = folder / "run"}));
  const SeedReport longer = train(TrainingRun::resume(folder / "run", {}, 35));
  EXPECT_EQ(longer.steps, 35u);
  const SeedReport again = train(TrainingRun::resume(folder / "run"));
  EXPECT_EQ(again.steps, 35u);
  EXPECT_EQ(again.phase_steps, 0u);
  EXPECT_EQ(again.weights_hash, longer.weights_hash);
}

TEST(Run, ASolvedOrHopelessRunStaysAsItIsWhateverTheSteps) {
  const TempFolder folder;
  RunConfig config = small_picture(folder);
  config.seed = 2;
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    config.seed = seed;
    if (train(TrainingRun::create(config, {})).solved) break;
  }
  const SeedReport solved = train(TrainingRun::create(config, {.folder = folder / "solved"}));
  ASSERT_TRUE(solved.solved);
  const SeedReport again = train(TrainingRun::resume(folder / "solved", {}, 5000));
  EXPECT_EQ(again.steps, solved.steps);
  EXPECT_EQ(again.outcome, "solved");
  config.train.schedule.lr = 0;
  config.train.patience = 3;
  const SeedReport hopeless = train(TrainingRun::create(config, {.folder = folder / "hopeless"}));
  EXPECT_EQ(hopeless.outcome, "hopeless");
  EXPECT_EQ(train(TrainingRun::resume(folder / "hopeless", {}, 5000)).steps, hopeless.steps);
}

TEST(Run, PicturesThatAreMissingAreMadeAgain) {
  const TempFolder folder;
  const std::string path = folder / "run";
  train(TrainingRun::create(steady_picture(folder), {.folder = path}));
  const std::string names[] = {"loss.svg", "gates.svg", "growth.gif"};
  std::vector<std::string> before;
  for (const std::string& name : names) before.push_back(read_text(path + "/" + name));
  fs::remove(path + "/loss.svg");
  fs::remove(path + "/growth.gif");
  write_atomically(path + "/gates.svg", std::string_view("mine now"));
  EXPECT_EQ(train(TrainingRun::resume(path)).phase_steps, 0u);
  EXPECT_EQ(read_text(path + "/loss.svg"), before[0]);
  EXPECT_EQ(read_text(path + "/gates.svg"), "mine now");
  EXPECT_EQ(read_text(path + "/growth.gif"), before[2]);
}

TEST(Run, EmptyPicturesAreMadeAgainAndThoseOfLostMetricsAreLeftOut) {
  const TempFolder folder;
  const std::string path = folder / "run";
  train(TrainingRun::create(steady_picture(folder), {.folder = path}));
  const std::string growth = read_text(path + "/growth.gif");
  std::ofstream(path + "/growth.gif", std::ios::trunc);
  for (const char* name : {"/metrics.csv", "/loss.svg", "/gates.svg"}) fs::remove(path + name);
  train(TrainingRun::resume(path));
  EXPECT_EQ(read_text(path + "/growth.gif"), growth);
  EXPECT_TRUE(fs::exists(path + "/gates.svg"));
  EXPECT_FALSE(fs::exists(path + "/loss.svg"));
}

TEST(Run, AModelThatIsMissingOrDamagedIsMadeAgainFromTheCheckpoint) {
  const TempFolder folder;
  for (const bool refined : {false, true}) {
    const std::string path = folder / (refined ? "refined" : "trained"), model = path + "/model.safetensors";
    RunConfig config = small_picture(folder);
    config.train.steps = 4;
    config.set("refine", refined ? "200000" : "0");
    const SeedReport before = train(TrainingRun::create(config, {.folder = path}));
    EXPECT_EQ(before.solved, refined);
    const std::string good = read_text(model);
    std::string damaged = good;
    damaged[good.find("\"solved\"") + 11] ^= 1;
    for (const std::string& text : {std::string(), damaged, good.substr(0, good.size() / 2)}) {
      fs::remove(model);
      if (!text.empty()) std::ofstream(model, std::ios::binary) << text;
      TrainingRun run = TrainingRun::resume(path);
      const Events events(run);
      const SeedReport after = train(std::move(run));
      EXPECT_EQ(after.verdict.score, before.verdict.score);
      EXPECT_EQ(after.solved, before.solved);
      EXPECT_EQ(read_text(model), good);
      ASSERT_EQ(events.of(RunEvent::Kind::kMessage).size(), 1u);
      EXPECT_THAT(events.of(RunEvent::Kind::kMessage)[0].text, HasSubstr("recreated"));
    }
  }
}

TEST(Run, WhatIsImpossibleFailsBeforeThereIsAFolder) {
  const TempFolder folder;
  const auto refused = [&](std::initializer_list<std::pair<std::string, std::string>> settings) {
    return message_of<Error>([&] { TrainingRun::create(configure("pattern", settings), {.folder = folder / "run"}); });
  };
  EXPECT_THAT(refused({}), HasSubstr("target"));
  EXPECT_THAT(refused({{"target", folder / "none.txt"}}), HasSubstr("none.txt"));
  EXPECT_THAT(refused({{"target", small_target(folder)}, {"height", "9"}}), HasSubstr("9 x 3"));
  EXPECT_FALSE(fs::exists(folder / "run"));
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::resume(folder / "run"); }), HasSubstr("run"));
}

TEST(Run, ASecondOneInTheSameFolderIsRefused) {
  const TempFolder folder;
  const RunConfig config = steady_picture(folder, 10);
  const std::string path = folder / "run";
  std::optional<TrainingRun> first(TrainingRun::create(config, {.folder = path}));
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::resume(path); }), HasSubstr(std::to_string(getpid())));
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::create(config, {.folder = path, .force = true}); }),
              HasSubstr(std::to_string(getpid())));
  EXPECT_THAT(message_of<Error>([&] { TrainingRun::create(config, {.folder = path}); }),
              HasSubstr(std::to_string(getpid())));
  ThreadPool pool(1);
  first->train(pool);
  message_of<Error>([&] { TrainingRun::resume(path); });  // as long as the object lives
  TrainingRun moved = std::move(*first);
  first.reset();
  message_of<Error>([&] { TrainingRun::resume(path); });
  { const TrainingRun gone = std::move(moved); }
  EXPECT_NO_THROW(TrainingRun::resume(path));
}

TEST(Run, TheReportTellsWhereTheTimeWent) {
  const TempFolder folder;
  for (const RunConfig& plain : every_kind(folder))
    for (const char* reference : {"false", "true"}) {
      RunConfig config = plain;
      config.train.steps = 2;
      config.set("reference", reference);
      const PhaseSeconds p = train(TrainingRun::create(config, {})).phases;
      SCOPED_TRACE(config.task + " " + reference);
      for (const double phase : {p.data, p.forward, p.backward, p.optimizer, p.evaluation}) EXPECT_GT(phase, 0);
      EXPECT_GE(p.whole, p.data + p.forward + p.backward + p.reduction + p.optimizer + p.evaluation + p.search);
    }
  const SeedReport report = train(TrainingRun::create(steady_picture(folder), {}));
  EXPECT_EQ(report.phase_steps, 40u);
  EXPECT_GT(report.num_parameters, 1000u);
  EXPECT_EQ(report.weights_hash.size(), 32u);
}

TEST(Run, BeforeTrainingThereIsNoBestModel) {
  const TempFolder folder;
  TrainingRun run = TrainingRun::create(steady_picture(folder, 2), {});
  EXPECT_THROW(run.best_model(), Error);
  ThreadPool pool(1);
  run.train(pool);
  EXPECT_NE(run.best_model(), nullptr);
  EXPECT_THROW(run.best_model(), Error);  // it was handed over
  EXPECT_THROW(RunReport().best(), Error);
}

TEST(Run, MembersOutOfTheirRangeAreRefusedBeforeThereIsAFolder) {
  const TempFolder folder;
  const RunConfig good = steady_picture(folder, 2);
  const std::pair<const char*, std::function<void(RunConfig&)>> mistakes[] = {
      {"seeds", [](RunConfig& c) { c.seeds = 0; }},
      {"train-steps", [](RunConfig& c) { c.train.steps = 2'000'000'000; }},
      {"eval-every", [](RunConfig& c) { c.train.eval_every = 0; }},
      {"lr", [](RunConfig& c) { c.train.schedule.lr = std::nan(""); }},
      {"beta2", [](RunConfig& c) { c.train.optimizer.beta2 = 1; }},
      {"schedule", [](RunConfig& c) { c.train.schedule.kind = static_cast<ScheduleKind>(7); }}};
  for (const auto& [name, mistake] : mistakes) {
    RunConfig config = good;
    mistake(config);
    EXPECT_THROW(TrainingRun::create(config, {.folder = folder / "run"}), Error) << name;
  }
  for (const double seconds : {-1.0, std::nan("")}) {
    EXPECT_THROW(TrainingRun::create(good, {.folder = folder / "run", .checkpoint_seconds = seconds}), Error);
    EXPECT_THROW(TrainingRun::resume(folder / "run", {.checkpoint_seconds = seconds}), Error);
  }
  EXPECT_FALSE(fs::exists(folder / "run"));
  TrainingRun run = TrainingRun::create(good, {});
  EXPECT_THROW(run.listen({}), Error);
  EXPECT_THROW(TrainingRun::create(good, {.folder = folder / std::string(300, 'n')}), Error);
  EXPECT_THROW(TrainingRun::resume(std::string(5000, 'n')), Error);
  EXPECT_THROW(load_model(std::string(5000, 'n')), Error);
}

// A task of one's own: nothing of a run hangs on the names of ours.
class ToyTask : public TaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<ToyTask>(*this); }
  Fields fields() override {
    Fields f;
    f.add("unused", unused_, "nothing", 0, 1);
    return f;
  }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    return std::make_unique<GrowingToy>(seed);
  }

 private:
  double unused_ = 0.5;
};

TEST(Run, ATaskOfOnesOwnIsTrainedInMemory) {
  const Task task{"toy", "a toy", {.steps = 50, .eval_every = 10}, 3, std::make_shared<ToyTask>()};
  const RunConfig config = RunConfig::parse(RunConfig(task).text(), "text", std::span(&task, 1));
  EXPECT_EQ(config.text(), RunConfig(task).text());
  ThreadPool pool(2);
  TrainingRun run = TrainingRun::create(config, {});
  const RunReport report = run.train(pool);
  ASSERT_EQ(report.seeds.size(), 3u);
  const auto model = run.best_model();
  EXPECT_EQ(model->kind(), "toy");
  EXPECT_FALSE(dynamic_cast<const ToyModel&>(*model).state().longs("grown").empty());
}

TEST(Run, ARegisteredTaskIsResumedByItsName) {
  const Task task{"registered-toy", "a toy", {.steps = 50, .eval_every = 10}, 1, std::make_shared<ToyTask>()};
  register_task(task);
  const TempFolder folder;
  ThreadPool pool(2);
  const std::string whole = train(TrainingRun::create(RunConfig(task), {.folder = folder / "whole"})).weights_hash;
  {
    TrainingRun run = TrainingRun::create(configure("registered-toy"), {.folder = folder / "stopped"});
    run.listen([&](const RunEvent& event) {
      if (event.trainer && event.trainer->state().step == 25) run.control().stop();
    });
    EXPECT_TRUE(run.train(pool).interrupted);
  }
  const SeedReport resumed = train(TrainingRun::resume(folder / "stopped"));
  EXPECT_EQ(resumed.steps, 50u);
  EXPECT_EQ(resumed.weights_hash, whole);
}

TEST(Run, ATaskIsRegisteredOnceUnderANameOfItsOwn) {
  Task task{"raced-toy", "a toy", {}, 1, std::make_shared<ToyTask>()};
  std::atomic<int> refused{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      try {
        register_task(task);
      } catch (const Error&) {
        ++refused;
      }
      EXPECT_EQ(find_task("raced-toy").summary, "a toy");
    });
  threads.clear();
  EXPECT_EQ(refused.load(), 7);
  for (const char* taken : {"life", ""}) {
    task.name = taken;
    EXPECT_THROW(register_task(task), Error) << taken;
  }
  EXPECT_THROW(register_task({"toy-without-options", "a toy", {}, 1, nullptr}), Error);
}

}  // namespace
}  // namespace espalier
