// Replacing a run: neither the old nor the new one is ever lost, and nothing that is not ours is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "places.hpp"
#include "runs/run_folder.hpp"
#include "runs/small_runs.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

// All files below a folder but its lock.
Files files_in(const std::string& path) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && entry.path().filename() != "lock")
      files[fs::relative(entry.path(), path).string()] = read_text(entry.path().string());
  return files;
}

// A run of one seed, or of two, that has been trained.
class Replaced : public testing::TestWithParam<std::uint64_t> {
 protected:
  Replaced() {
    RunConfig config = steady_picture(temp_, 10);
    config.seeds = GetParam();
    train(config);
    old_ = files_in(path_);
    config_ = config;
    config_->set("lr", "0.03");
  }

  void train(const RunConfig& config, bool force = false) {
    ThreadPool pool(1);
    TrainingRun::create(config, {.folder = path_, .force = force}).train(pool);
  }
  RunFolder replacing() const { return RunFolder::create(path_, config_->text(), true); }

  TempFolder temp_;
  std::string path_ = temp_ / "run";
  std::optional<RunConfig> config_;
  Files old_;
};

TEST_P(Replaced, TheOldRunIsGoneOnceTheNewOneIsThereToStay) {
  train(*config_, true);
  const Files now = files_in(path_);
  EXPECT_EQ(now.at("config.json"), config_->text());
  EXPECT_FALSE(fs::exists(path_ + "/replaced-run"));
  EXPECT_EQ(now.size(), old_.size());
}

TEST_P(Replaced, TheOldRunComesBackWhenTheNewOneFailsBeforeItsFirstCheckpoint) {
  {
    const RunFolder folder = replacing();
    EXPECT_EQ(read_text(path_ + "/config.json"), config_->text());
    EXPECT_FALSE(folder.checkpoint().has_value());
    std::ofstream(path_ + "/metrics.csv") << "step,\n";
  }
  EXPECT_EQ(files_in(path_), old_);
  config_->set("lr", "1000");
  config_->set("optimizer", "sgd");
  config_->set("clip-value", "0");
  config_->train.steps = 0;
  TrainingRun::create(*config_, {.folder = path_, .force = true});  // and never trained
  EXPECT_EQ(files_in(path_), old_);
}

// What a process that was killed at any moment leaves: some of the files moved, and the config last or first.
TEST_P(Replaced, AKillInTheMiddleOfTheMovesLosesNothing) {
  std::vector<std::string> names;
  for (const std::string& name : Folder(path_).names())
    if (name != "lock" && name != "config.json") names.push_back(name);
  for (const bool config_too : {false, true})
    for (std::size_t moved = config_too ? names.size() : 0; moved <= names.size(); ++moved)
      for (const char* next : {"open", "force", "refused"}) {
        SCOPED_TRACE(testing::Message() << moved << " moved, " << (config_too ? "the config too, " : "") << next);
        fs::create_directory(path_ + "/replaced-run");
        for (std::size_t i = 0; i < moved; ++i) fs::rename(path_ + "/" + names[i], path_ + "/replaced-run/" + names[i]);
        if (config_too) fs::rename(path_ + "/config.json", path_ + "/replaced-run/config.json");
        EXPECT_TRUE(RunFolder::holds_run(path_));
        if (next == std::string("open")) {
          EXPECT_EQ(RunFolder::open(path_).config(), old_.at("config.json"));
        }
        if (next == std::string("force")) replacing();
        if (next == std::string("refused")) {
          EXPECT_THAT(message_of<Error>([&] { RunFolder::create(path_, "{}", false); }), HasSubstr("holds a run"));
          RunFolder::open(path_);
        }
        EXPECT_EQ(files_in(path_), old_);
      }
}

TEST_P(Replaced, AKillBeforeTheFirstCheckpointOfTheNewOneKeepsBothUntilThere) {
  const auto killed = [&] {  // with the new config in place, and nothing else
    fs::create_directory(path_ + "/replaced-run");
    for (const std::string& name : Folder(path_).names())
      if (name != "lock" && name != "replaced-run") fs::rename(path_ + "/" + name, path_ + "/replaced-run/" + name);
    write_atomically(path_ + "/config.json", std::string_view(config_->text()));
  };
  killed();
  {
    const RunFolder folder = RunFolder::open(path_);
    EXPECT_EQ(folder.config(), config_->text());
    EXPECT_THAT(folder.remark(), HasSubstr("replaced-run"));
  }
  EXPECT_EQ(files_in(path_ + "/replaced-run"), old_) << "a resume that fails leaves both";
  replacing();  // another replacement that comes to nothing
  EXPECT_EQ(files_in(path_), old_);
  killed();
  ThreadPool pool(1);
  TrainingRun::resume(path_).train(pool);
  EXPECT_FALSE(fs::exists(path_ + "/replaced-run"));
  EXPECT_EQ(read_text(path_ + "/config.json"), config_->text());
}

TEST_P(Replaced, AKillWhileTheOldOneIsRemovedIsFinished) {
  train(*config_, true);
  const Files now = files_in(path_);
  fs::create_directory(path_ + "/replaced-run");
  std::ofstream(path_ + "/replaced-run/config.json") << old_.at("config.json");
  RunFolder::open(path_);
  EXPECT_EQ(files_in(path_), now);
  EXPECT_FALSE(fs::exists(path_ + "/replaced-run"));
}

TEST_P(Replaced, FilesOfOthersKeepTheFolderAndAreNamed) {
  const std::string inner = GetParam() > 1 ? "seed-1/" : "";
  for (const std::string& name : {inner + "notes.txt", std::string("replaced-run/mine")}) {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << "mine";
    for (const bool force : {true, false}) {
      const std::string message = message_of<Error>([&] { RunFolder::create(path_, config_->text(), force); });
      EXPECT_THAT(message, HasSubstr("other files: " + name));
      EXPECT_THAT(message, Not(HasSubstr("force")));
    }
    EXPECT_EQ(read_text(path_ + "/" + name), "mine");
    fs::remove(path_ + "/" + name);
  }
  for (const char* name : {"model.safetensors", "loss.svg", "checkpoint.safetensors", "seeds.csv"}) {
    const std::string path = path_ + "/" + name, before = fs::exists(path) ? read_text(path) : "";
    std::ofstream(path) << "of another tool";
    EXPECT_THAT(message_of<Error>([&] { replacing(); }), HasSubstr(name));
    EXPECT_EQ(read_text(path), "of another tool");
    if (before.empty())
      fs::remove(path);
    else
      std::ofstream(path) << before;
  }
  fs::remove_all(path_ + "/replaced-run");
  EXPECT_EQ(files_in(path_), old_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Replaced, testing::Values(1, 2));

// --- Whose folder it is.

TEST(RunMark, ConfigsOfOtherToolsAreNotRuns) {
  const TempFolder temp;
  for (const char* text : {"", "{}", "[]", "{broken", "{\"task\": \"life\"}", "{\"architectures\": [\"X\"]}",
                           "{\"espalier\": true}", "{\"espalier\": \"run 999\", \"task\": \"life\"}",
                           "{\"task\": \"life\", \"seed\": 1, \"lr\": 0.1, \"train-steps\": 3}"}) {
    std::ofstream(temp / "config.json") << text;
    std::ofstream(temp / "model.safetensors") << "precious";
    EXPECT_FALSE(RunFolder::holds_run(temp.path())) << text;
    for (const bool force : {false, true})
      EXPECT_THAT(message_of<Error>([&] { RunFolder::create(temp.path(), "{}", force); }),
                  AllOf(HasSubstr("config.json"), HasSubstr("model.safetensors"), Not(HasSubstr("force"))));
    EXPECT_EQ(read_text(temp / "config.json"), text);
    EXPECT_EQ(read_text(temp / "model.safetensors"), "precious");
    EXPECT_FALSE(fs::exists(temp / "lock"));
  }
}

TEST(RunMark, AConfigThatSomebodyWroteByHandIsMarkedOnceItIsARun) {
  const TempFolder temp;
  std::ofstream(temp / "config.json") << "{\"task\": \"checkerboard-small\", \"train-steps\": 1, \"refine\": 0}";
  EXPECT_FALSE(RunFolder::holds_run(temp.path()));
  ThreadPool pool(1);
  TrainingRun::resume(temp.path()).train(pool);
  EXPECT_TRUE(RunFolder::holds_run(temp.path()));
}

// --- What a run reads.

TEST(RunFolderNames, TheOneOfReplacedRunsIsRefused) {
  const TempFolder temp;
  for (const char* name : {"replaced-run", "replaced-run/", "a/../replaced-run/."}) {
    EXPECT_THROW(RunFolder::create(temp / name, steady_picture(temp, 10).text(), false), Error) << name;
    EXPECT_FALSE(fs::exists(temp / "replaced-run"));
  }
}

TEST(RunInputs, AFolderThatHoldsThemIsRefusedAndStaysWhole) {
  const TempFolder temp;
  ThreadPool pool(1);
  const auto options = [&](const char* name) { return RunOptions{.folder = temp / name, .force = true}; };
  RunConfig picture = steady_picture(temp, 5);
  TrainingRun::create(picture, options("run")).train(pool);
  picture.seeds = 2;
  TrainingRun::create(picture, options("many")).train(pool);
  fs::create_directory_symlink("run", temp / "link");
  const Files run = files_in(temp / "run"), many = files_in(temp / "many");
  const std::pair<std::string, const char*> inside[] = {{temp / "run", "run"},
                                                        {temp / "run/model.safetensors", "run"},
                                                        {temp / "link", "run"},
                                                        {temp / "many/seed-1", "many"}};
  for (const auto& [from, out] : inside) {
    RunConfig config = steady_picture(temp, 5);
    config.set("from", from);
    EXPECT_THAT(message_of<Error>([&] { TrainingRun::create(config, options(out)); }),
                HasSubstr("a file that this run reads"));
  }
  EXPECT_EQ(files_in(temp / "run"), run);
  EXPECT_EQ(files_in(temp / "many"), many);
  RunConfig config = steady_picture(temp, 5);
  config.set("from", temp / "run");
  TrainingRun::create(config, options("many")).train(pool);
}

}  // namespace
}  // namespace espalier
