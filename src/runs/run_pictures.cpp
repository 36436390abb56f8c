#include "runs/run_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/files.hpp"
#include "base/gif.hpp"
#include "base/plot.hpp"
#include "models/lattice/lattice_model.hpp"

namespace espalier {
namespace {

constexpr int kMaxSide = 48;  // of boards that may be of any size
constexpr std::uint64_t kMaxSteps = 60;
constexpr int kPictureSide = 320, kFrameMs = 120;

// Columns step, loss and validation_loss of metrics.csv. An automaton's training loss is a sum over the boards of a
// batch and its validation loss that of one board: both are shown for one board, so that the gap between soft and hard
// shows.
std::string loss_chart(const std::string& metrics, const LatticeModel* lattice) {
  Series soft{lattice ? "training, soft gates" : "training", {}, {}},
      hard{lattice ? "validation, hard gates" : "validation", {}, {}};
  const double boards = lattice ? lattice->rollout().batch : 1;
  std::istringstream lines(metrics);
  std::string line;
  std::getline(lines, line);  // header
  while (std::getline(lines, line)) {
    double column[5] = {};
    const char* at = line.c_str();
    for (double& value : column) {
      char* end = nullptr;
      value = std::strtod(at, &end);
      at = *end == ',' ? end + 1 : end;
    }
    soft.x.push_back(column[0]);
    soft.y.push_back(column[2] / boards);
    hard.x.push_back(column[0]);
    hard.y.push_back(column[4]);
  }
  // A log axis has no 0, but that is what a solved task comes to: it stands at the bottom.
  double least = INFINITY;
  bool zero = false;
  for (const Series* series : {&soft, &hard})
    for (const double y : series->y) {
      zero |= y == 0;
      if (y > 0) least = std::min(least, y);
    }
  for (Series* series : {&soft, &hard})
    for (double& y : series->y)
      if (y == 0 && std::isfinite(least)) y = least / 2;
  return line_chart({soft, hard}, {.title = zero ? "Loss (0 at the bottom)" : "Loss",
                                   .x_label = "step",
                                   .y_label = lattice ? "squared error per board" : "loss",
                                   .log_y = true});
}

// Wires are by far the most and would flatten all other bars: they are told in the title.
std::string gate_chart(const LatticeModel& model) {
  const GateCounts counts = count_gates(model.parameters().values());
  std::vector<std::pair<std::string, double>> bars;
  long wires = 0;
  for (int gate = 0; gate < kGates; ++gate) {
    if (is_wire(static_cast<Gate>(gate))) {
      wires += static_cast<long>(counts.histogram[gate]);
      continue;
    }
    bars.emplace_back(kGateNames[gate], static_cast<double>(counts.histogram[gate]));
  }
  return bar_chart(
      bars, {.title = fmt::format("Gates as trained: {}, and {} that are wires (A, B)", counts.raw - wires, wires),
             .y_label = "gates"});
}

// A strip below the board that fills up with time: a mark stands at the trained number of steps, and what lies beyond
// it has another colour.
Image with_clock(const Image& board, std::uint64_t step, std::uint64_t trained, std::uint64_t steps) {
  constexpr int kStrip = 8, kGap = 2;
  constexpr Rgb kGround{60, 60, 90}, kBefore{0, 114, 178}, kAfter{0, 158, 115}, kMark{255, 255, 255};
  Image image(board.width, board.height + kGap + kStrip, kGround);
  const auto column = [&](std::uint64_t t) {
    return static_cast<int>(t * static_cast<std::uint64_t>(board.width) / steps);
  };
  for (int y = 0; y < board.height; ++y)
    for (int x = 0; x < board.width; ++x) image.set(y, x, board.at(y, x));
  for (int y = board.height + kGap; y < image.height; ++y)
    for (int x = 0; x < board.width; ++x) {
      if (x < column(step)) image.set(y, x, x < column(trained) ? kBefore : kAfter);
      if (trained < steps && std::abs(x - column(trained)) <= 1) image.set(y, x, kMark);
    }
  return image;
}

void write_growth(const LatticeModel& model, const std::string& path, const ThreadPool& pool) {
  const RolloutOptions& trained = model.rollout();
  const LatticeGoal::View view = model.goal().view(trained);
  // A rule is at home on any board: one that fits the picture.
  const bool any_size = view.height != trained.height;
  const int height = any_size ? kMaxSide : view.height, width = any_size ? kMaxSide : view.width;
  const std::uint64_t steps = any_size ? kMaxSteps : 2 * static_cast<std::uint64_t>(trained.steps);
  SimulatorOptions options;
  options.periodic = model.periodic();
  options.fire_rate = trained.fire_rate;
  const auto stepper = make_stepper(model, model.start(height, width, 1), options, false);
  const int scale = std::max(1, kPictureSide / std::max(height, width));
  constexpr std::uint64_t kMaxFrames = 200;
  const std::uint64_t shown = std::min(steps, kMaxFrames);
  std::vector<Image> frames;
  for (std::uint64_t t = 0; t <= shown; ++t) {
    if (t > 0) stepper->advance(1, pool);
    const Image board = enlarge(view_board(model, stepper->state()), scale);
    frames.push_back(any_size ? board : with_clock(board, t, static_cast<std::uint64_t>(trained.steps), shown));
  }
  write_gif(path, frames, {kFrameMs, 1500, 0});
}

}  // namespace

void write_run_pictures(const RunFolder& folder, const Model& model, const ThreadPool& pool, bool only_missing) {
  if (folder.drawn_elsewhere(only_missing)) return;
  const auto wanted = [&](const char* name) { return !only_missing || !std::filesystem::exists(folder.file(name)); };
  const auto* lattice = dynamic_cast<const LatticeModel*>(&model);
  if (wanted("loss.svg"))
    write_atomically(folder.file("loss.svg"),
                     std::string_view(loss_chart(read_text(folder.file("metrics.csv")), lattice)));
  if (!lattice) return;
  if (wanted("gates.svg")) write_atomically(folder.file("gates.svg"), std::string_view(gate_chart(*lattice)));
  const RolloutOptions& trained = lattice->rollout();
  if (wanted("growth.gif") && std::max(trained.height, trained.width) <= kPictureSide)
    write_growth(*lattice, folder.file("growth.gif"), pool);
}

}  // namespace espalier
