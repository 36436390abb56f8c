// A folder that is moved, removed or taken over while it is trained in: files go where they belong, and the run says
// so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "runs/run_folder.hpp"
#include "runs/small_runs.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Moved : public testing::Test {
 protected:
  Moved() {
    ThreadPool pool(1);
    TrainingRun::create(config_, {.folder = temp_ / "whole"}).train(pool);
    TrainingRun::create(config_, {.folder = temp_ / "other"}).train(pool);
    other_ = read_text(temp_ / "other/checkpoint.safetensors") + read_text(temp_ / "other/metrics.csv") +
             read_text(temp_ / "other/model.safetensors");
  }

  // Trains in run/ and does something to it after the evaluation of step 10; what the run says in the end.
  std::string trained(const std::function<void()>& action) {
    TrainingRun run = TrainingRun::create(config_, {.folder = temp_ / "run", .checkpoint_every = 5});
    run.listen([&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::kEvaluated && event.state->step == 10) action();
    });
    ThreadPool pool(1);
    return message_of<Error>([&] { run.train(pool); });
  }
  void expect_other_untouched(const std::string& path) const {
    EXPECT_EQ(read_text(path + "/checkpoint.safetensors") + read_text(path + "/metrics.csv") +
                  read_text(path + "/model.safetensors"),
              other_);
  }
  // It goes on to the same bits as if nothing had happened.
  void expect_goes_on(const std::string& path) const {
    ThreadPool pool(1);
    const RunReport report = TrainingRun::resume(path).train(pool);
    EXPECT_EQ(report.best().steps, 40u);
    EXPECT_EQ(SafetensorsFile(read_safetensors(path + "/model.safetensors")).tensors_hash(),
              read_safetensors(temp_ / "whole/model.safetensors").tensors_hash());
    const std::string rows = read_text(path + "/metrics.csv"), all = read_text(temp_ / "whole/metrics.csv");
    EXPECT_EQ(std::ranges::count(rows, '\n'), std::ranges::count(all, '\n'));
  }

  TempFolder temp_;
  RunConfig config_ = steady_picture(temp_);
  std::string other_;
};

TEST_F(Moved, ToAnotherNameWithAnotherRunInItsPlace) {
  const std::string message = trained([&] {
    fs::rename(temp_ / "run", temp_ / "run-old");
    fs::rename(temp_ / "other", temp_ / "run");
  });
  EXPECT_THAT(message, HasSubstr("moved to"));
  EXPECT_THAT(message, HasSubstr("run-old"));
  expect_other_untouched(temp_ / "run");
  expect_goes_on(temp_ / "run-old");
}

TEST_F(Moved, RemovedItIsSavedBesideAsFarAsItCan) {
  const std::string message = trained([&] { fs::remove_all(temp_ / "run"); });
  const std::string beside = temp_ / ("run-saved-" + std::to_string(getpid()));
  EXPECT_THAT(message, HasSubstr("removed"));
  EXPECT_THAT(message, HasSubstr(beside));
  ThreadPool pool(1);
  EXPECT_EQ(TrainingRun::resume(beside).train(pool).best().steps, 40u);
}

// Processes in containers have the same number again and again.
TEST_F(Moved, WhatWasSavedBesideBeforeStays) {
  const std::string beside = temp_ / ("run-saved-" + std::to_string(getpid()));
  fs::create_directory(beside);
  write_atomically(beside + "/config.json", std::string_view("somebody's"));
  const std::string message = trained([&] { fs::remove_all(temp_ / "run"); });
  EXPECT_EQ(read_text(beside + "/config.json"), "somebody's");
  EXPECT_THAT(message, HasSubstr(beside + "-2"));
  ThreadPool pool(1);
  EXPECT_EQ(TrainingRun::resume(beside + "-2").train(pool).best().steps, 40u);
}

// As rm -r does it: file by file, while the run goes on.
TEST_F(Moved, RemovedLittleByLittleItIsSavedBesideToo) {
  ThreadPool pool(1);
  const std::string message = message_of<Error>([&] {
    TrainingRun run = TrainingRun::create(config_, {.folder = temp_ / "run", .checkpoint_every = 30});
    run.listen([&](const RunEvent& event) {
      if (event.kind != RunEvent::Kind::kEvaluated) return;
      if (event.state->step == 10) fs::remove(temp_ / "run/lock");
      if (event.state->step == 20) fs::remove_all(temp_ / "run");
    });
    run.train(pool);
  });
  const std::string beside = temp_ / ("run-saved-" + std::to_string(getpid()));
  EXPECT_THAT(message, HasSubstr(beside));
  EXPECT_EQ(TrainingRun::resume(beside).train(pool).best().steps, 40u);
}

TEST_F(Moved, RemovedWhileItStopsItIsSavedBesideToo) {
  std::thread slow;
  const std::string message = trained([&] {
    fs::remove(temp_ / "run/lock");
    slow = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the next checkpoint is written at once
      fs::remove_all(temp_ / "run");
    });
  });
  slow.join();
  const std::string beside = temp_ / ("run-saved-" + std::to_string(getpid()));
  EXPECT_THAT(message, HasSubstr(beside));
  ThreadPool pool(1);
  EXPECT_EQ(TrainingRun::resume(beside).train(pool).best().steps, 40u);
}

TEST_F(Moved, ARemovalThatWasBegunLeavesARunThatGoesOn) {
  const std::string message = trained([&] {
    fs::remove(temp_ / "run/lock");
    fs::remove(temp_ / "run/config.json");
  });
  EXPECT_THAT(message, HasSubstr("it can be resumed where it is saved"));
  expect_goes_on(temp_ / "run");
}

TEST_F(Moved, ItsLockDeletedItIsStoppedAndWhole) {
  std::string second;
  const std::string message = trained([&] {
    fs::remove(temp_ / "run/lock");
    second = message_of<Error>([&] { RunFolder::open(temp_ / "run"); });  // the folder itself has an owner
    fs::remove(temp_ / "run/lock");
  });
  EXPECT_THAT(second, HasSubstr("lock was deleted"));
  EXPECT_THAT(message, HasSubstr("whose lock was deleted"));
  expect_goes_on(temp_ / "run");
}

TEST_F(Moved, TakenOverByAnotherProcessItIsSavedBeside) {
  std::unique_ptr<FileLock> others;  // as on a file system where only the file can be locked
  std::string checkpoint, metrics;
  const std::string message = trained([&] {
    fs::remove(temp_ / "run/lock");
    others = std::make_unique<FileLock>(temp_ / "run/lock", temp_ / "run", "training in");
    checkpoint = read_text(temp_ / "run/checkpoint.safetensors");
    metrics = read_text(temp_ / "run/metrics.csv");
  });
  const std::string beside = temp_ / ("run-saved-" + std::to_string(getpid()));
  EXPECT_THAT(message, HasSubstr("taken over"));
  EXPECT_THAT(message, HasSubstr(beside));
  EXPECT_EQ(read_text(temp_ / "run/checkpoint.safetensors"), checkpoint) << "what another process has was written to";
  EXPECT_EQ(read_text(temp_ / "run/metrics.csv"), metrics);
  others.reset();
  expect_goes_on(beside);
}

TEST_F(Moved, SeedsFollowTheirFolder) {
  config_.seeds = 2;
  bool moved = false;
  const std::string message = trained([&] {
    if (!moved) fs::rename(temp_ / "run", temp_ / "run-old");
    moved = true;
  });
  EXPECT_THAT(message, HasSubstr("run-old"));
  EXPECT_FALSE(fs::exists(temp_ / "run"));
  ThreadPool pool(1);
  for (const SeedReport& seed : TrainingRun::resume(temp_ / "run-old").train(pool).seeds) EXPECT_FALSE(seed.error);
}

}  // namespace
}  // namespace espalier
