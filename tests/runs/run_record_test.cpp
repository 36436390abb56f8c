// A run's folder as others see it, also while the run is being trained.
#include "espalier/run_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "espalier/error.hpp"
#include "runs/own_files.hpp"
#include "small_runs.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::size_t lines_in(const std::string& path) {
  const std::string text = read_text(path);
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(RunRecord, TellsOfARunThatHasEnded) {
  const TempFolder temp;
  ThreadPool pool(1);
  const std::string folder = temp / "run";
  const SeedReport report = TrainingRun::create(steady_picture(temp), {.folder = folder}).train(pool).best();
  const RunRecord record = RunRecord::read(folder);
  EXPECT_EQ(record.task, "pattern");
  EXPECT_EQ(record.config, read_text(folder + "/config.json"));
  EXPECT_EQ(record.train_steps, 40u);
  EXPECT_EQ(record.state, report.solved ? "solved" : "finished");
  EXPECT_EQ(record.process, "");
  EXPECT_EQ(record.step, report.steps);
  ASSERT_TRUE(record.best.has_value());
  EXPECT_EQ(record.best->score, report.validation_score);
  EXPECT_EQ(record.best->loss, report.validation_loss);
  ASSERT_EQ(record.metrics.rows(), lines_in(folder + "/metrics.csv") - 1);
  EXPECT_EQ(record.metrics.find("step")->back(), 40);
  EXPECT_EQ(record.metrics.find("loss")->back(), report.loss);
  EXPECT_EQ(record.metrics.find("nonsense"), nullptr);
  EXPECT_THAT(record.pictures, ElementsAre(folder + "/loss.svg", folder + "/gates.svg", folder + "/growth.gif"));
  EXPECT_EQ(record.model, folder + "/model.safetensors");
  EXPECT_EQ(record.model_notes.at("verdict.text"), report.verdict.text);
  EXPECT_TRUE(record.seeds.empty());
}

TEST(RunRecord, OfWhatIsNoRunThereIsNone) {
  const TempFolder temp;
  EXPECT_THAT(message_of<Error>([&] { RunRecord::read(temp.path()); }), HasSubstr("expected the folder of a run"));
  write_atomically(temp / "config.json", std::string_view("{\"espalier\": \"run 1\", \"task\": 7}"));
  EXPECT_THAT(message_of<Error>([&] { RunRecord::read(temp.path()); }), HasSubstr("config.json"));
}

TEST(RunRecord, OneThatWasStoppedIsInterruptedUntilItHasEnded) {
  const TempFolder temp;
  ThreadPool pool(1);
  const std::string folder = temp / "run";
  {
    TrainingRun run = TrainingRun::create(steady_picture(temp), {.folder = folder});
    EXPECT_THAT(RunRecord::read(folder).state, "running") << "before its first step";
    run.listen([&](const RunEvent& event) {
      if (event.kind == RunEvent::Kind::kEvaluated && event.state->step == 20) run.control().stop();
    });
    run.train(pool);
  }
  const RunRecord stopped = RunRecord::read(folder);
  EXPECT_EQ(stopped.state, "interrupted");
  EXPECT_GE(stopped.step, 20u);
  EXPECT_TRUE(stopped.pictures.empty());
  TrainingRun::resume(folder).train(pool);
  EXPECT_NE(RunRecord::read(folder).state, "interrupted");
}

TEST(RunRecord, OfSeveralSeedsEachIsARunOfItsOwn) {
  const TempFolder temp;
  ThreadPool pool(1);
  const std::string folder = temp / "run";
  const RunReport report = TrainingRun::create(small_picture(temp, 3), {.folder = folder}).train(pool);
  const RunRecord record = RunRecord::read(folder);
  EXPECT_EQ(record.num_seeds, 3u);
  EXPECT_EQ(record.state, report.best().solved ? "solved" : "finished");
  EXPECT_EQ(record.metrics.rows(), 0u);
  ASSERT_FALSE(record.seeds.empty());
  for (const std::string& seed : record.seeds) EXPECT_EQ(RunRecord::read(seed).num_seeds, 1u);
  // One that has yet to be trained: as if the process had ended before.
  fs::remove_all(record.seeds.front());
  EXPECT_EQ(RunRecord::read(folder).state, "interrupted");
}

TEST(RunRecord, HalfALastLineAndLinesThatAreNoneCountForNothing) {
  const TempFolder temp;
  const std::string path = temp / "metrics.csv";
  EXPECT_EQ(RunRecord::read_metrics(temp.path()).rows(), 0u) << "no file yet";
  for (const char* begun : {"", "step,lo"}) {
    std::ofstream(path) << begun;
    EXPECT_EQ(RunRecord::read_metrics(temp.path()).rows(), 0u) << begun;
  }
  const std::string whole = "step,loss\n1,nan\n2,0.25\nnonsense\n3,1,2\n4,inf\n";
  for (const char* begun : {"", "5", "5,0.1"}) {
    std::ofstream(path) << whole << begun;
    const Metrics metrics = RunRecord::read_metrics(temp.path());
    EXPECT_THAT(metrics.names, ElementsAre("step", "loss"));
    EXPECT_THAT(metrics.columns[0], ElementsAre(1, 2, 4)) << begun;
    EXPECT_TRUE(std::isnan(metrics.columns[1][0]) && metrics.columns[1][1] == 0.25 &&
                std::isinf(metrics.columns[1][2]));
  }
}

// A kill between any two moves of files leaves one of these.
TEST(RunRecord, IsFoundWhereFilesWereBeingReplaced) {
  const TempFolder temp;
  ThreadPool pool(1);
  const std::string folder = temp / "run";
  TrainingRun::create(steady_picture(temp), {.folder = folder, .checkpoint_every = 15}).train(pool);
  const RunRecord before = RunRecord::read(folder);
  fs::rename(folder + "/checkpoint.safetensors", folder + "/checkpoint-next.safetensors");
  EXPECT_EQ(RunRecord::read(folder).step, before.step);
  fs::remove(folder + "/checkpoint-next.safetensors");
  EXPECT_EQ(RunRecord::read(folder).step, 30u) << "the checkpoint before";
  write_atomically(folder + "/checkpoint.safetensors", std::string_view("damaged"));
  EXPECT_EQ(RunRecord::read(folder).step, 30u);
  move_run_aside(Folder(folder));
  const RunRecord aside = RunRecord::read(folder);
  EXPECT_EQ(aside.task, before.task);
  EXPECT_EQ(aside.metrics.columns, before.metrics.columns);
  EXPECT_THAT(aside.model, HasSubstr("replaced-run"));
}

// Checkpoints take each other's place all the time while another thread reads; reading writes nothing either.
TEST(RunRecord, ThreadsMayReadWhileTheRunIsTrained) {
  const TempFolder temp;
  ThreadPool pool(1);
  const std::string folder = temp / "run";
  TrainingRun run = TrainingRun::create(steady_picture(temp, 60), {.folder = folder, .checkpoint_every = 1});
  std::atomic<bool> ended{false};
  std::size_t reads = 0;
  std::thread reader([&] {
    std::size_t rows = 0;
    std::uint64_t step = 0;
    for (bool last = false; !last; ++reads) {
      last = ended;
      const RunRecord record = RunRecord::read(folder);
      EXPECT_EQ(record.state, "running");
      EXPECT_THAT(record.process, StartsWith("process "));
      EXPECT_GE(record.metrics.rows(), rows);
      EXPECT_GE(record.step, step);
      rows = record.metrics.rows();
      step = record.step;
    }
    EXPECT_EQ(rows, 12u);
    EXPECT_EQ(step, 60u);
  });
  const std::string hash = run.train(pool).best().weights_hash;
  ended = true;
  reader.join();
  EXPECT_GT(reads, 0u);
  EXPECT_EQ(hash, TrainingRun::create(steady_picture(temp, 60), {}).train(pool).best().weights_hash);
}

}  // namespace
}  // namespace espalier
