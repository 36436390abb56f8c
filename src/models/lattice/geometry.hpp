// A batch of H x W grids laid out for vectors: every sample has a rim one cell wide (zeros, or copies of the
// opposite side), so that the neighbour at any of the nine places is a fixed shift away. Cells are dealt into
// blocks of 32 in order of (sample, row, column); a block is a few runs of consecutive cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "espalier/logic_automaton.hpp"

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
  struct Block {
    std::span<const Run> runs;
    std::span<const Copy> rim;
    int cells;
  };

  Geometry(int batch, int height, int width, Boundary boundary);

  int batch() const { return batch_; }
  int height() const { return height_; }
  int width() const { return width_; }
  std::int64_t cells() const { return std::int64_t{batch_} * height_ * width_; }
  int blocks() const { return static_cast<int>(runs_.size()); }
  // Floats of one plane, with rim and room for vectors to read past the end.
  std::size_t plane() const { return plane_; }
  std::int32_t position(int sample, int row, int column) const {
    return (sample * (height_ + 2) + row + 1) * (width_ + 2) + column + 1;
  }
  // What to add to a cell's position to reach place o of its patch, o = 0..8 by rows.
  std::int32_t shift(int o) const { return (o / 3 - 1) * (width_ + 2) + (o % 3 - 1); }

  Block block(int b) const {
    const auto cells_before = std::int64_t{b} * kBlockCells;
    return {runs_[b], rim_[b], static_cast<int>(std::min<std::int64_t>(kBlockCells, cells() - cells_before))};
  }

 private:
  int batch_, height_, width_;
  std::size_t plane_;
  std::vector<std::vector<Run>> runs_;
  std::vector<std::vector<Copy>> rim_;
};

// Which chunks of so many blocks each read each other's cells; symmetric, ascending, without the chunk itself. What
// vectors read past the end of a run of cells (and throw away) counts as read.
std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, std::size_t blocks_per_chunk);

// Moving the runs of a block between planes and rows of 32 lanes. Cells are read this many at a time, past the end of a
// run: chunk_neighbours() counts on it.
inline constexpr std::int32_t kCopyCells = 8;

// row[lane] = plane[position + shift]. What is copied past a run's end is overwritten by the
// next run or row, so rows must be filled in ascending order and be followed by eight floats of padding. Lanes past the
// last cell become 0.
inline void load_block(const Geometry::Block& block, const float* plane, std::int32_t shift, float* row) {
  for (const Geometry::Run& run : block.runs) {
    const float* from = plane + (run.position + shift);
    float* to = row + run.lane;
    for (std::int32_t i = 0; i < run.length; i += kCopyCells) std::memcpy(to + i, from + i, kCopyCells * sizeof(float));
  }
  for (int lane = block.cells; lane < kBlockCells; ++lane) row[lane] = 0;
}

// row[lane] = sum over the nine planes of plane[o][position], in ascending order; in eights like load_block.
inline void gather_block(const Geometry::Block& block, const float* const (&planes)[9], float* row) {
  for (const Geometry::Run& run : block.runs)
    for (std::int32_t i = 0; i < run.length; i += kCopyCells) {
      float sum[kCopyCells] = {};
      for (const float* plane : planes)
        for (int lane = 0; lane < kCopyCells; ++lane) sum[lane] += plane[run.position + i + lane];
      std::memcpy(row + run.lane + i, sum, sizeof sum);
    }
  for (int lane = block.cells; lane < kBlockCells; ++lane) row[lane] = 0;
}

// plane[position] = row[lane] for the block's cells and the rim cells that repeat them.
inline void store_block(const Geometry::Block& block, const float* row, float* plane) {
  for (const Geometry::Run& run : block.runs)
    std::memcpy(plane + run.position, row + run.lane, sizeof(float) * run.length);
  for (const Geometry::Copy& copy : block.rim) plane[copy.to] = plane[copy.from];
}

}  // namespace espalier
