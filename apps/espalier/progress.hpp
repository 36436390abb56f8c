// Progress of long work on standard error: a bar on a terminal, a line every few per cent elsewhere, nothing
// when quiet.
#pragma once

#include <cstdint>
#include <string>

namespace espalier::app {

class Progress {
 public:
  Progress(bool quiet, std::uint64_t total, std::uint64_t done_before = 0);
  ~Progress() { clear(); }

  // `detail` is shown beside the counts, e.g. "soft 3.21  hard 4".
  void update(std::uint64_t done, const std::string& detail);
  // What was done before this program began does not count for the rate.
  void resume_from(std::uint64_t done) { before_ = started_ ? before_ : done, started_ = true; }
  void set_total(std::uint64_t total) { total_ = total; }
  // Removes the bar, so that other text can be printed.
  void clear();

 private:
  bool quiet_, terminal_, shown_ = false, started_ = false;
  std::uint64_t total_, before_, last_line_ = 0;
  double start_, last_draw_ = 0;
};

// "1:05", "2:03:04"; "-" when unknown.
std::string clock_text(double seconds);

}  // namespace espalier::app
