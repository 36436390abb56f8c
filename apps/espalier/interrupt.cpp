#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>

namespace espalier::app {
namespace {

StopFlag flag;

void on_signal(int signal) {
  // Work stops where it can be taken up again, which may take a while. (A signal handler may write, not print.)
  constexpr char kText[] = "\nstopping at the next good place; once more stops at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  flag.raise();
  std::signal(signal, SIG_DFL);
}

}  // namespace

const StopFlag& interrupt_flag() {
  static const bool installed = [] {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    return true;
  }();
  (void)installed;
  return flag;
}

}  // namespace espalier::app
