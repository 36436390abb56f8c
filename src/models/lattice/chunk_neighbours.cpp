#include "models/lattice/chunk_neighbours.hpp"

#include <algorithm>
#include <cstddef>

#include "models/lattice/block_copy.hpp"

namespace espalier {
namespace {

constexpr std::int32_t kNobody = -1;

// Who writes each place of a plane; rim places are written with the cell they repeat.
std::vector<std::int32_t> owners(const Geometry& geometry, std::size_t blocks_per_chunk) {
  std::vector<std::int32_t> owner(geometry.plane(), kNobody);
  for (int b = 0; b < geometry.blocks(); ++b) {
    const auto chunk = static_cast<std::int32_t>(static_cast<std::size_t>(b) / blocks_per_chunk);
    for (const Geometry::Run& run : geometry.runs(b)) std::fill_n(&owner[run.position], run.length, chunk);
    for (const Geometry::Copy& copy : geometry.rim(b)) owner[copy.to] = chunk;
  }
  return owner;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, std::size_t blocks_per_chunk) {
  const std::vector<std::int32_t> owner = owners(geometry, blocks_per_chunk);
  const std::size_t chunks = (static_cast<std::size_t>(geometry.blocks()) + blocks_per_chunk - 1) / blocks_per_chunk;
  std::vector<std::vector<bool>> meet(chunks, std::vector<bool>(chunks));
  for (int b = 0; b < geometry.blocks(); ++b)
    for (const Geometry::Run& run : geometry.runs(b))
      for (int o = 0; o < 9; ++o) {
        const std::size_t reader = static_cast<std::size_t>(b) / blocks_per_chunk;
        const std::int32_t from = run.position + geometry.shift(o);
        const std::int32_t end = from + (run.length + kEight - 1) / kEight * kEight;
        for (std::int32_t at = from; at < end; ++at)
          if (const std::int32_t writer = owner[at]; writer != kNobody)
            meet[reader][writer] = meet[writer][reader] = true;
      }
  std::vector<std::vector<std::uint32_t>> neighbours(chunks);
  for (std::size_t a = 0; a < chunks; ++a)
    for (std::size_t b = 0; b < chunks; ++b)
      if (a != b && meet[a][b]) neighbours[a].push_back(static_cast<std::uint32_t>(b));
  return neighbours;
}

}  // namespace espalier
