// Boards of a lattice model as values and pictures: where a run starts, and how a state looks.
#pragma once

#include <span>
#include <vector>

#include "espalier/image.hpp"
#include "models/lattice/lattice_model.hpp"

namespace espalier {

// One state of one board: [C][H][W], values in [0, 1].
struct BoardState {
  int channels = 0, height = 0, width = 0;
  std::vector<float> values;
  float& at(int c, int y, int x) { return values[(static_cast<std::size_t>(c) * height + y) * width + x]; }
  float at(int c, int y, int x) const { return values[(static_cast<std::size_t>(c) * height + y) * width + x]; }
};

// Where the model's task starts, on a board of any size: coins for life and checkerboards, the one living cell
// in the middle, or nothing.
BoardState start_board(const LatticeModel& model, int height, int width, std::uint64_t seed);

// The loss channels: one as black and white, three as red, green and blue.
Image view_board(const LatticeModel& model, const BoardState& state);
// Every channel as a small picture, in rows.
Image view_channels(const BoardState& state);

}  // namespace espalier
