#include "tasks/lattice_data.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr int kLifeBoards = 512;
constexpr int kValidationBoards = 200;

BitBoards all_life_boards() {
  BitBoards boards(kLifeBoards, 3, 3, 1);
  for (int n = 0; n < kLifeBoards; ++n)
    for (int cell = 0; cell < 9; ++cell) boards.set(n, cell / 3, cell % 3, 0, n >> cell & 1);
  return boards;
}

}  // namespace

bool conway(const BitBoards& boards, int sample, int y, int x) {
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dy || dx)
        neighbours +=
            boards.get(sample, (y + dy + boards.height) % boards.height, (x + dx + boards.width) % boards.width, 0);
  return neighbours == 3 || (neighbours == 2 && boards.get(sample, y, x, 0));
}

LatticeData life_data(const RolloutOptions& r, std::uint64_t seed) {
  if (r.height != 3 || r.width != 3 || r.steps != 1)
    fail("life", fmt::format("a grid of {} x {} and {} steps", r.height, r.width, r.steps), "3 x 3 and 1 step",
         "the task learns all 512 neighbourhoods; run the model on any size afterwards");
  LatticeData data;
  data.validation = all_life_boards();
  data.validation_target = BitBoards(kLifeBoards, 3, 3, 1);
  for (int n = 0; n < kLifeBoards; ++n)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) data.validation_target.set(n, y, x, 0, conway(data.validation, n, y, x));
  data.draw = [r, seed, boards = data.validation, targets = data.validation_target](
                  std::uint64_t batch, std::span<float> initial, std::span<float> target) {
    const Random random(seed, Purpose::kBatch, static_cast<std::uint32_t>(batch));
    for (int n = 0; n < r.batch; ++n) {
      const auto board = static_cast<int>(random.choice(n, kLifeBoards));
      for (int cell = 0; cell < 9; ++cell) {
        initial[n * 9 + cell] = boards.get(board, cell / 3, cell % 3, 0);
        target[n * 9 + cell] = targets.get(board, cell / 3, cell % 3, 0);
      }
    }
  };
  return data;
}

LatticeData checkerboard_data(const RolloutOptions& r, int channels, std::uint64_t seed) {
  LatticeData data;
  data.validation = BitBoards(kValidationBoards, r.height, r.width, channels);
  data.validation_target = BitBoards(kValidationBoards, r.height, r.width, 1);
  const Random fresh(seed, Purpose::kValidation);
  std::uint64_t draw = 0;
  for (int n = 0; n < kValidationBoards; ++n)
    for (int y = 0; y < r.height; ++y)
      for (int x = 0; x < r.width; ++x) {
        for (int c = 0; c < channels; ++c) data.validation.set(n, y, x, c, fresh.coin(draw++));
        data.validation_target.set(n, y, x, 0, checker(y, x));
      }
  data.draw = [r, seed](std::uint64_t batch, std::span<float> initial, std::span<float> target) {
    const Random random(seed, Purpose::kBatch, static_cast<std::uint32_t>(batch));
    for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = random.coin(i) ? 1.0f : 0.0f;
    for (std::size_t i = 0; i < target.size(); ++i)
      target[i] = checker(static_cast<int>(i / r.width % r.height), static_cast<int>(i % r.width)) ? 1.0f : 0.0f;
  };
  return data;
}

LatticeData pattern_data(const RolloutOptions& r, int channels, const Pattern& pattern, int seed_row, int seed_column) {
  if (pattern.height != r.height || pattern.width != r.width)
    fail("pattern", fmt::format("a target of {} x {}", pattern.height, pattern.width),
         fmt::format("{} x {}, the size of the grid", r.height, r.width), "set --height and --width to the target's");
  if (channels < pattern.channels)
    fail("pattern", fmt::format("{} channels", channels),
         fmt::format("at least {}, those of the target", pattern.channels));
  if (seed_row >= r.height || seed_column >= r.width)
    fail("pattern", fmt::format("a seed at ({}, {})", seed_row, seed_column),
         fmt::format("a cell of the {} x {} grid, or -1 for none", r.height, r.width));
  if ((seed_row < 0) != (seed_column < 0))
    fail("pattern", fmt::format("a seed at ({}, {})", seed_row, seed_column),
         "both a row and a column, or -1 for both");
  LatticeData data;
  data.validation = BitBoards(1, r.height, r.width, channels);
  data.validation_target = BitBoards(1, r.height, r.width, pattern.channels);
  for (int y = 0; y < r.height; ++y)
    for (int x = 0; x < r.width; ++x) {
      for (int c = 0; c < channels; ++c) data.validation.set(0, y, x, c, y == seed_row && x == seed_column);
      for (int c = 0; c < pattern.channels; ++c) data.validation_target.set(0, y, x, c, pattern.at(c, y, x));
    }
  const std::size_t cells = static_cast<std::size_t>(r.height) * r.width;
  data.draw = [=](std::uint64_t, std::span<float> initial, std::span<float> target) {
    for (std::size_t i = 0; i < initial.size(); ++i) {
      const auto cell = static_cast<int>(i % cells);
      initial[i] = cell / r.width == seed_row && cell % r.width == seed_column ? 1.0f : 0.0f;
    }
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = pattern.bits[i % pattern.bits.size()];
  };
  return data;
}

}  // namespace espalier
