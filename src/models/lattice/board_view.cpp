#include "models/lattice/board_view.hpp"

#include <algorithm>
#include <cmath>

#include "espalier/random.hpp"

namespace espalier {
namespace {

std::uint8_t shade(float value) { return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f))); }

}  // namespace

BoardState start_board(const LatticeModel& model, int height, int width, std::uint64_t seed) {
  const int channels = model.automaton.options().channels;
  BoardState state{channels, height, width, std::vector<float>(static_cast<std::size_t>(channels) * height * width)};
  if (model.problem.target.empty()) {
    const Random coins(seed, Purpose::kTrial);
    for (std::size_t i = 0; i < state.values.size(); ++i) state.values[i] = coins.coin(i);
  } else if (model.config.at("seed-row").get<int>() >= 0) {
    // The same place relative to the middle as in training.
    const int y = model.config.at("seed-row").get<int>() + (height - model.problem.rollout.height) / 2;
    const int x = model.config.at("seed-column").get<int>() + (width - model.problem.rollout.width) / 2;
    if (y >= 0 && y < height && x >= 0 && x < width)
      for (int c = 0; c < channels; ++c) state.at(c, y, x) = 1;
  }
  return state;
}

Image view_board(const LatticeModel& model, const BoardState& state) {
  Image image(state.width, state.height);
  const bool colour = model.problem.loss_channels >= 3;
  for (int y = 0; y < state.height; ++y)
    for (int x = 0; x < state.width; ++x) {
      const auto part = [&](int c) { return shade(state.at(colour ? c : 0, y, x)); };
      image.set(y, x, {part(0), part(1), part(2)});
    }
  return image;
}

Image view_channels(const BoardState& state) {
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(state.channels)))));
  const int rows = (state.channels + columns - 1) / columns;
  Image sheet(columns * (state.width + 1) + 1, rows * (state.height + 1) + 1, {60, 60, 90});
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) {
        const std::uint8_t s = shade(state.at(c, y, x));
        sheet.set(c / columns * (state.height + 1) + 1 + y, c % columns * (state.width + 1) + 1 + x, {s, s, s});
      }
  return sheet;
}

}  // namespace espalier
