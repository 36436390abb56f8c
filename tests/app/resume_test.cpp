// A run that was killed or interrupted and then continued ends with exactly the bits of one that was not.
#include "app/program.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr const char* kEpochs = "240";

Arguments training(const std::string& out, const std::string& every = "7") {
  return {"train",
          "checkerboard-small",
          "--seed",
          "5",
          "--epochs",
          kEpochs,
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
    EXPECT_EQ(e.json().at("epochs").dump(), kEpochs);
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
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string out = *folder_ / (signal == SIGINT ? "interrupted" : "terminated");
    Running program(training(out, "100000"));
    program.wait_for(out + "/metrics.csv");
    program.send(signal);
    const Ended e = program.wait();
    EXPECT_EQ(e.exit_code, 130);
    EXPECT_NE(e.err.find("espalier train --resume " + out), std::string::npos) << e.err;
    EXPECT_EQ(e.json().at("outcome"), "interrupted");
    EXPECT_LT(e.json().at("epochs"), std::stoi(kEpochs));
    EXPECT_TRUE(std::filesystem::exists(out + "/checkpoint.safetensors"));
    expect_same_as_whole(out, run(resuming(out)));
  }
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  const std::string model = text_of(whole() + "/model.safetensors");
  expect_same_as_whole(whole(), run(resuming(whole())));
  EXPECT_EQ(text_of(whole() + "/model.safetensors"), model);
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
