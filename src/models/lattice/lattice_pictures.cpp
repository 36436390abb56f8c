// The pictures of a trained automaton: its gates, and how its board grows.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/gif.hpp"
#include "base/plot.hpp"
#include "espalier/lattice_model.hpp"
#include "models/lattice/lattice_view.hpp"
#include "train/provenance.hpp"

namespace espalier {
namespace {

constexpr int kMaxSide = 48;  // of boards that may be of any size
constexpr std::uint64_t kMaxSteps = 60;
constexpr int kPictureSide = 320, kFrameMs = 120;

// Wires are by far the most and would flatten all other bars, and constants are not gates: the title counts them.
std::string gate_chart(const LatticeModel& model, const Provenance& made) {
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
                                  model.is_refined() ? circuit_words_for(made) : "as trained", gates, wires, constants),
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

// A mini-batch's loss is a sum over its boards, the validation's that of one: both are shown for one board, so that the
// gap between soft and hard shows.
LossWords LatticeModel::loss_words() const {
  return {"training, soft gates", "validation, hard gates", "squared error per board",
          static_cast<double>(rollout_.batch)};
}

std::vector<ModelPicture> LatticeModel::pictures(const Provenance& made) const {
  std::vector<ModelPicture> list{{"gates.svg", [this, made](const ThreadPool&) {
                                    const std::string text = gate_chart(*this, made);
                                    const auto bytes = std::as_bytes(std::span(text));
                                    return std::vector<std::byte>(bytes.begin(), bytes.end());
                                  }}};
  if (std::max(rollout_.height, rollout_.width) <= kPictureSide)
    list.push_back({"growth.gif", [this](const ThreadPool& pool) { return draw_growth(*this, pool); }});
  return list;
}

}  // namespace espalier
