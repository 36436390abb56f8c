// Pictures of a run: its loss, its gates, and how the board grows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/gif.hpp"
#include "base/json.hpp"
#include "base/plot.hpp"
#include "espalier/lattice_model.hpp"
#include "models/lattice/lattice_view.hpp"
#include "runs/run_folder.hpp"
#include "train/provenance.hpp"

namespace espalier {
namespace {

constexpr int kMaxSide = 48;  // of boards that may be of any size
constexpr std::uint64_t kMaxSteps = 60;
constexpr int kPictureSide = 320, kFrameMs = 120;

// An automaton's training loss is a sum over all boards
// of a step and its validation loss that of one board: both are shown for one board, so that the gap between soft and
// hard shows. What a search or a construction did is a line of its own: its lines have mutants, or no step before them.
std::string loss_chart(const RunFolder& folder, const LoadedModel& best) {
  const auto* lattice = dynamic_cast<const LatticeModel*>(best.model.get());
  Series soft{lattice ? "training, soft gates" : "training", {}, {}},
      hard{lattice ? "validation, hard gates" : "validation", {}, {}},
      search{word_for(provenance_of(best.notes)) == "built" ? "construction" : "search over circuits", {}, {}};
  const auto accumulated = parse_json(folder.config(), "config.json").value("accumulate", std::uint64_t{1});
  const double boards = lattice ? lattice->rollout().batch * static_cast<double>(accumulated) : 1;
  const Metrics metrics = parse_metrics(folder.metrics());
  const auto *steps = metrics.find("step"), *losses = metrics.find("loss"),
             *validation = metrics.find("validation_loss"), *mutants = metrics.find("mutants");
  for (std::size_t i = 0; steps && losses && validation && i < metrics.rows(); ++i) {
    const bool searched = std::isnan((*losses)[i]) || (mutants && (*mutants)[i] > 0);
    Series& judged = searched ? search : hard;
    judged.x.push_back((*steps)[i]);
    judged.y.push_back((*validation)[i]);
    if (searched) continue;
    soft.x.push_back((*steps)[i]);
    soft.y.push_back((*losses)[i] / boards);
  }
  // Before searches had lines of their own: down from the last evaluation.
  if (search.x.empty() && lattice && lattice->is_refined() && best.notes.contains("loss") && !hard.x.empty()) {
    search.x = {hard.x.back(), hard.x.back()};
    search.y = {hard.y.back(), std::strtod(best.notes.at("loss").c_str(), nullptr)};
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
  return line_chart(curves, {.title = zero ? "Loss (0 at the bottom)" : "Loss",
                             .x_label = "step",
                             .y_label = lattice ? "squared error per board" : "loss",
                             .log_y = true});
}

// Wires are by far the most and would flatten all other bars, and constants are not gates: the title counts them.
std::string gate_chart(const LatticeModel& model, const ModelNotes& notes) {
  std::array<std::size_t, kGates> histogram{};
  if (model.is_refined())
    histogram = count_netlist(model.raw_cell()).histogram;
  else
    std::ranges::copy(model.count_gates().histogram, histogram.begin());
  std::vector<std::pair<std::string, double>> bars;
  std::size_t gates = 0, wires = 0, constants = 0;
  for (int g = 0; g < kGates; ++g) {
    const Gate gate = static_cast<Gate>(g);
    (is_wire(gate) ? wires : is_constant(gate) ? constants : gates) += histogram[g];
    if (!is_wire(gate) && !is_constant(gate)) bars.emplace_back(kGateNames[g], static_cast<double>(histogram[g]));
  }
  return bar_chart(
      bars, {.title = fmt::format("Gates {}: {} (wires: {}, constants: {})",
                                  model.is_refined() ? circuit_words_for(provenance_of(notes)) : "as trained", gates,
                                  wires, constants),
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

std::vector<std::byte> draw_growth(const LatticeModel& model, const ThreadPool& pool) {
  const RolloutOptions& trained = model.rollout();
  const BoardView view = model.view();
  // A rule is at home on any board: one that fits the picture.
  const bool any_size = view.height != trained.height;
  const int height = any_size ? kMaxSide : view.height, width = any_size ? kMaxSide : view.width;
  const std::uint64_t steps = any_size ? kMaxSteps : 2 * static_cast<std::uint64_t>(trained.steps);
  const auto stepper = make_stepper(model, model.start(height, width, 1), run_options(model), false);
  const int scale = std::max(1, kPictureSide / std::max(height, width));
  constexpr std::uint64_t kMaxFrames = 200;
  const std::uint64_t shown = std::min(steps, kMaxFrames);
  std::vector<Image> boards;  // of one pixel per cell: all frames at once would be most of what a small run needs
  for (std::uint64_t t = 0; t <= shown; ++t) {
    if (t > 0) stepper->advance(1, pool);
    boards.push_back(view_board(model, stepper->state()));
  }
  const auto frame = [&](std::size_t t) {
    const Image board = enlarge(boards[t], scale);
    return any_size ? board : with_clock(board, t, static_cast<std::uint64_t>(trained.steps), shown);
  };
  GifOptions gif{kFrameMs, 1500, 0};
  if (!any_size && static_cast<std::uint64_t>(trained.steps) < shown)
    gif.held = trained.steps;  // what was trained is seen before it may fall apart
  return encode_gif(boards.size(), frame, gif);
}

}  // namespace

void write_run_pictures(const RunFolder& folder, const LoadedModel& best, const ThreadPool& pool, bool only_missing) {
  const auto wanted = [&](const char* name) { return !only_missing || !folder.has(name); };
  const auto write_text = [&](const char* name, const std::string& text) {
    folder.write(name, std::as_bytes(std::span(text)));
  };
  // Of metrics that somebody has deleted there is nothing to show.
  if (wanted("loss.svg") && !folder.metrics().empty()) write_text("loss.svg", loss_chart(folder, best));
  const auto* lattice = dynamic_cast<const LatticeModel*>(best.model.get());
  if (!lattice) return;
  if (wanted("gates.svg")) write_text("gates.svg", gate_chart(*lattice, best.notes));
  const RolloutOptions& trained = lattice->rollout();
  if (wanted("growth.gif") && std::max(trained.height, trained.width) <= kPictureSide)
    folder.write("growth.gif", draw_growth(*lattice, pool));
}

}  // namespace espalier
