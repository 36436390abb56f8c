// Moving the runs of a block between planes and rows of 32 lanes.
#pragma once

#include <cstring>

#include "espalier/lattice/geometry.hpp"

namespace espalier {

// row[lane] = plane[position + shift]. Copies in eights: what spills over a run's end is overwritten by the
// next run or row, so rows must be filled in ascending order and be followed by eight spare floats. Lanes
// past the last cell become 0.
inline void load_block(const Geometry& geometry, int block, const float* plane, std::int32_t shift, float* row) {
  for (const Geometry::Run& run : geometry.runs(block)) {
    const float* from = plane + run.position + shift;
    float* to = row + run.lane;
    for (std::int32_t i = 0; i < run.length; i += 8) std::memcpy(to + i, from + i, 8 * sizeof(float));
  }
  for (int lane = geometry.block_cells(block); lane < kBlockCells; ++lane) row[lane] = 0;
}

// row[lane] += plane[position + shift], exactly the block's cells.
inline void add_block(const Geometry& geometry, int block, const float* plane, std::int32_t shift, float* row) {
  for (const Geometry::Run& run : geometry.runs(block)) {
    const float* from = plane + run.position + shift;
    float* to = row + run.lane;
    for (std::int32_t i = 0; i < run.length; ++i) to[i] += from[i];
  }
}

// plane[position] = row[lane] for the block's cells and the rim cells that repeat them.
inline void store_block(const Geometry& geometry, int block, const float* row, float* plane) {
  for (const Geometry::Run& run : geometry.runs(block))
    std::memcpy(plane + run.position, row + run.lane, sizeof(float) * run.length);
  for (const Geometry::Copy& copy : geometry.rim(block)) plane[copy.to] = plane[copy.from];
}

}  // namespace espalier
