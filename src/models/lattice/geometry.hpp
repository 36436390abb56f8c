// A batch of H x W grids laid out for vectors: every sample has a rim one cell wide (zeros, or copies of the
// opposite side), so that the neighbour at any of the nine places is a fixed shift away.
//
// Samples are taken in groups of whole samples, and the cells of a group are dealt into blocks of 32 in order of
// (sample, row, column); a block is a few runs of consecutive cells, and never crosses the border of a group. The
// blocks of a group are cut into chunks that run in parallel, each with a gradient slot of its own. With several groups
// the chunks of a group are a power of two in number, so that the tree in which slots are summed has the sum of every
// group as a subtree: what a group adds to the gradient does not depend on the rest of the batch. All of this follows
// from the problem alone, never from the number of threads.
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
    std::int64_t first;  // number of its first cell among those of all samples; the others follow
    int cells;
  };

  Geometry(int batch, int height, int width, Boundary boundary);

  int batch() const { return batch_; }
  int height() const { return height_; }
  int width() const { return width_; }
  std::int64_t cells() const { return std::int64_t{batch_} * height_ * width_; }
  int samples_per_group() const { return samples_per_group_; }
  int blocks() const { return static_cast<int>(runs_.size()); }
  // Floats of one plane, with rim and room for vectors to read past the end.
  std::size_t plane() const { return plane_; }
  std::int32_t position(int sample, int row, int column) const {
    return (sample * (height_ + 2) + row + 1) * (width_ + 2) + column + 1;
  }
  // What to add to a cell's position to reach place o of its patch, o = 0..8 by rows.
  std::int32_t shift(int o) const { return (o / 3 - 1) * (width_ + 2) + (o % 3 - 1); }

  Block block(int b) const {
    const Run& last = runs_[b].back();
    return {runs_[b], rim_[b], first_[b], last.lane + last.length};
  }

  int chunks() const { return static_cast<int>(chunk_first_.size()) - 1; }
  int chunks_per_group() const { return chunks_per_group_; }
  // Of samples: those before group g are samples 0 to first_sample(g) - 1.
  int first_sample(int group) const { return std::min(batch_, group * samples_per_group_); }
  int groups() const { return chunks() / chunks_per_group_; }
  int blocks_per_chunk() const { return blocks_per_chunk_; }  // the most
  // Blocks chunk_begin(c) to chunk_begin(c + 1) are those of chunk c; there may be none.
  int chunk_begin(int chunk) const { return chunk_first_[chunk]; }

 private:
  void add_sample(int n, Boundary boundary, int first_block, std::int64_t cell);

  int batch_, height_, width_;
  int samples_per_group_, blocks_per_chunk_, chunks_per_group_;
  std::size_t plane_;
  std::vector<std::vector<Run>> runs_;  // [blocks]
  std::vector<std::vector<Copy>> rim_;  // [blocks]
  std::vector<std::int64_t> first_;     // [blocks]
  std::vector<int> chunk_first_;        // [chunks + 1]
};

// Which chunks read each other's cells; symmetric, ascending, without the chunk itself. What vectors read past the end
// of a run of cells (and throw away) counts as read. With `any_cells` a chunk may work on any cells of its group.
std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, bool any_cells = false);

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
