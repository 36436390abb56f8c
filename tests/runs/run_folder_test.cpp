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
using testing::Not;
namespace fs = std::filesystem;

struct Toy {
  Toy() : trainer(objective, {.steps = 40, .eval_every = 10}, pool) {}
  ThreadPool pool{1};
  ToyObjective objective;
  Trainer trainer;
};

// A config.json that is known as one of ours.
std::string marked(const std::string& name) { return R"({"espalier": "run 1", "name": ")" + name + "\"}\n"; }

RunFolder create(const std::string& path, const std::string& name, bool force = false) {
  return RunFolder::create(path, marked(name), force);
}

TEST(RunFolder, AnExistingRunIsOnlyReplacedByForce) {
  const TempFolder temp;
  const std::string path = temp / "a/b/run";
  create(path, "one");
  EXPECT_TRUE(RunFolder::holds_run(path));
  const std::string message = message_of<Error>([&] { create(path, "two"); });
  EXPECT_THAT(message, HasSubstr("holds a run"));
  EXPECT_THAT(message, HasSubstr("force"));
  EXPECT_EQ(RunFolder::open(path).config(), marked("one"));
  create(path, "two", true).drop_replaced();
  EXPECT_EQ(RunFolder::open(path).config(), marked("two"));
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
  for (const bool force : {false, true}) {
    const std::string message = message_of<Error>([&] { create(temp.path(), "config", force); });
    EXPECT_THAT(message, HasSubstr("other files: model.safetensors"));
    EXPECT_THAT(message, Not(HasSubstr("force")));
  }
  EXPECT_EQ(read_text(temp / "model.safetensors"), "precious");
  EXPECT_FALSE(fs::exists(temp / "config.json"));
  EXPECT_FALSE(fs::exists(temp / "lock"));
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
    EXPECT_EQ(read_text(temp / "config.json"), marked("config"));
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
    EXPECT_EQ(read_text(temp / "config.json"), marked("config"));
    EXPECT_EQ(read_text(temp / "seed-1/config.json"), marked("own"));
  }
  create(temp.path(), "other", true).drop_replaced();
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

TEST(FolderLock, AFileOfSomebodyElseIsNotTakenForOne) {
  const TempFolder temp;
  std::ofstream(temp / "cargo.lock") << "[[package]]\n";
  EXPECT_THAT(message_of<Error>(
                  [&] { FileLock(temp / "cargo.lock", temp / "cargo", "searching for", FileLock::After::kRemove); }),
              HasSubstr("somebody else"));
  EXPECT_EQ(read_text(temp / "cargo.lock"), "[[package]]\n");
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

}  // namespace
}  // namespace espalier
