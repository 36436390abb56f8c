// Which chunks of blocks read each other's cells.
#pragma once

#include <cstdint>
#include <vector>

#include "models/lattice/geometry.hpp"

namespace espalier {

// Chunks of so many blocks each; symmetric, ascending, without the chunk itself. What vectors read past the end of a
// run of cells (and throw away) counts as read.
std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, std::size_t blocks_per_chunk);

}  // namespace espalier
