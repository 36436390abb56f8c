// Pictures of a run: its loss, and what its model draws of itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <sstream>

#include "base/json.hpp"
#include "base/plot.hpp"
#include "runs/run_folder.hpp"

namespace espalier {
namespace {

// Columns step, loss, validation_loss and mutants of metrics.csv. What a search or a construction did is a line of its
// own: its lines have mutants, or no step before them.
std::string loss_chart(const RunFolder& folder, const LoadedModel& best) {
  const LossWords words = best.model->loss_words();
  Series soft{words.training, {}, {}}, hard{words.validation, {}, {}},
      search{word_for(provenance_of(best.notes)) == "built" ? "construction" : "search over circuits", {}, {}};
  const auto accumulated = parse_json(folder.config(), "config.json").value("accumulate", std::uint64_t{1});
  const double boards = words.samples > 0 ? words.samples * static_cast<double>(accumulated) : 1;
  std::istringstream lines(folder.metrics());
  std::string line;
  std::getline(lines, line);  // header
  const std::size_t named = line.find(",mutants"), mutants = std::ranges::count(line.substr(0, named), ',') + 1;
  while (std::getline(lines, line)) {
    std::vector<double> column;
    const char* at = line.c_str();
    while (*at || column.size() < 5) {
      char* end = nullptr;
      column.push_back(std::strtod(at, &end));
      at = *end == ',' ? end + 1 : line.c_str() + line.size();
    }
    if (std::isnan(column[2]) || (named != std::string::npos && mutants < column.size() && column[mutants] > 0)) {
      search.x.push_back(column[0]);
      search.y.push_back(column[4]);
      continue;
    }
    soft.x.push_back(column[0]);
    soft.y.push_back(column[2] / boards);
    hard.x.push_back(column[0]);
    hard.y.push_back(column[4]);
  }
  // A log axis has no 0, but that is what a solved task comes to: it stands at the bottom.
  double least = INFINITY;
  bool zero = false;
  for (const Series* series : {&soft, &hard, &search})
    for (const double y : series->y) {
      zero |= y == 0;
      if (y > 0) least = std::min(least, y);
    }
  for (Series* series : {&soft, &hard, &search})
    for (double& y : series->y)
      if (y == 0 && std::isfinite(least)) y = least / 2;
  std::vector<Series> curves;
  if (!hard.x.empty() || search.x.empty()) curves = {soft, hard};
  if (!search.x.empty()) curves.push_back(search);
  return line_chart(
      curves,
      {.title = zero ? "Loss (0 at the bottom)" : "Loss", .x_label = "step", .y_label = words.unit, .log_y = true});
}

}  // namespace

void write_run_pictures(const RunFolder& folder, const LoadedModel& best, const ThreadPool& pool, bool only_missing) {
  const auto wanted = [&](const std::string& name) { return !only_missing || !folder.has(name); };
  // Of metrics that somebody has deleted there is nothing to show.
  if (wanted("loss.svg") && !folder.metrics().empty()) {
    const std::string chart = loss_chart(folder, best);
    folder.write("loss.svg", std::as_bytes(std::span(chart)));
  }
  for (const ModelPicture& picture : best.model->pictures(provenance_of(best.notes)))
    if (wanted(picture.name)) folder.write(picture.name, picture.draw(pool));
}

}  // namespace espalier
