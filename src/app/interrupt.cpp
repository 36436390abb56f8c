#include "app/interrupt.hpp"

#include <csignal>

namespace espalier::app {
namespace {

StopFlag flag;

void on_signal(int signal) {
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
