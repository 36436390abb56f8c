#include "models/lattice/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 26;
constexpr int kPadding = 64;

constexpr std::int32_t kNobody = -1;

// Who writes each place of a plane; rim places are written with the cell they repeat.
std::vector<std::int32_t> owners(const Geometry& geometry, std::size_t blocks_per_chunk) {
  std::vector<std::int32_t> owner(geometry.plane(), kNobody);
  for (int b = 0; b < geometry.blocks(); ++b) {
    const auto chunk = static_cast<std::int32_t>(static_cast<std::size_t>(b) / blocks_per_chunk);
    for (const Geometry::Run& run : geometry.block(b).runs) std::fill_n(&owner[run.position], run.length, chunk);
    for (const Geometry::Copy& copy : geometry.block(b).rim) owner[copy.to] = chunk;
  }
  return owner;
}

}  // namespace

void check_grid(int batch, int height, int width) {
  if (batch < 1 || height < 1 || width < 1 || std::int64_t{height} * width > kMaxCells / batch)
    fail("grid", fmt::format("{} grids of {} x {}", batch, height, width),
         fmt::format("1 to {} cells in all", kMaxCells), "set height, width and batch");
}

Geometry::Geometry(int batch, int height, int width, Boundary boundary)
    : batch_(batch), height_(height), width_(width) {
  check_grid(batch, height, width);
  plane_ = (static_cast<std::size_t>(batch) * (height + 2) * (width + 2) + kPadding + 15) / 16 * 16;
  const auto blocks = static_cast<std::size_t>((cells() + kBlockCells - 1) / kBlockCells);
  runs_.resize(blocks);
  rim_.resize(blocks);
  std::int64_t cell = 0;
  for (int n = 0; n < batch; ++n)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x, ++cell) {
        const auto block = static_cast<std::size_t>(cell / kBlockCells);
        const auto lane = static_cast<std::int32_t>(cell % kBlockCells);
        const std::int32_t at = position(n, y, x);
        auto& runs = runs_[block];
        if (!runs.empty() && runs.back().position + runs.back().length == at)
          ++runs.back().length;
        else
          runs.push_back({lane, at, 1});
        if (boundary == Boundary::kZero) continue;
        // Every rim cell repeats the cell it wraps to: (y + i H, x + j W) for i, j in -1..1.
        for (int i = -1; i <= 1; ++i)
          for (int j = -1; j <= 1; ++j) {
            const int ry = y + i * height, rx = x + j * width;
            if ((i || j) && ry >= -1 && ry <= height && rx >= -1 && rx <= width)
              rim_[block].push_back({at, position(n, ry, rx)});
          }
      }
}

std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, std::size_t blocks_per_chunk) {
  const std::vector<std::int32_t> owner = owners(geometry, blocks_per_chunk);
  const std::size_t chunks = (static_cast<std::size_t>(geometry.blocks()) + blocks_per_chunk - 1) / blocks_per_chunk;
  std::vector<std::vector<bool>> meet(chunks, std::vector<bool>(chunks));
  for (int b = 0; b < geometry.blocks(); ++b)
    for (const Geometry::Run& run : geometry.block(b).runs)
      for (int o = 0; o < 9; ++o) {
        const std::size_t reader = static_cast<std::size_t>(b) / blocks_per_chunk;
        const std::int32_t from = run.position + geometry.shift(o);
        const std::int32_t end = from + (run.length + kCopyCells - 1) / kCopyCells * kCopyCells;
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
