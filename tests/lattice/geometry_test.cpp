#include "models/lattice/geometry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier {
namespace {

// Chunk of a cell, cells being dealt in order of (sample, row, column).
std::size_t chunk_of(const Geometry& g, std::size_t blocks_per_chunk, int n, int y, int x) {
  return static_cast<std::size_t>((n * g.height() + y) * g.width() + x) / kBlockCells / blocks_per_chunk;
}

// Every pair of cells that see each other is covered; the lists are symmetric and leave the chunk itself out.
void expect_covered(int batch, int height, int width, Boundary boundary, std::size_t blocks_per_chunk) {
  const Geometry g(batch, height, width, boundary);
  const auto neighbours = chunk_neighbours(g, blocks_per_chunk);
  const auto named = [&](std::size_t a, std::size_t b) {
    return std::binary_search(neighbours[a].begin(), neighbours[a].end(), static_cast<std::uint32_t>(b));
  };
  for (int n = 0; n < batch; ++n)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            int ny = y + dy, nx = x + dx;
            if (boundary == Boundary::kZero && (ny < 0 || nx < 0 || ny >= height || nx >= width)) continue;
            ny = (ny + height) % height;
            nx = (nx + width) % width;
            const std::size_t a = chunk_of(g, blocks_per_chunk, n, y, x), b = chunk_of(g, blocks_per_chunk, n, ny, nx);
            ASSERT_TRUE(a == b || named(a, b)) << height << "x" << width << ": " << a << " reads " << b;
          }
  for (std::size_t a = 0; a < neighbours.size(); ++a)
    for (const std::uint32_t b : neighbours[a]) {
      ASSERT_NE(a, b);
      ASSERT_TRUE(named(b, a));
    }
}

TEST(ChunkNeighbours, CoverWhatCellsSee) {
  for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero})
    for (const std::size_t per_chunk : {1u, 3u}) {
      expect_covered(2, 16, 16, boundary, per_chunk);
      expect_covered(1, 1, 1, boundary, per_chunk);
      expect_covered(3, 7, 13, boundary, per_chunk);
      expect_covered(1, 40, 65, boundary, per_chunk);
    }
}

// Vectors read eight cells at a time: who writes what is read past the end of a run is a neighbour too. Rows one cell
// wide are three places apart, so the last of one sample are read together with the first of the next.
TEST(ChunkNeighbours, CoverWhatVectorsReadPastTheEnd) {
  const Geometry g(2, kBlockCells, 1, Boundary::kZero);
  ASSERT_GT(g.position(0, kBlockCells - 1, 0) + g.shift(8) + 8, g.position(1, 0, 0));
  const auto neighbours = chunk_neighbours(g, 1);
  EXPECT_EQ(neighbours, (std::vector<std::vector<std::uint32_t>>{{1}, {0}}));
}

TEST(ChunkNeighbours, OfALargeGridAreFew) {
  const Geometry g(1, 64, 64, Boundary::kPeriodic);
  for (const auto& list : chunk_neighbours(g, 4)) EXPECT_LE(list.size(), 4u);  // two rows a chunk
}

}  // namespace
}  // namespace espalier
