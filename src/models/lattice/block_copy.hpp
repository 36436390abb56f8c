// Moving the runs of a block between planes and rows of 32 lanes.
#pragma once

#include <cstring>

#include "models/lattice/geometry.hpp"

namespace espalier {

// Cells are read this many at a time, past the end of a run: chunk_neighbours.cpp counts on it.
inline constexpr std::int32_t kEight = 8;

// row[lane] = plane[position + shift]. Copies in eights: what spills over a run's end is overwritten by the
// next run or row, so rows must be filled in ascending order and be followed by eight spare floats. Lanes
// past the last cell become 0.
inline void load_block(const Geometry& geometry, int block, const float* plane, std::int32_t shift, float* row) {
  for (const Geometry::Run& run : geometry.runs(block)) {
    const float* from = plane + run.position + shift;
    float* to = row + run.lane;
    for (std::int32_t i = 0; i < run.length; i += kEight) std::memcpy(to + i, from + i, kEight * sizeof(float));
  }
  for (int lane = geometry.block_cells(block); lane < kBlockCells; ++lane) row[lane] = 0;
}

// row[lane] = sum over o of planes[o * plane_stride][position - shift(o)], in ascending order; in eights like
// load_block.
inline void gather_block(const Geometry& geometry, int block, const float* planes, std::size_t plane_stride,
                         float* row) {
  for (const Geometry::Run& run : geometry.runs(block))
    for (std::int32_t i = 0; i < run.length; i += kEight) {
      float sum[kEight] = {};
      for (int o = 0; o < 9; ++o) {
        const float* from = planes + o * plane_stride + run.position - geometry.shift(o) + i;
        for (int lane = 0; lane < kEight; ++lane) sum[lane] += from[lane];
      }
      std::memcpy(row + run.lane + i, sum, sizeof sum);
    }
  for (int lane = geometry.block_cells(block); lane < kBlockCells; ++lane) row[lane] = 0;
}

// plane[position] = row[lane] for the block's cells and the rim cells that repeat them.
inline void store_block(const Geometry& geometry, int block, const float* row, float* plane) {
  for (const Geometry::Run& run : geometry.runs(block))
    std::memcpy(plane + run.position, row + run.lane, sizeof(float) * run.length);
  for (const Geometry::Copy& copy : geometry.rim(block)) plane[copy.to] = plane[copy.from];
}

}  // namespace espalier
