// A run steered from other threads, and the events it tells. Whatever is asked, the bits do not change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "espalier/random.hpp"
#include "runs/small_runs.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using Kind = RunEvent::Kind;
using testing::HasSubstr;

void sleep_us(std::uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// Waits until something happens in another thread; a minute means never.
template <class Happened>
bool within_a_minute(Happened&& happened) {
  for (int i = 0; i < 60'000 && !happened(); ++i) sleep_us(1000);
  return happened();
}

TEST(RunEvents, EveryKindArrivesAndStepsAreInOrder) {
  const TempFolder folder;
  ThreadPool pool(2);
  TrainingRun run = TrainingRun::create(steady_picture(folder, 23), {.folder = folder / "run", .checkpoint_every = 10});
  const Events events(run);
  run.listen([&](const RunEvent& event) {
    if (event.kind == Kind::kStep && event.trainer->state().step == 12) run.control().snapshot();
  });
  run.train(pool);
  const auto all = events.list();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().kind, Kind::kSeedStarted);
  EXPECT_EQ(all.back().kind, Kind::kSeedEnded);
  std::vector<std::uint64_t> steps, evaluated, expected;
  for (const auto& seen : all) {
    EXPECT_EQ(seen.seed, 1u);
    if (seen.kind == Kind::kStep || seen.kind == Kind::kEvaluated) steps.push_back(seen.step);
    if (seen.kind == Kind::kEvaluated) evaluated.push_back(seen.step);
  }
  for (std::uint64_t i = 1; i <= 23; ++i) expected.push_back(i);
  EXPECT_EQ(steps, expected);
  EXPECT_EQ(evaluated, (std::vector<std::uint64_t>{5, 10, 15, 20, 23}));
  std::vector<std::uint64_t> saved;
  for (const auto& seen : events.of(Kind::kCheckpoint)) saved.push_back(seen.step);
  EXPECT_EQ(saved, (std::vector<std::uint64_t>{10, 20, 23}));
  ASSERT_EQ(events.of(Kind::kSnapshot).size(), 1u);
  EXPECT_EQ(events.of(Kind::kSnapshot)[0].step, 12u);
  EXPECT_TRUE(events.of(Kind::kMessage).empty());
}

TEST(RunEvents, AllListenersHearOfAllSeedsOneEventAtATime) {
  const Oversubscribe many;
  const TempFolder folder;
  ThreadPool pool(3);
  RunConfig config = small_picture(folder, 3);
  config.train.steps = 20;
  TrainingRun run = TrainingRun::create(config, {});
  std::atomic<int> inside = 0, heard[2] = {0, 0};
  for (int i = 0; i < 2; ++i)
    run.listen([&, i](const RunEvent&) {
      EXPECT_EQ(++inside, 1);
      ++heard[i];
      sleep_us(20);
      --inside;
    });
  const Events events(run);
  run.train(pool);
  EXPECT_EQ(heard[0], heard[1]);
  EXPECT_EQ(events.of(Kind::kSeedStarted).size(), events.of(Kind::kSeedEnded).size());
  std::map<std::uint64_t, std::uint64_t> last;
  for (const auto& seen : events.list())
    if (seen.kind == Kind::kStep || seen.kind == Kind::kEvaluated) {
      EXPECT_EQ(seen.step, ++last[seen.seed]);
    }
}

TEST(RunEvents, AListenerThatThrowsFailsTheRunAndTheFolderIsFree) {
  const TempFolder folder;
  ThreadPool pool(1);
  {
    TrainingRun run = TrainingRun::create(steady_picture(folder), {.folder = folder / "run", .checkpoint_every = 1});
    run.listen([](const RunEvent& event) {
      if (event.kind == Kind::kStep && event.trainer->state().step == 7) throw std::runtime_error("a listener's own");
    });
    EXPECT_EQ(message_of<std::runtime_error>([&] { run.train(pool); }), "a listener's own");
  }
  TrainingRun again = TrainingRun::resume(folder / "run");
  EXPECT_EQ(again.train(pool).best().weights_hash,
            TrainingRun::create(steady_picture(folder), {}).train(pool).best().weights_hash);
}

// --- From other threads.

class ControlTest : public testing::Test {
 protected:
  RunConfig config() const { return steady_picture(folder_, 400); }
  std::string whole() const {
    ThreadPool pool(2);
    return TrainingRun::create(config(), {}).train(pool).best().weights_hash;
  }
  TempFolder folder_;
};

TEST_F(ControlTest, PausedItStandsStillUntilItIsResumed) {
  ThreadPool pool(2);
  TrainingRun run = TrainingRun::create(config(), {.folder = folder_ / "run"});
  std::atomic<std::uint64_t> step = 0, saved = 0;
  run.listen([&](const RunEvent& event) {
    if (event.kind == Kind::kStep || event.kind == Kind::kEvaluated) step = event.trainer->state().step;
    if (event.kind == Kind::kCheckpoint) saved = event.trainer->state().step;
    if (event.kind == Kind::kStep && step == 21) run.control().pause();
  });
  RunReport report;
  std::jthread trainer([&] { report = run.train(pool); });
  EXPECT_TRUE(within_a_minute([&] { return run.control().paused() && saved >= 21; })) << "saved before it waits";
  sleep_us(50'000);
  const std::uint64_t at = step;
  sleep_us(100'000);
  EXPECT_EQ(step, at);
  EXPECT_LT(at, 400u);
  run.control().resume();
  trainer.join();
  EXPECT_FALSE(run.control().paused());
  EXPECT_FALSE(report.interrupted);
  EXPECT_EQ(report.best().weights_hash, whole());
}

TEST_F(ControlTest, WhilePausedItSavesAndShowsItselfAndCanBeStopped) {
  ThreadPool pool(2);
  std::string at_pause;
  {
    TrainingRun run = TrainingRun::create(config(), {.folder = folder_ / "run"});
    const Events events(run);
    std::shared_ptr<const Model> shown;
    std::mutex mutex;
    run.listen([&](const RunEvent& event) {
      const std::lock_guard lock(mutex);
      if (event.kind == Kind::kStep && event.trainer->state().step == 21) run.control().pause();
      if (event.kind == Kind::kSnapshot) {
        shown = event.snapshot;
        at_pause = event.trainer->objective().parameters().hash();
      }
    });
    RunReport report;
    std::jthread trainer([&] { report = run.train(pool); });
    ASSERT_TRUE(within_a_minute([&] { return !events.of(Kind::kCheckpoint).empty(); }));
    const std::size_t before = events.of(Kind::kCheckpoint).size();
    run.control().snapshot();
    EXPECT_TRUE(within_a_minute([&] { return events.of(Kind::kSnapshot).size() == 1; }));
    run.control().save();
    EXPECT_TRUE(within_a_minute([&] { return events.of(Kind::kCheckpoint).size() > before; }));
    EXPECT_TRUE(run.control().paused());
    run.control().stop();
    trainer.join();
    EXPECT_TRUE(report.interrupted);
    EXPECT_TRUE(run.control().stopped());
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->parameters().hash(), at_pause);
    EXPECT_EQ(report.best().weights_hash, at_pause) << "it went on while it was paused";
  }
  EXPECT_EQ(TrainingRun::resume(folder_ / "run").train(pool).best().weights_hash, whole());
}

TEST_F(ControlTest, ASnapshotHasTheCurrentWeightsAndIsAModelOfItsOwn) {
  for (const RunConfig& c : {steady_picture(folder_), small_table(folder_), small_simplify()}) {
    ThreadPool pool(2);
    TrainingRun run = TrainingRun::create(c, {});
    struct Shown {
      std::shared_ptr<const Model> model;
      std::vector<std::byte> expected;
    };
    std::vector<Shown> shown;
    run.listen([&](const RunEvent& event) {
      if (event.kind == Kind::kStep || event.kind == Kind::kEvaluated) run.control().snapshot();
      if (event.kind != Kind::kSnapshot) return;
      Objective& objective = event.trainer->objective();
      const auto same = objective.snapshot(objective.parameters().values(), objective.state());
      shown.push_back({event.snapshot, model_file(*same).serialize()});
    });
    const RunReport report = run.train(pool);
    ASSERT_GE(shown.size(), c.train.steps - 1) << c.task;
    for (const auto& [model, expected] : shown) EXPECT_EQ(model_file(*model).serialize(), expected);
    EXPECT_NE(shown.front().expected, shown.back().expected);
    TrainingRun quiet = TrainingRun::create(c, {});
    EXPECT_EQ(report.best().weights_hash, quiet.train(pool).best().weights_hash) << c.task;
    // What a snapshot is: the same as a model that was saved.
    const SafetensorsFile file = SafetensorsFile::parse(shown.back().expected, "snapshot");
    EXPECT_EQ(model_file(*load_model(file, "snapshot").model).serialize(), shown.back().expected) << c.task;
  }
}

TEST_F(ControlTest, StoppedFromAnotherThreadItIsSavedAndGoesOn) {
  const std::string expected = whole();
  const Random random(3, Purpose::kTrial);
  bool interrupted = false;
  for (std::uint64_t attempt = 0; attempt < 8; ++attempt) {
    ThreadPool pool(2);
    const std::string path = folder_ / ("run-" + std::to_string(attempt));
    RunReport report;
    {
      TrainingRun run = TrainingRun::create(config(), {.folder = path});
      std::jthread other([&] {
        sleep_us(random.choice(attempt, 20'000));
        run.control().stop();
      });
      report = run.train(pool);
    }
    interrupted |= report.interrupted && report.best().steps < 400;
    EXPECT_EQ(TrainingRun::resume(path).train(pool).best().weights_hash, expected);
  }
  EXPECT_TRUE(interrupted) << "the run is too quick for this test";
}

TEST_F(ControlTest, StoppedBeforeItBeginsItDoesNothingAndCanBeResumed) {
  ThreadPool pool(1);
  {
    TrainingRun run = TrainingRun::create(config(), {.folder = folder_ / "run"});
    run.control().stop();
    const RunReport report = run.train(pool);
    EXPECT_TRUE(report.interrupted);
    EXPECT_EQ(report.best().steps, 0u);
  }
  EXPECT_EQ(TrainingRun::resume(folder_ / "run").train(pool).best().weights_hash, whole());
}

TEST_F(ControlTest, AnythingAskedAtAnyTimeLeavesTheBits) {
  const Oversubscribe many;
  for (const RunConfig& c : {config(), small_table(folder_), small_simplify()}) {
    ThreadPool plain(1);
    const std::string expected = TrainingRun::create(c, {}).train(plain).best().weights_hash;
    for (const int threads : {1, 3}) {
      const std::string path = folder_ / (c.task + std::to_string(threads));
      ThreadPool pool(threads);
      TrainingRun run = TrainingRun::create(c, {.folder = path});
      const Events events(run);
      std::atomic<bool> over = false;
      std::vector<std::jthread> others;
      for (std::uint32_t k = 0; k < 2; ++k)
        others.emplace_back([&, k] {
          const Random random(5, Purpose::kTrial, k);
          for (std::uint64_t i = 0; !over; ++i) {
            switch (random.choice(2 * i, 4)) {
              case 0: run.control().pause(); break;
              case 1: run.control().save(); break;
              case 2: run.control().snapshot(); break;
              default: break;
            }
            sleep_us(random.choice(2 * i + 1, 3000));
            run.control().resume();
            sleep_us(random.choice(2 * i + 1, 2000));
          }
        });
      const RunReport report = run.train(pool);
      over = true;
      others.clear();
      EXPECT_EQ(report.best().weights_hash, expected) << c.task << " with " << threads;
      std::uint64_t last = 0;
      for (const auto& seen : events.list())
        if (seen.kind == Kind::kStep || seen.kind == Kind::kEvaluated) {
          EXPECT_EQ(seen.step, ++last);
        }
      const std::string lines = read_text(path + "/metrics.csv");
      EXPECT_EQ(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')),
                events.of(Kind::kEvaluated).size() + 1);
    }
  }
}

TEST_F(ControlTest, RequestsWithoutPauseDoNotKeepARunFromMovingOn) {
  ThreadPool pool(1);
  TrainingRun run = TrainingRun::create(config(), {});
  const Events events(run);
  std::jthread asker([&](const std::stop_token& over) {
    while (!over.stop_requested()) run.control().snapshot();
  });
  EXPECT_EQ(run.train(pool).best().weights_hash, whole());
  EXPECT_FALSE(events.of(Kind::kSnapshot).empty());
}

TEST_F(ControlTest, SeveralSeedsArePausedAndStoppedTogether) {
  const Oversubscribe many;
  ThreadPool pool(3);
  RunConfig c = small_picture(folder_, 5);
  const RunReport whole = TrainingRun::create(c, {}).train(pool);
  {
    TrainingRun run = TrainingRun::create(c, {.folder = folder_ / "run"});
    const Events events(run);
    RunReport report;
    std::jthread trainer([&] { report = run.train(pool); });
    ASSERT_TRUE(within_a_minute([&] { return events.list().size() > 20; }));
    run.control().pause();
    EXPECT_TRUE(within_a_minute([&] {  // until nothing happens any more
      const std::size_t before = events.list().size();
      sleep_us(300'000);
      return events.list().size() == before;
    }));
    run.control().stop();
    trainer.join();
  }
  const RunReport report = TrainingRun::resume(folder_ / "run").train(pool);
  EXPECT_EQ(report.best().seed, whole.best().seed);
  EXPECT_EQ(report.best().weights_hash, whole.best().weights_hash);
}

TEST_F(ControlTest, ThePoolsOwnFlagIsPutBack) {
  ThreadPool pool(1);
  StopFlag own;
  pool.watch(&own);
  TrainingRun::create(steady_picture(folder_, 5), {}).train(pool);
  EXPECT_EQ(pool.watched(), &own);
}

}  // namespace
}  // namespace espalier
