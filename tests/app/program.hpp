// Runs the real program the way a shell does, and tells how it ended and what it said.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "places.hpp"
#include "temp_folder.hpp"

namespace espalier {

using Arguments = std::vector<std::string>;

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Ended {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err;

  std::size_t error_lines() const { return static_cast<std::size_t>(std::count(err.begin(), err.end(), '\n')); }
  // Standard output, which must be exactly one JSON object on one line.
  nlohmann::json json() const {
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
    const auto object = nlohmann::json::parse(out, nullptr, false);
    EXPECT_TRUE(object.is_object()) << "standard output: " << out << "\nstandard error: " << err;
    return object.is_object() ? object : nlohmann::json::object();
  }
};

struct Surroundings {
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string folder = {};  // to run in
  rlim_t file_size_limit = RLIM_INFINITY;
  int ignored_signal = 0;   // as under nohup
  Arguments launcher = {};  // a program that starts ours, and its arguments
};

// The program while it runs.
class Running {
 public:
  explicit Running(const Arguments& arguments, const Surroundings& around = {}) {
    pid_ = fork();
    if (pid_ == 0) become(arguments, around);
  }
  ~Running() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }

  // Until the file is there, the program has ended, or patience has.
  void wait_for(const std::string& path) const {
    for (int i = 0; i < 60'000 && !std::filesystem::exists(path) && !ended(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The same for words on standard error.
  void wait_for_words(const std::string& words) const {
    for (int i = 0; i < 6'000 && text_of(streams_ / "err").find(words) == std::string::npos && !ended(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  Ended wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    Ended e;
    if (WIFEXITED(status)) e.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) e.signal = WTERMSIG(status);
    e.out = text_of(streams_ / "out");
    e.err = text_of(streams_ / "err");
    return e;
  }

 private:
  [[noreturn]] void become(const Arguments& arguments, const Surroundings& around) const {
    const auto redirect = [](const std::string& path, int to) {
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (fd < 0 || dup2(fd, to) < 0) _exit(126);
    };
    redirect(streams_ / "out", STDOUT_FILENO);
    redirect(streams_ / "err", STDERR_FILENO);
    for (const auto& [name, value] : around.environment) setenv(name.c_str(), value.c_str(), 1);
    if (!around.folder.empty() && chdir(around.folder.c_str()) != 0) _exit(126);
    const rlimit limit{around.file_size_limit, RLIM_INFINITY};
    if (around.file_size_limit != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
    if (around.ignored_signal) ::signal(around.ignored_signal, SIG_IGN);
    std::vector<char*> argv;
    for (const std::string& a : around.launcher) argv.push_back(const_cast<char*>(a.c_str()));
    const std::string program = test::program_path();
    argv.push_back(const_cast<char*>(program.c_str()));
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }

  TempFolder streams_;
  pid_t pid_ = -1;
};

inline Ended run(const Arguments& arguments, const Surroundings& around = {}) {
  return Running(arguments, around).wait();
}

// metrics.csv without the column that tells the time.
inline std::string metrics_but_seconds(const std::string& folder) {
  std::ifstream in(folder + "/metrics.csv");
  std::string text, line;
  while (std::getline(in, line)) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    text += line.substr(0, first) + line.substr(second) + "\n";
  }
  return text;
}

// A failure that a user can read: one line on standard error, nothing on standard output, no signal.
inline void expect_one_line(const Ended& e, int exit_code, const std::vector<std::string>& words) {
  EXPECT_EQ(e.signal, 0);
  EXPECT_EQ(e.exit_code, exit_code) << e.err;
  EXPECT_EQ(e.error_lines(), 1u) << e.err;
  EXPECT_EQ(e.out, "");
  for (const std::string& word : words) EXPECT_NE(e.err.find(word), std::string::npos) << word << " in: " << e.err;
}

}  // namespace espalier
