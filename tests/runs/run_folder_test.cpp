// The folder of a run: never overwritten by chance, never half a file, never two owners, metrics that match the
// checkpoint.
#include "runs/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "runs/checkpoint.hpp"
#include "temp_folder.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Toy {
  Toy() : trainer(objective, {.steps = 40, .eval_every = 10}, pool) {}
  ThreadPool pool{1};
  ToyObjective objective;
  Trainer trainer;
};

RunFolder create(const std::string& path, const std::string& config, bool force = false) {
  return RunFolder::create(path, config, force);
}

TEST(RunFolder, AnExistingRunIsOnlyReplacedByForce) {
  const TempFolder temp;
  const std::string path = temp / "a/b/run";
  create(path, "one");
  EXPECT_TRUE(RunFolder::holds_run(path));
  const std::string message = message_of<Error>([&] { create(path, "two"); });
  EXPECT_THAT(message, HasSubstr("holds a run"));
  EXPECT_THAT(message, HasSubstr("force"));
  EXPECT_EQ(RunFolder::open(path).config(), "one");
  create(path, "two", true);
  EXPECT_EQ(RunFolder::open(path).config(), "two");
}

TEST(RunFolder, ForceRemovesTheRunAndNothingElse) {
  const TempFolder temp;
  Toy toy;
  toy.trainer.evaluate();
  {
    const RunFolder folder = create(temp.path(), "config");
    folder.append_metrics(toy.trainer.state());
    save_model(folder.model(), *toy.trainer.best_model());
    folder.write_checkpoint(make_checkpoint(toy.trainer, {}).serialize());
    folder.write_checkpoint(make_checkpoint(toy.trainer, {}).serialize());
  }
  const auto made = {"metrics.csv", "model.safetensors", "checkpoint.safetensors", "checkpoint-previous.safetensors"};
  for (const char* name : made) EXPECT_TRUE(fs::exists(temp / name)) << name;
  std::ofstream(temp / "notes.txt") << "mine";
  create(temp.path(), "config", true);
  for (const char* name : made) EXPECT_FALSE(fs::exists(temp / name)) << name;
  EXPECT_EQ(read_text(temp / "notes.txt"), "mine");
}

TEST(RunFolder, AReplacementThatWasKilledIsFinishedByWhoeverOpensItNext) {
  for (const bool removed : {false, true}) {
    const TempFolder temp;
    create(temp.path(), "old");
    for (const char* name : {"checkpoint.safetensors", "model.safetensors", "metrics.csv"})
      if (!removed) std::ofstream(temp / name) << "old";
    RunFolder::create(temp / "seed-1", "old", false);
    std::ofstream(temp / "config-next.json") << "new";  // all that a kill let --force do, or more
    if (removed) fs::remove(temp / "config.json");
    EXPECT_THROW(create(temp.path(), "third"), Error);
    const RunFolder folder = RunFolder::open(temp.path());
    EXPECT_EQ(folder.config(), "new");
    EXPECT_EQ(read_text(temp / "config.json"), "new");
    EXPECT_EQ(folder.checkpoint(), std::nullopt);
    for (const char* name : {"config-next.json", "model.safetensors", "metrics.csv", "seed-1"})
      EXPECT_FALSE(fs::exists(temp / name)) << name;
  }
}

TEST(RunFolder, ForceRemovesSeedsThatAreRunsAndNothingElse) {
  const TempFolder temp;
  create(temp.path(), "config");
  RunFolder::create(temp / "seed-1", "own", false);
  RunFolder::create(temp / "seed-2", "own", false);
  std::ofstream(temp / "seed-2/mine.txt") << "kept";
  fs::create_directory(temp / "seed-3");
  std::ofstream(temp / "seed-3/model.safetensors") << "somebody else's";
  create(temp.path(), "config", true);
  EXPECT_FALSE(fs::exists(temp / "seed-1"));
  EXPECT_EQ(read_text(temp / "seed-2/mine.txt"), "kept");
  EXPECT_FALSE(fs::exists(temp / "seed-2/config.json"));
  EXPECT_EQ(read_text(temp / "seed-3/model.safetensors"), "somebody else's");
}

TEST(RunFolder, ForeignFoldersAreNotOpened) {
  const TempFolder temp;
  message_of<Error>([&] { RunFolder::open(temp.path()); });
  message_of<Error>([&] { RunFolder::open(temp / "none"); });
  std::ofstream(temp / "file") << "x";
  message_of<Error>([&] { RunFolder::open(temp / "file"); });
  EXPECT_FALSE(fs::exists(temp / "lock")) << "a foreign folder was written to";
}

TEST(RunFolder, FoldersWithOtherFilesAreLeftAlone) {
  const TempFolder temp;
  std::ofstream(temp / "model.safetensors") << "precious";
  EXPECT_THAT(message_of<Error>([&] { create(temp.path(), "config"); }), HasSubstr("other files"));
  EXPECT_EQ(read_text(temp / "model.safetensors"), "precious");
  EXPECT_FALSE(fs::exists(temp / "config.json"));
  fs::remove(temp / "model.safetensors");
  create(temp.path(), "config");
}

TEST(RunFolder, TheOldCheckpointStaysAsThePreviousOne) {
  const TempFolder temp;
  Toy toy;
  toy.trainer.evaluate();
  const RunFolder folder = create(temp.path(), "config");
  EXPECT_FALSE(folder.checkpoint().has_value());
  folder.write_checkpoint(make_checkpoint(toy.trainer, {}).serialize());
  EXPECT_TRUE(folder.checkpoint().has_value());
  EXPECT_FALSE(folder.previous_checkpoint().has_value());
  for (int i = 0; i < 3; ++i) {
    const std::string before = read_text(*folder.checkpoint());
    toy.trainer.step();
    folder.write_checkpoint(make_checkpoint(toy.trainer, {}).serialize());
    EXPECT_NE(read_text(*folder.checkpoint()), before);
    EXPECT_EQ(read_text(*folder.previous_checkpoint()), before);
  }
  const std::string before = read_text(*folder.previous_checkpoint());
  folder.drop_checkpoint();
  EXPECT_EQ(read_text(*folder.checkpoint()), before);
  EXPECT_FALSE(folder.previous_checkpoint().has_value());
}

TEST(RunFolder, AKillBetweenTheMovesOfACheckpointLosesNone) {
  const TempFolder temp;
  Toy toy;
  toy.trainer.evaluate();
  std::string newest;
  {
    const RunFolder folder = create(temp.path(), "config");
    for (int i = 0; i < 2; ++i) {
      toy.trainer.step();
      folder.write_checkpoint(make_checkpoint(toy.trainer, {}).serialize());
    }
    newest = read_text(*folder.checkpoint());
  }
  fs::rename(temp / "checkpoint.safetensors", temp / "checkpoint-next.safetensors");
  const RunFolder folder = RunFolder::open(temp.path());
  ASSERT_TRUE(folder.checkpoint().has_value());
  EXPECT_EQ(read_text(*folder.checkpoint()), newest);
  EXPECT_TRUE(folder.previous_checkpoint().has_value());
}

// --- The lock.

TEST(FolderLock, ASecondOwnerIsRefusedWithTheProcessAndTheHostOfTheFirst) {
  const TempFolder temp;
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  {
    const RunFolder first = create(temp.path(), "config");
    for (const auto& second : std::initializer_list<std::function<void()>>{
             [&] { RunFolder::open(temp.path()); }, [&] { create(temp.path(), "other"); },
             [&] { create(temp.path(), "other", true); }}) {
      const std::string message = message_of<Error>(second);
      EXPECT_THAT(message, HasSubstr(temp.path()));
      EXPECT_THAT(message, HasSubstr(std::to_string(getpid())));
      EXPECT_THAT(message, HasSubstr(host));
    }
    EXPECT_EQ(read_text(temp / "config.json"), "config");
    const RunFolder copy = first;  // of the same owner
  }
  EXPECT_NO_THROW(RunFolder::open(temp.path()));
}

TEST(FolderLock, AFolderIsNotReplacedWhileOneOfItsSeedsIsTrained) {
  const TempFolder temp;
  create(temp.path(), "config");
  {
    const RunFolder seed = create(temp / "seed-1", "own");
    EXPECT_THAT(message_of<Error>([&] { create(temp.path(), "other", true); }), HasSubstr(std::to_string(getpid())));
    EXPECT_EQ(read_text(temp / "config.json"), "config");
    EXPECT_EQ(read_text(temp / "seed-1/config.json"), "own");
  }
  create(temp.path(), "other", true);
  EXPECT_FALSE(fs::exists(temp / "seed-1"));
}

// Two start at once: the second may see files of the first before its config.
TEST(FolderLock, TheOwnerIsNamedAlsoBeforeThereIsARun) {
  const TempFolder temp;
  const FileLock first(temp / "lock", temp.path(), "training in");
  std::ofstream(temp / "just-made") << "x";
  EXPECT_THAT(message_of<Error>([&] { create(temp.path(), "config"); }), HasSubstr(std::to_string(getpid())));
}

TEST(FolderLock, IsGoneWhenItsProcessIsKilled) {
  const TempFolder temp;
  create(temp.path(), "config");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const RunFolder held = RunFolder::open(temp.path());
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(message_of<Error>([&] { RunFolder::open(temp.path()); }), HasSubstr(std::to_string(child)));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_NO_THROW(RunFolder::open(temp.path()));
  close(ready[0]);
  close(ready[1]);
}

TEST(FolderLock, AFileThatIsNoneIsAnErrorAndNoHang) {
  const TempFolder temp;
  create(temp.path(), "config");
  fs::remove(temp / "lock");
  fs::create_directory(temp / "lock");
  EXPECT_THAT(message_of<Error>([&] { RunFolder::open(temp.path()); }), HasSubstr("lock"));
  fs::remove(temp / "lock");
  std::ofstream(temp / "precious") << "mine";
  fs::create_symlink(temp / "precious", temp / "lock");
  EXPECT_THAT(message_of<Error>([&] { RunFolder::open(temp.path()); }), HasSubstr("lock"));
  EXPECT_EQ(read_text(temp / "precious"), "mine");
}

// --- metrics.csv.

TEST(Metrics, AreCutBackToTheCheckpoint) {
  const TempFolder temp;
  Toy toy;
  const RunFolder folder = create(temp.path(), "config");
  std::string until_20;
  toy.trainer.run([&](const Trainer& t, bool evaluated) {
    if (evaluated) folder.append_metrics(t.state());
    if (t.state().step == 20) until_20 = read_text(temp / "metrics.csv");
    return true;
  });
  const std::string all = read_text(temp / "metrics.csv");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 5) << "a header and four evaluations\n" << all;
  EXPECT_TRUE(all.starts_with("step,seconds,loss,score,validation_loss,solved,error\n10,")) << all;
  folder.trim_metrics(40);
  EXPECT_EQ(read_text(temp / "metrics.csv"), all);
  // A kill may leave half a line.
  write_atomically(temp / "metrics.csv", std::string_view(all + "5"));
  folder.trim_metrics(20);
  EXPECT_EQ(read_text(temp / "metrics.csv"), until_20);
  folder.trim_metrics(3);
  EXPECT_EQ(read_text(temp / "metrics.csv"), all.substr(0, all.find('\n') + 1)) << "the header stays";
  write_atomically(temp / "metrics.csv", std::string_view("step,sec"));
  folder.trim_metrics(3);
  EXPECT_FALSE(fs::exists(temp / "metrics.csv")) << "half a header is none";
  folder.trim_metrics(3);  // nothing to cut
}

TEST(Metrics, AKillBeforeOrInTheFirstLineLeavesAHeaderToBeWritten) {
  for (const char* left : {"", "step,sec", "step,seconds,loss"}) {
    const TempFolder temp;
    Toy toy;
    toy.trainer.evaluate();
    const RunFolder folder = create(temp.path(), "config");
    std::ofstream(temp / "metrics.csv") << left;
    folder.trim_metrics(0);
    folder.append_metrics(toy.trainer.state());
    EXPECT_TRUE(read_text(temp / "metrics.csv").starts_with("step,seconds,loss,score,")) << left;
  }
}

TEST(Metrics, ALongFileIsCutFromItsEnd) {
  const TempFolder temp;
  const RunFolder folder = create(temp.path(), "config");
  std::string text = "step,seconds,loss,score,validation_loss,solved\n", kept;
  for (int step = 1; step <= 120'000; ++step) {
    text += std::to_string(10 * step) + ",0.123,0.456789,0.987654321,0.25,0\n";
    if (step == 119'990) kept = text;
  }
  ASSERT_GT(text.size(), 4u << 20);
  for (const char* last : {"", "9", "1200010,0.1,\xff\xfe\x80", "1200010,0.1,0.2,0.3\n1200020,", "nonsense"}) {
    write_atomically(temp / "metrics.csv", std::string_view(text + last));
    folder.trim_metrics(1'199'909);
    EXPECT_EQ(fs::file_size(temp / "metrics.csv"), kept.size());
    EXPECT_EQ(read_text(temp / "metrics.csv"), kept);
  }
  // Far from the end: over many blocks.
  write_atomically(temp / "metrics.csv", std::string_view(text));
  folder.trim_metrics(10);
  EXPECT_EQ(read_text(temp / "metrics.csv"), text.substr(0, text.find("20,")));
}

TEST(Metrics, AHoleOfManyGigabytesIsNotReadWhole) {
  const TempFolder temp;
  const RunFolder folder = create(temp.path(), "config");
  std::ofstream(temp / "metrics.csv") << "step\n1,2\n";
  fs::resize_file(temp / "metrics.csv", std::uintmax_t{1} << 36);
  EXPECT_THAT(message_of<Error>([&] { folder.trim_metrics(1); }), HasSubstr("metrics.csv"));
}

TEST(Metrics, APipeInTheirPlaceIsRefusedAndDoesNotHang) {
  const TempFolder temp;
  const RunFolder folder = create(temp.path(), "config");
  ASSERT_EQ(mkfifo((temp / "metrics.csv").c_str(), 0600), 0);
  EXPECT_THAT(message_of<Error>([&] { folder.trim_metrics(1); }), HasSubstr("plain file"));
}

TEST(Metrics, ALinkInTheirPlaceIsRefusedByThatNameAndItsFileStaysWhole) {
  const TempFolder temp;
  const RunFolder folder = create(temp.path(), "config");
  std::ofstream(temp / "precious") << "step\n1,2\n2,3\n";
  fs::create_symlink("precious", temp / "metrics.csv");
  EXPECT_THAT(message_of<Error>([&] { folder.trim_metrics(1); }), HasSubstr("a link"));
  EXPECT_EQ(read_text(temp / "precious"), "step\n1,2\n2,3\n");
}

}  // namespace
}  // namespace espalier
