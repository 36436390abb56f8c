#include "models/lattice/board_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/npz.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "models/lattice/lattice_goal.hpp"

namespace espalier {
namespace {

NumpyArray array(const NpzFile& file, const std::string& name, const std::string& path) {
  NumpyArray array = file.array(name);
  constexpr std::size_t kMax = 1'000'000;
  if ((array.shape.size() != 3 && array.shape.size() != 4) ||
      !std::ranges::all_of(array.shape, [](std::size_t n) { return n > 0 && n <= kMax; }))
    fail("boards", fmt::format("\"{}\" of {} in {}", name, counted(array.shape.size(), "dimension"), path),
         "[N, H, W] or [N, H, W, C], none of them 0",
         "N is the number of boards: of a single one numpy gives boards[None]");
  return array;
}

constexpr float kMostStates = 32;  // beyond are shades of grey, by their look

std::vector<std::uint8_t> bits(const NumpyArray& array, const char* name, const std::string& path) {
  std::vector<std::uint8_t> bits;
  for (const float value : array.floats(fmt::format("\"{}\" of {}", name, path))) {
    if (value != 0 && value != 1)
      fail("boards", fmt::format("{} in \"{}\" of {}", value, name, path), "only 0 and 1",
           value > 1 && value < kMostStates && value == std::floor(value)
               ? "states of a cell become channels of their own, [N, H, W, C]: numpy.eye(states)[boards] makes one for "
                 "each, of which exactly one is 1"
               : "shades become bits by a threshold, such as boards > 0.5");
    bits.push_back(value != 0);
  }
  return bits;
}

}  // namespace

BoardPairs read_board_pairs(const std::string& path) {
  const NpzFile file = read_npz(path);
  const NumpyArray start = array(file, "start", path), target = array(file, "target", path);
  if (!std::equal(start.shape.begin(), start.shape.begin() + 3, target.shape.begin()))
    fail("boards",
         fmt::format("{} starts of {} x {} and {} targets of {} x {} in {}", start.shape[0], start.shape[1],
                     start.shape[2], target.shape[0], target.shape[1], target.shape[2], path),
         "the same number, height and width");
  BoardPairs pairs;
  pairs.name = fmt::format("{} of {} x {}", counted(start.shape[0], "pair"), start.shape[1], start.shape[2]);
  pairs.count = static_cast<int>(start.shape[0]);
  pairs.height = static_cast<int>(start.shape[1]);
  pairs.width = static_cast<int>(start.shape[2]);
  pairs.start_channels = start.shape.size() == 4 ? static_cast<int>(start.shape[3]) : 1;
  pairs.target_channels = target.shape.size() == 4 ? static_cast<int>(target.shape[3]) : 1;
  pairs.start = bits(start, "start", path);
  pairs.target = bits(target, "target", path);
  return pairs;
}

PairScore score_pairs(const LatticeModel& model, const BoardPairs& pairs, int steps, const ThreadPool& pool) {
  if (model.channels() < pairs.start_channels || model.channels() < pairs.target_channels)
    fail("boards", fmt::format("boards of {} and {} channels", pairs.start_channels, pairs.target_channels),
         fmt::format("at most {}, those of the model", model.channels()));
  // A file of other channels than those it was made from shows other states, whatever bits they are.
  if (const auto own = model.goal().known_pairs(model.seed());
      own && (pairs.start_channels != own->start_channels || pairs.target_channels != own->target_channels))
    fail("boards",
         fmt::format("starts of {} and targets of {}", counted(pairs.start_channels, "channel"),
                     counted(pairs.target_channels, "channel")),
         fmt::format("{} and {}, as in the boards that the model was made from", own->start_channels,
                     own->target_channels));
  const auto count = static_cast<std::size_t>(pairs.count);
  BoardBatch start(count, pairs.height, pairs.width, model.channels());
  BoardBatch target(count, pairs.height, pairs.width, pairs.target_channels);
  const std::uint8_t *from = pairs.start.data(), *to = pairs.target.data();
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t y = 0; y < start.height(); ++y)
      for (std::size_t x = 0; x < start.width(); ++x) {
        for (int c = 0; c < pairs.start_channels; ++c) start.set(n, y, x, c, *from++ != 0);
        for (int c = 0; c < pairs.target_channels; ++c) target.set(n, y, x, c, *to++ != 0);
      }
  const BitScore score = score_boards(model.quick_cell(), start, target, steps, model.periodic(), nullptr, pool);
  return {score.fraction, score.wrong_per_board, count, score.exact_boards};
}

}  // namespace espalier
