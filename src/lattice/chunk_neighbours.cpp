#include "espalier/lattice/chunk_neighbours.hpp"

#include <algorithm>
#include <cstddef>

namespace espalier {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kEight = 8;  // cells that a vector loads at once

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
  std::vector<std::vector<std::uint32_t>> neighbours(chunks);
  const auto meet = [&](std::size_t reader, std::int32_t writer) {
    const auto other = static_cast<std::size_t>(writer);
    if (writer == kNobody || other == reader) return;
    if (!neighbours[reader].empty() && neighbours[reader].back() == other) return;  // mostly the same as just before
    neighbours[reader].push_back(static_cast<std::uint32_t>(other));
    neighbours[other].push_back(static_cast<std::uint32_t>(reader));
  };
  for (int b = 0; b < geometry.blocks(); ++b)
    for (const Geometry::Run& run : geometry.runs(b))
      for (int o = 0; o < 9; ++o) {
        const std::int32_t from = run.position + geometry.shift(o);
        const std::int32_t length = (run.length + kEight - 1) / kEight * kEight;
        for (std::int32_t at = from; at < from + length; ++at)
          meet(static_cast<std::size_t>(b) / blocks_per_chunk, owner[at]);
      }
  for (auto& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

}  // namespace espalier
