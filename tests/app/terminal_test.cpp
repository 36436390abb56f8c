// A terminal that is full, closed or gone: training goes on, or stops in good order, and its files hold nothing that
// belongs on a screen.
#include <sys/stat.h>

#include "app/program.hpp"

namespace espalier {
namespace {

const std::string kTraining =
    " train checkerboard-small --seed 5 --train-steps 60 --eval-every 8 --no-until-solved --checkpoint-every 7"
    " --threads 2 --out ";

class Terminal : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    ASSERT_EQ(shell(kTraining + (*folder_ / "whole"), ">/dev/null 2>/dev/null"), 0);
  }
  static void TearDownTestSuite() { delete folder_; }

  static int shell(const std::string& arguments, const std::string& redirection) {
    const int status =
        std::system((std::string("exec ") + test::program_path() + arguments + " " + redirection).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  static void expect_same_as_whole(const std::string& out) {
    const std::string whole = *folder_ / "whole";
    EXPECT_EQ(text_of(out + "/config.json"), text_of(whole + "/config.json"));
    EXPECT_TRUE(nlohmann::json::accept(text_of(out + "/config.json")));
    EXPECT_EQ(text_of(out + "/model.safetensors"), text_of(whole + "/model.safetensors"));
    EXPECT_EQ(metrics_but_seconds(out), metrics_but_seconds(whole));
    for (const char* name : {"loss.svg", "gates.svg", "growth.gif"})
      EXPECT_EQ(text_of(out + "/" + name), text_of(whole + "/" + name)) << name;
    // The hash of the last weights, not only of the best ones.
    const Ended e = run({"train", "--resume", out, "--quiet", "--json"});
    EXPECT_EQ(e.json().at("weights_hash"),
              run({"train", "--resume", whole, "--quiet", "--json"}).json().at("weights_hash"));
  }

  static inline TempFolder* folder_ = nullptr;
};

TEST_F(Terminal, ClosedStreamsDoNotEndUpInFiles) {
  int number = 0;
  for (const char* closed : {"2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-", "0<&-", "1>&-", "0<&- 2>&-"}) {
    const std::string out = *folder_ / ("closed-" + std::to_string(number++));
    // A result that nobody can read is a failure; the run is there all the same.
    const int expected = std::string_view(closed).find("1>&-") == std::string_view::npos ? 0 : 1;
    EXPECT_EQ(shell(kTraining + out, std::string(">/dev/null 2>/dev/null ") + closed), expected) << closed;
    expect_same_as_whole(out);
  }
}

TEST_F(Terminal, ARunThatIsStoppedDoesNotShowItsEndAsReached) {
  const Ended e = run({"train", "checkerboard-small", "--train-steps", "1000000", "--no-until-solved", "--refine", "0",
                       "--seconds", "0.3", "--out", *folder_ / "stopped"});
  EXPECT_EQ(e.exit_code, 0) << e.err;
  EXPECT_NE(e.err.find("out of time"), std::string::npos) << e.err;
  EXPECT_EQ(e.err.find("1000000/1000000"), std::string::npos) << e.err;
}

TEST_F(Terminal, AFullOneForMessagesDoesNotEndTheTraining) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const std::string out = *folder_ / "full";
  EXPECT_EQ(shell(kTraining + out, "2>/dev/full >/dev/null"), 0);
  expect_same_as_whole(out);
  // A result that cannot be printed is a failure; the run is there all the same.
  const std::string result = *folder_ / "full-result";
  EXPECT_EQ(shell(kTraining + result, ">/dev/full 2>/dev/null"), 1);
  expect_same_as_whole(result);
}

TEST_F(Terminal, AReaderThatGoesAwayDoesNotEndTheTraining) {
  const std::string out = *folder_ / "reader";
  const std::string command = test::program_path() + kTraining + out + " 2>&1 | head -c 10 >/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  expect_same_as_whole(out);
}

// A pipe that was filled before, and that somebody holds but does not read: as a terminal after Ctrl-S.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::string block(4096, 'x');
    while (::write(ends_[1], block.data(), block.size()) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
  }
  ~FullPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(ends_[1]); }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(Terminal, OneThatDoesNotReadStopsNeitherTheTrainingNorASignal) {
  const FullPipe pipe;
  const std::string out = *folder_ / "stalled";
  EXPECT_EQ(shell(kTraining + out, ">/dev/null 2>" + pipe.path()), 0);
  expect_same_as_whole(out);
  Surroundings stalled;
  stalled.launcher = {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + pipe.path()};
  const std::string endless = *folder_ / "stalled-endless";
  Running program({"train", "checkerboard-small", "--seed", "5", "--train-steps", "1000000", "--eval-every", "8",
                   "--no-until-solved", "--threads", "2", "--json", "--out", endless},
                  stalled);
  program.wait_for(endless + "/metrics.csv");
  program.send(SIGTERM);
  const Ended e = program.wait();
  EXPECT_EQ(e.exit_code, 130);
  EXPECT_EQ(e.json().at("outcome"), "interrupted");
}

TEST_F(Terminal, GoneItStopsInGoodOrderHoweverOftenItIsTold) {
  const std::string out = *folder_ / "gone";
  Arguments endless{"train", "checkerboard-small", "--seed",    "5", "--train-steps", "1000000", "--eval-every",
                    "8",     "--no-until-solved",  "--threads", "2", "--json",        "--out",   out};
  Running program(endless);
  program.wait_for(out + "/metrics.csv");
  for (int i = 0; i < 3; ++i) program.send(SIGHUP);
  const Ended e = program.wait();
  EXPECT_EQ(e.signal, 0);
  EXPECT_EQ(e.exit_code, 130);
  EXPECT_EQ(e.json().at("outcome"), "interrupted");
  EXPECT_NE(e.err.find("--resume " + out), std::string::npos) << e.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/checkpoint.safetensors"));
}

TEST_F(Terminal, UnderNohupItIsNotTold) {
  const std::string out = *folder_ / "nohup";
  Surroundings ignoring;
  ignoring.ignored_signal = SIGHUP;
  Running program({"train", "checkerboard-small", "--seed", "5", "--train-steps", "60", "--eval-every", "8",
                   "--no-until-solved", "--checkpoint-every", "7", "--threads", "2", "--out", out},
                  ignoring);
  program.wait_for(out + "/config.json");
  for (int i = 0; i < 5; ++i) {
    program.send(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(program.wait().exit_code, 0);
  expect_same_as_whole(out);
}

}  // namespace
}  // namespace espalier
