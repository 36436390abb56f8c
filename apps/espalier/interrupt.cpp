#include "interrupt.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "espalier/error.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

StopFlag flag;

void on_signal(int signal) {
  const int error = errno;
  flag.raise();  // first: whoever should read the rest may have stopped reading
  // Work stops where it can be taken up again, which may take a moment. (A signal handler may write, not print.)
  constexpr char kText[] = "\nstopping as soon as everything is saved; once more stops at once\n";
  pollfd screen{STDERR_FILENO, POLLOUT, 0};
  // With SIGTERM mpirun also ends what has failed, which has been told of by then.
  const bool told = signal == SIGTERM && program_ranks();
  if (!told && ::poll(&screen, 1, 0) == 1 && screen.revents == POLLOUT) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  }
  errno = error;
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

std::jthread start_thread(const char* purpose, std::function<void(const std::stop_token&)> work) {
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error& error) {
    fail("threads", fmt::format("none to {} ({})", purpose, error.what()), "one",
         "raise the limits on processes and memory (ulimit -u, ulimit -v)");
  }
}

OnInterrupt::OnInterrupt(std::function<void()> stop) {
  const StopFlag& raised = interrupt_flag();
  watcher_ = start_thread("listen for signals", [&raised, stop = std::move(stop)](const std::stop_token& token) {
    while (!token.stop_requested()) {
      if (raised.raised()) return stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

}  // namespace espalier::app
