// A run that was killed or interrupted and then continued ends with exactly the bits of one that was not.
#include <sys/stat.h>

#include "app/program.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr const char* kSteps = "720";

Arguments training(const std::string& out, const std::string& every = "7") {
  return {"train",
          "checkerboard-small",
          "--seed",
          "5",
          "--train-steps",
          kSteps,
          "--eval-every",
          "8",
          "--no-until-solved",
          "--checkpoint-every",
          every,
          "--threads",
          "2",
          "--quiet",
          "--json",
          "--out",
          out};
}
Arguments resuming(const std::string& out, const std::string& every = "7") {
  return {"train", "--resume", out, "--checkpoint-every", every, "--threads", "2", "--quiet", "--json"};
}

// The run that nothing happened to; made once.
class Resume : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    hash_ = run(training(whole())).json().at("weights_hash");
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string whole() { return *folder_ / "whole"; }

  static void expect_same_as_whole(const std::string& out, const Ended& e) {
    ASSERT_EQ(e.exit_code, 0) << e.err;
    EXPECT_EQ(e.json().at("weights_hash"), hash_);
    EXPECT_EQ(e.json().at("steps").dump(), kSteps);
    EXPECT_EQ(text_of(out + "/model.safetensors"), text_of(whole() + "/model.safetensors"));
    EXPECT_EQ(metrics_but_seconds(out), metrics_but_seconds(whole()));
  }

  static inline TempFolder* folder_ = nullptr;
  static inline std::string hash_;
};

void sleep_ms(std::uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST_F(Resume, KilledAtRandomMomentsGivesTheSameBits) {
  const Random random(static_cast<std::uint64_t>(getpid()), Purpose::kTrial);
  const std::string out = *folder_ / "killed";
  int killed = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const bool started = std::filesystem::exists(out + "/config.json");
    Running program(started ? resuming(out, "3") : training(out, "3"));
    // Somewhere between the first instructions and well into training.
    if (attempt % 3 == 2) program.wait_for(out + "/checkpoint.safetensors");
    sleep_ms(random.choice(static_cast<std::uint64_t>(attempt), attempt % 3 == 0 ? 30 : 150));
    if (program.ended()) break;
    program.send(SIGKILL);
    EXPECT_EQ(program.wait().signal, SIGKILL);
    ++killed;
  }
  EXPECT_GT(killed, 0) << "the program is too quick for this test; train longer";
  expect_same_as_whole(out, run(resuming(out)));
}

TEST_F(Resume, KilledBeforeTheFirstCheckpointStartsAgain) {
  const std::string out = *folder_ / "early";
  {
    Running program(training(out, "100000"));
    program.wait_for(out + "/metrics.csv");
    program.send(SIGKILL);
    ASSERT_EQ(program.wait().signal, SIGKILL);
  }
  ASSERT_FALSE(std::filesystem::exists(out + "/checkpoint.safetensors"));
  expect_same_as_whole(out, run(resuming(out)));
}

TEST_F(Resume, CtrlCSavesSaysHowToResumeAndExits130) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string out = *folder_ / ("signal-" + std::to_string(signal));
    Running program(training(out, "100000"));
    program.wait_for(out + "/metrics.csv");
    program.send(signal);
    const Ended e = program.wait();
    EXPECT_EQ(e.exit_code, 130);
    EXPECT_NE(e.err.find("espalier train --resume " + out), std::string::npos) << e.err;
    EXPECT_EQ(e.json().at("outcome"), "interrupted");
    EXPECT_LT(e.json().at("steps"), std::stoi(kSteps));
    EXPECT_TRUE(std::filesystem::exists(out + "/checkpoint.safetensors"));
    expect_same_as_whole(out, run(resuming(out)));
  }
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  const std::string model = text_of(whole() + "/model.safetensors");
  expect_same_as_whole(whole(), run(resuming(whole())));
  EXPECT_EQ(text_of(whole() + "/model.safetensors"), model);
}

TEST_F(Resume, AFinishedRunGivenMoreStepsGoesOn) {
  const std::string out = *folder_ / "longer";
  Arguments shorter = training(out);
  *(std::find(shorter.begin(), shorter.end(), "--train-steps") + 1) = "100";
  ASSERT_EQ(run(shorter).exit_code, 0);
  Arguments more = resuming(out);
  more.insert(more.end(), {"--train-steps", kSteps});
  const Ended e = run(more);  // a constant rate: a hundred steps and the rest are all of them
  EXPECT_EQ(e.json().at("weights_hash"), hash_) << e.err;
  EXPECT_EQ(e.json().at("steps").dump(), kSteps);
  more.back() = "10";
  expect_one_line(run(more), 1, {"at least the 720"});
  more.back() = "-10";
  expect_one_line(run(more), 2, {"-10"});
}

TEST_F(Resume, PicturesThatAreMissingAreMadeAgain) {
  const std::string names[] = {"loss.svg", "gates.svg", "growth.gif"};
  std::vector<std::string> before;
  for (const std::string& name : names) {
    before.push_back(text_of(whole() + "/" + name));
    EXPECT_FALSE(before.back().empty()) << name;
    std::filesystem::remove(whole() + "/" + name);
  }
  expect_same_as_whole(whole(), run(resuming(whole())));
  for (std::size_t i = 0; i < std::size(names); ++i)
    EXPECT_EQ(text_of(whole() + "/" + names[i]), before[i]) << names[i];
}

TEST_F(Resume, ADamagedCheckpointIsToldOfAndTheOneBeforeIsUsed) {
  const std::string out = *folder_ / "damaged";
  {
    Running program(training(out, "5"));
    program.wait_for(out + "/checkpoint-previous.safetensors");
    program.send(SIGKILL);
    ASSERT_EQ(program.wait().signal, SIGKILL);
  }
  std::filesystem::remove(out + "/checkpoint.safetensors");
  std::ofstream(out + "/checkpoint.safetensors") << "damaged";
  const Ended e = run(resuming(out));
  expect_same_as_whole(out, e);
  EXPECT_EQ(e.error_lines(), 1u) << e.err;
  EXPECT_NE(e.err.find("cannot be used"), std::string::npos) << e.err;
}

TEST_F(Resume, DataThatChangedAreRefusedByName) {
  const TempFolder folder;
  const std::string file = folder / "rows.csv", rows = text_of(test::source_dir() + "/data/iris.csv");
  std::ofstream(file) << rows;
  const std::string out = folder / "run";
  ASSERT_EQ(
      run({"train", "table", "--csv", file, "--target", "species", "--train-steps", "20", "--quiet", "--out", out})
          .exit_code,
      0);
  std::ofstream(file, std::ios::app) << "5.1,3.5,1.4,0.2,setosa\n";
  expect_one_line(run({"train", "--resume", out, "--train-steps", "40"}), 1, {"changed", file});
  std::ofstream(file) << rows;
  EXPECT_EQ(run({"train", "--resume", out, "--train-steps", "40", "--quiet"}).exit_code, 0);
}

TEST_F(Resume, OneFolderHasOneOwner) {
  const std::string out = *folder_ / "owned";
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  Arguments endless = training(out);
  *(std::find(endless.begin(), endless.end(), "--train-steps") + 1) = "1000000";
  {
    Running first(endless);
    first.wait_for(out + "/checkpoint.safetensors");
    const std::string pid = std::to_string(first.pid());
    expect_one_line(run(resuming(out)), 1, {"process " + pid, host, out});
    Arguments forced = endless;
    forced.push_back("--force");
    expect_one_line(run(forced), 1, {"process " + pid, host});
    expect_one_line(run(endless), 1, {"process " + pid, host});
    EXPECT_FALSE(first.ended());
    first.send(SIGKILL);
    ASSERT_EQ(first.wait().signal, SIGKILL);
  }
  // The lock died with its owner.
  Running second(resuming(out));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(second.ended());
  second.send(SIGINT);
  EXPECT_EQ(second.wait().exit_code, 130);
}

TEST_F(Resume, OneFolderOfManySeedsHasOneOwner) {
  const std::string out = *folder_ / "seeds";
  Arguments many = training(out);
  *(std::find(many.begin(), many.end(), "--train-steps") + 1) = "1000000";
  many.insert(many.end(), {"--seeds", "3", "--lr", "1e-9"});  // too small to solve anything
  Running first(many);
  first.wait_for(out + "/seed-5/checkpoint.safetensors");
  expect_one_line(run(resuming(out)), 1, {"process " + std::to_string(first.pid())});
  first.send(SIGKILL);
  first.wait();
  Running second(resuming(out));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(second.ended());
  second.send(SIGINT);
  EXPECT_EQ(second.wait().exit_code, 130);
}

TEST_F(Resume, MetricsThatAreAPipeDoNotHangIt) {
  const std::string out = *folder_ / "pipe";
  {
    Running program(training(out, "5"));
    program.wait_for(out + "/checkpoint.safetensors");
    program.send(SIGINT);
    ASSERT_EQ(program.wait().exit_code, 130);
  }
  std::filesystem::remove(out + "/metrics.csv");
  ASSERT_EQ(mkfifo((out + "/metrics.csv").c_str(), 0600), 0);
  expect_one_line(run(resuming(out)), 1, {"metrics.csv", "plain file"});
}

TEST_F(Resume, AFileSizeLimitLosesNothing) {
  const std::string out = *folder_ / "limited";
  {
    Running program(training(out, "1"));
    program.wait_for(out + "/checkpoint.safetensors");
    program.send(SIGINT);
    ASSERT_EQ(program.wait().exit_code, 130);
  }
  const std::string checkpoint = text_of(out + "/checkpoint.safetensors");
  expect_one_line(run(resuming(out), {{}, "", 8192}), 1, {"model.safetensors", "File too large"});
  EXPECT_EQ(text_of(out + "/checkpoint.safetensors"), checkpoint);
  for (const auto& entry : std::filesystem::directory_iterator(out))
    EXPECT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
  expect_same_as_whole(out, run(resuming(out)));
}

TEST_F(Resume, ADiskThatIsFullFromTheStartIsReported) {
  const std::string out = *folder_ / "full";
  expect_one_line(run(training(out), {{}, "", 500}), 1, {"config.json", "File too large"});
  EXPECT_FALSE(std::filesystem::exists(out + "/config.json"));
  expect_same_as_whole(out, run(training(out)));
}

TEST_F(Resume, TheHashIsTheSameForAnyNumberOfThreads) {
  for (const char* threads : {"1", "2", "3", "5", "8", "16"}) {
    Arguments arguments = training(*folder_ / (std::string("threads-") + threads));
    *(std::find(arguments.begin(), arguments.end(), "--threads") + 1) = threads;
    const Ended e = run(arguments, {{{"ESPALIER_OVERSUBSCRIBE", "1"}}, "", RLIM_INFINITY});
    EXPECT_EQ(e.json().at("weights_hash"), hash_) << threads;
    EXPECT_EQ(e.json().at("threads").dump(), threads);
  }
}

}  // namespace
}  // namespace espalier
