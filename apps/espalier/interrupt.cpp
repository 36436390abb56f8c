#include "interrupt.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <system_error>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

StopFlag flag;

void on_signal(int signal) {
  const int error = errno;
  flag.raise();  // first: whoever should read the rest may have stopped reading
  // Work stops where it can be taken up again, which may take a moment. (A signal handler may write, not print.)
  constexpr char kText[] = "\nstopping as soon as everything is saved; interrupt again to stop at once\n";
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

OnInterrupt::OnInterrupt(std::function<void()> stop, double seconds) {
  const StopFlag& raised = interrupt_flag();
  const double end = seconds > 0 ? seconds_now() + seconds : INFINITY;
  try {
    watcher_ = std::jthread([this, &raised, end, stop = std::move(stop)](const std::stop_token& token) {
      while (!token.stop_requested()) {
        const double left = end - seconds_now();
        out_of_time_ = left <= 0 && !raised.raised();
        if (raised.raised() || left <= 0) return stop();
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.02)));
      }
    });
  } catch (const std::system_error& error) {
    fail("threads", fmt::format("none to listen for signals ({})", error.what()), "one",
         "raise the limits on processes and memory (ulimit -u, ulimit -v)");
  }
}

}  // namespace espalier::app
