// Line and bar charts as SVG text: loss curves, gate histograms. The same data gives the same text.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace espalier {

struct PlotOptions {
  std::string title = {}, x_label = {}, y_label = {};
  int width = 640, height = 400;
  bool log_x = false, log_y = false;  // values that are not above 0 are left out of a log axis
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // as many x as y; a value that is not finite breaks the line
};

//   write_atomically("loss.svg", line_chart({{"soft", steps, soft}, {"hard", steps, hard}}, {.title =
//   "Loss"}));
std::string line_chart(const std::vector<Series>& series, const PlotOptions& options = {});

// Bars from left to right, each with its label below; values from 0 upwards.
std::string bar_chart(const std::vector<std::pair<std::string, double>>& bars, const PlotOptions& options = {});

// Round numbers that cover [low, high] in about `count` steps; for a log axis powers of ten, or 1 2 5 steps
// of them when the range is short, or those of a plain axis when even these would be one or two.
std::vector<double> axis_ticks(double low, double high, int count, bool log);

}  // namespace espalier
