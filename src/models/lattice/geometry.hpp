// A batch of H x W grids laid out for vectors: every sample has a rim one cell wide (zeros, or copies of the
// opposite side), so that the neighbour at any of the nine places is a fixed shift away. Cells are dealt into
// blocks of 32 in order of (sample, row, column); a block is a few runs of consecutive cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/automaton.hpp"

namespace espalier {

inline constexpr int kBlockCells = 32;

// An Error when there are no cells, or more than memory is meant for.
void check_grid(int batch, int height, int width);

class Geometry {
 public:
  // `length` consecutive cells of the plane from `position`, in lanes from `lane`.
  struct Run {
    std::int32_t lane, position, length;
  };
  struct Copy {
    std::int32_t from, to;  // a rim cell `to` that repeats cell `from`
  };

  Geometry(int batch, int height, int width, Boundary boundary);

  int batch() const { return batch_; }
  int height() const { return height_; }
  int width() const { return width_; }
  std::int64_t cells() const { return std::int64_t{batch_} * height_ * width_; }
  int blocks() const { return static_cast<int>(runs_.size()); }
  int block_cells(int block) const {
    return static_cast<int>(std::min<std::int64_t>(kBlockCells, cells() - std::int64_t{block} * kBlockCells));
  }

  // Floats of one plane, with rim and room for vectors to read past the end.
  std::size_t plane() const { return plane_; }
  std::int32_t position(int sample, int row, int column) const {
    return (sample * (height_ + 2) + row + 1) * (width_ + 2) + column + 1;
  }
  // What to add to a cell's position to reach place o of its patch, o = 0..8 by rows.
  std::int32_t shift(int o) const { return (o / 3 - 1) * (width_ + 2) + (o % 3 - 1); }

  std::span<const Run> runs(int block) const { return runs_[block]; }
  std::span<const Copy> rim(int block) const { return rim_[block]; }

 private:
  int batch_, height_, width_;
  std::size_t plane_;
  std::vector<std::vector<Run>> runs_;
  std::vector<std::vector<Copy>> rim_;
};

}  // namespace espalier
