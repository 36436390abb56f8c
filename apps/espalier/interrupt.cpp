#include "interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <system_error>

#include "espalier/error.hpp"

namespace espalier::app {
namespace {

StopFlag flag;

void on_signal(int signal) {
  // Work stops where it can be taken up again, which may take a moment. (A signal handler may write, not print.)
  constexpr char kText[] = "\nstopping at the next good place; once more stops at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  flag.raise();
  // A terminal that goes away may say so twice, itself and through its shell; only a person's second signal counts.
  if (signal != SIGHUP) std::signal(signal, SIG_DFL);
}

}  // namespace

const StopFlag& interrupt_flag() {
  static const bool installed = [] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN);  // as under nohup
    return true;
  }();
  (void)installed;
  return flag;
}

OnInterrupt::OnInterrupt(std::function<void()> stop) {
  const StopFlag& raised = interrupt_flag();
  const auto watch = [&raised, stop = std::move(stop)](const std::stop_token& token) {
    while (!token.stop_requested()) {
      if (raised.raised()) return stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  try {
    watcher_ = std::jthread(watch);
  } catch (const std::system_error& error) {
    fail("threads", fmt::format("none to listen for signals ({})", error.what()), "one",
         "raise the limits on processes and memory (ulimit -u, ulimit -v)");
  }
}

}  // namespace espalier::app
