#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/clock.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;
constexpr std::uint64_t kLines = 20;  // plain lines over a whole run

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

}  // namespace

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto s = static_cast<long>(seconds + 0.5);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

Progress::Progress(bool quiet, std::uint64_t total, std::uint64_t done_before)
    : quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) != 0),
      total_(std::max<std::uint64_t>(1, total)),
      before_(done_before),
      start_(seconds_now()) {}

void Progress::update(std::uint64_t done, const std::string& detail) {
  if (quiet_) return;
  const double now = seconds_now(), elapsed = now - start_;
  const double rate = elapsed > 0 ? static_cast<double>(done - std::min(before_, done)) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(total_ - std::min(done, total_)) / rate : INFINITY;
  const std::string counts = fmt::format("{}/{}  {}  {:.3g}/s  {} left", done, total_, detail, rate, clock_text(left));
  if (terminal_) {
    if (now - last_draw_ < kRedrawSeconds && done < total_) return;
    last_draw_ = now;
    const int filled = static_cast<int>(kBarWidth * std::min(done, total_) / total_);
    std::string bar;
    for (int i = 0; i < kBarWidth; ++i) bar += i < filled ? "█" : "░";
    std::string line = counts;
    const int room = terminal_columns() - kBarWidth - 2;
    if (static_cast<int>(line.size()) > room) line.resize(static_cast<std::size_t>(std::max(0, room)));
    note(fmt::format("\r\x1b[K{} {}", bar, line));
    shown_ = true;
  } else if (done * kLines / total_ != last_line_ || done == total_) {
    last_line_ = done * kLines / total_;
    note("{}\n", counts);
  }
}

void Progress::clear() {
  if (shown_) note(std::string("\r\x1b[K"));
  shown_ = false;
}

}  // namespace espalier::app
