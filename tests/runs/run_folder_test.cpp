// The folder of a run: never overwritten by chance, never half a file, metrics that match the checkpoint.
#include "runs/run_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

TrainOptions toy_options() {
  TrainOptions options;
  options.epochs = 40;
  options.eval_every = 10;
  options.schedule.lr = 0.1;
  return options;
}

struct Toy {
  Toy() : trainer(objective, toy_options(), pool) {}
  ThreadPool pool{1};
  ToyObjective objective;
  Trainer trainer;
};

TEST(RunFolder, AnExistingRunIsOnlyReplacedByForce) {
  const TempFolder temp;
  const std::string path = temp / "a/b/run";
  RunFolder::create(path, "one", false);
  EXPECT_TRUE(RunFolder::holds_run(path));
  const std::string message = message_of<Error>([&] { RunFolder::create(path, "two", false); });
  EXPECT_NE(message.find("--force"), std::string::npos) << message;
  EXPECT_EQ(RunFolder::open(path).config(), "one");
  RunFolder::create(path, "two", true);
  EXPECT_EQ(RunFolder::open(path).config(), "two");
}

TEST(RunFolder, ForceAndClearRemoveTheRunAndNothingElse) {
  const TempFolder temp;
  Toy toy;
  toy.trainer.evaluate();
  RunFolder folder = RunFolder::create(temp.path(), "config", false);
  folder.append_metrics(toy.trainer.state());
  folder.write_model(toy.trainer);
  folder.write_checkpoint(toy.trainer, false);
  std::ofstream(temp / "notes.txt") << "mine";
  RunFolder::create(temp.path(), "config", true);
  for (const char* name : {"metrics.csv", "model.safetensors", "checkpoint.safetensors"})
    EXPECT_FALSE(std::filesystem::exists(temp / name)) << name;
  RunFolder::clear(temp.path());
  EXPECT_FALSE(RunFolder::holds_run(temp.path()));
  EXPECT_EQ(read_text(temp / "notes.txt"), "mine");
}

TEST(RunFolder, ForeignFoldersAreNotOpened) {
  const TempFolder temp;
  message_of<Error>([&] { RunFolder::open(temp.path()); });
  message_of<Error>([&] { RunFolder::open(temp / "none"); });
  std::ofstream(temp / "file") << "x";
  message_of<Error>([&] { RunFolder::open(temp / "file"); });
}

TEST(RunFolder, ACheckpointComesBackUnlessTheConfigIsAnother) {
  const TempFolder temp;
  Toy toy;
  toy.trainer.evaluate();
  const RunFolder folder = RunFolder::create(temp.path(), "config", false);
  EXPECT_FALSE(folder.checkpoint().has_value());
  folder.write_checkpoint(toy.trainer, false);
  EXPECT_TRUE(RunFolder::open(temp.path()).checkpoint().has_value());
  write_atomically(temp / "config.json", std::string_view("another"));
  const std::string message = message_of<Error>([&] { RunFolder::open(temp.path()).checkpoint(); });
  EXPECT_NE(message.find("config.json"), std::string::npos) << message;
}

TEST(RunFolder, MetricsAreCutBackToTheCheckpoint) {
  const TempFolder temp;
  Toy toy;
  RunFolder folder = RunFolder::create(temp.path(), "config", false);
  std::string until_20;
  toy.trainer.run([&](const Trainer& t, bool evaluated) {
    if (evaluated) folder.append_metrics(t.state());
    if (t.state().epoch == 20) until_20 = read_text(temp / "metrics.csv");
    return true;
  });
  const std::string all = read_text(temp / "metrics.csv");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 5) << "a header and four evaluations\n" << all;
  folder.trim_metrics(40);
  EXPECT_EQ(read_text(temp / "metrics.csv"), all);
  // A kill may leave half a line.
  write_atomically(temp / "metrics.csv", std::string_view(all + "5"));
  folder.trim_metrics(20);
  EXPECT_EQ(read_text(temp / "metrics.csv"), until_20);
}

TEST(TrainerEnds, UntilSolvedStopsAtTheFirstSolvedEvaluation) {
  TrainOptions options = toy_options();
  options.epochs = 2000;
  options.until_solved = true;
  const ThreadPool pool(1);
  ToyObjective objective;
  Trainer trainer(objective, options, pool);
  bool solved_before = false;
  const Outcome outcome = trainer.run([&](const Trainer& t, bool evaluated) {
    EXPECT_FALSE(solved_before) << "went on after a solved evaluation";
    solved_before = evaluated && t.state().last.solved;
    return true;
  });
  EXPECT_EQ(outcome, Outcome::kSolved);
  EXPECT_LT(trainer.state().epoch, 2000u);
  EXPECT_EQ(trainer.state().best_epoch, trainer.state().epoch);
}

TEST(TrainerEnds, WeightsThatAreNotFiniteAreNeitherJudgedNorSaved) {
  Toy toy;
  toy.trainer.evaluate();
  const auto best = toy.trainer.state().best_values;
  toy.objective.parameters().values()[3] = std::numeric_limits<float>::infinity();
  const std::string message = message_of<Error>([&] { toy.trainer.evaluate(); });
  EXPECT_NE(message.find("inf"), std::string::npos) << message;
  EXPECT_EQ(toy.trainer.state().best_values, best);
  message_of<Error>([&] { toy.trainer.check_weights(); });
}

}  // namespace
}  // namespace espalier
