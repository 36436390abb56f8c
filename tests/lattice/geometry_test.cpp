#include "models/lattice/geometry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "models/lattice/firing.hpp"

namespace espalier {
namespace {

// Chunk of every cell, by its place in a plane.
std::vector<int> chunks_of(const Geometry& g) {
  std::vector<int> chunk(g.plane(), -1);
  for (int c = 0; c < g.chunks(); ++c)
    for (int b = g.chunk_begin(c); b < g.chunk_begin(c + 1); ++b)
      for (const Geometry::Run& run : g.block(b).runs) std::fill_n(&chunk[run.position], run.length, c);
  return chunk;
}

// Every cell is dealt once, in order; blocks keep to their group; groups are subtrees of the tree over chunks.
TEST(Geometry, DealsWholeSamplesIntoGroups) {
  for (const auto& [batch, height, width] : {std::array{1, 1, 1},
                                             {20, 3, 3},
                                             {2, 16, 16},
                                             {4, 8, 8},
                                             {3, 7, 9},
                                             {3, 13, 11},
                                             {5, 20, 20},
                                             {100, 3, 3},
                                             {70, 16, 16},
                                             {64, 5, 5},
                                             {1, 14, 14},
                                             {1, 256, 16},
                                             {1000, 1, 1},
                                             {33, 40, 1}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", batch, height, width));
    const Geometry g(batch, height, width, Boundary::kZero);
    const int per_group = g.samples_per_group(), groups = (batch + per_group - 1) / per_group;
    const std::int64_t group_cells = std::int64_t{per_group} * height * width;
    ASSERT_LE(g.chunks(), 32);
    ASSERT_EQ(g.chunks() % groups, 0);
    const int group_chunks = g.chunks() / groups;
    EXPECT_TRUE(groups == 1 || std::has_single_bit(static_cast<unsigned>(group_chunks)));
    std::int64_t cell = 0;
    for (int c = 0; c < g.chunks(); ++c) {
      ASSERT_LE(g.chunk_begin(c + 1) - g.chunk_begin(c), g.blocks_per_chunk());
      for (int b = g.chunk_begin(c); b < g.chunk_begin(c + 1); ++b) {
        const Geometry::Block block = g.block(b);
        ASSERT_EQ(block.first, cell);
        ASSERT_EQ(block.first / group_cells, c / group_chunks);
        ASSERT_EQ((block.first + block.cells - 1) / group_cells, c / group_chunks);
        int lane = 0;
        for (const Geometry::Run& run : block.runs) {
          ASSERT_EQ(run.lane, lane);
          for (int i = 0; i < run.length; ++i, ++lane, ++cell)
            ASSERT_EQ(run.position + i,
                      g.position(static_cast<int>(cell / (height * width)), static_cast<int>(cell / width % height),
                                 static_cast<int>(cell % width)));
        }
        ASSERT_EQ(lane, block.cells);
      }
    }
    EXPECT_EQ(cell, g.cells());
    EXPECT_LE(32 * g.blocks(), 33 * ((g.cells() + 31) / 32));  // hardly more than without borders
  }
}

TEST(Geometry, GroupsAreAsSmallAsIdleLanesAllow) {
  const Geometry life(20, 3, 3, Boundary::kPeriodic);  // 7 boards are 63 cells: two blocks
  EXPECT_EQ(life.samples_per_group(), 7);
  EXPECT_EQ(life.blocks(), 6);
  EXPECT_EQ(life.chunks(), 6);
  const Geometry board(2, 16, 16, Boundary::kZero);
  EXPECT_EQ(board.samples_per_group(), 1);
  EXPECT_EQ(board.chunks(), 16);
  EXPECT_EQ(Geometry(70, 16, 16, Boundary::kZero).samples_per_group(), 3);  // no more than 32 chunks
  EXPECT_EQ(Geometry(1, 14, 14, Boundary::kZero).chunks(), 7);
}

// Every pair of cells that see each other is covered; the lists are symmetric and leave the chunk itself out.
void expect_covered(int batch, int height, int width, Boundary boundary) {
  const Geometry g(batch, height, width, boundary);
  const auto neighbours = chunk_neighbours(g);
  const std::vector<int> chunk = chunks_of(g);
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
            const int a = chunk[g.position(n, y, x)], b = chunk[g.position(n, ny, nx)];
            ASSERT_TRUE(a == b || named(a, b)) << height << "x" << width << ": " << a << " reads " << b;
          }
  for (std::size_t a = 0; a < neighbours.size(); ++a)
    for (const std::uint32_t b : neighbours[a]) {
      ASSERT_NE(a, b);
      ASSERT_TRUE(named(b, a));
    }
}

TEST(ChunkNeighbours, CoverWhatCellsSee) {
  for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero}) {
    expect_covered(2, 16, 16, boundary);
    expect_covered(1, 1, 1, boundary);
    expect_covered(3, 7, 13, boundary);
    expect_covered(20, 3, 3, boundary);
    expect_covered(1, 40, 65, boundary);
    expect_covered(2, 40, 65, boundary);
  }
}

// Vectors read eight cells at a time: who writes what is read past the end of a run is a neighbour too. Rows one cell
// wide are three places apart, so the last of one sample are read together with the first of the next.
TEST(ChunkNeighbours, CoverWhatVectorsReadPastTheEnd) {
  const Geometry g(2, kBlockCells, 1, Boundary::kZero);
  ASSERT_GT(g.position(0, kBlockCells - 1, 0) + g.shift(8) + 8, g.position(1, 0, 0));
  const auto neighbours = chunk_neighbours(g);
  EXPECT_EQ(neighbours, (std::vector<std::vector<std::uint32_t>>{{1}, {0}}));
}

// Whoever works on any cells of a group meets all chunks of the group, and whoever is read past their end.
TEST(ChunkNeighbours, OfChunksThatShareTheirCellsAreWholeGroups) {
  EXPECT_EQ(chunk_neighbours(Geometry(2, 8, 8, Boundary::kZero), true),
            (std::vector<std::vector<std::uint32_t>>{{1}, {0}, {3}, {2}}));
  EXPECT_EQ(chunk_neighbours(Geometry(2, kBlockCells, 1, Boundary::kZero), true),
            (std::vector<std::vector<std::uint32_t>>{{1}, {0}}));
}

TEST(ChunkNeighbours, OfALargeGridAreFew) {
  const Geometry g(1, 64, 64, Boundary::kPeriodic);
  for (const auto& list : chunk_neighbours(g)) EXPECT_LE(list.size(), 4u);  // two rows a chunk
}

// In every step every cell is somewhere once, with its copies in the rim, either among those that fire or not.
TEST(Firing, DealsEveryCellOnce) {
  for (const Boundary boundary : {Boundary::kPeriodic, Boundary::kZero})
    for (const auto [batch, height, width] : {std::array{3, 13, 11}, {20, 3, 3}, {1, 14, 14}, {40, 9, 8}, {1, 1, 1}}) {
      const Geometry g(batch, height, width, boundary);
      constexpr int kSteps = 3;
      Firing firing(g, kSteps);
      const Random random(5, Purpose::kFire, 2);
      firing.draw(random, 0.6f, 0, g.groups(), ThreadPool(2));
      const std::size_t numbers = (g.cells() + kBlockCells - 1) / kBlockCells * kBlockCells;
      for (int t = 0; t < kSteps; ++t) {
        std::vector<int> seen(g.plane()), expected(g.plane());
        const auto visit = [&](const Geometry::Block& block, int what) {
          int lane = 0;
          for (const Geometry::Run& run : block.runs) {
            ASSERT_EQ(run.lane, lane);
            lane += run.length;
            for (int i = 0; i < run.length; ++i) seen[run.position + i] += what;
          }
          ASSERT_EQ(block.cells, lane);
          ASSERT_LE(lane, kBlockCells);
          for (const Geometry::Copy& copy : block.rim) seen[copy.to] += seen[copy.from];
        };
        for (int chunk = 0; chunk < g.chunks(); ++chunk) {
          firing.each_firing(t, chunk, [&](const Geometry::Block& block) { visit(block, 1); });
          firing.each_still(t, chunk, [&](const Geometry::Block& block) { visit(block, 10); });
        }
        std::size_t cell = 0;
        for (int n = 0; n < batch; ++n)
          for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x, ++cell)
              expected[g.position(n, y, x)] = random.uniform(t * numbers + cell) < 0.6f ? 1 : 10;
        for (int b = 0; b < g.blocks(); ++b)
          for (const Geometry::Copy& copy : g.block(b).rim) expected[copy.to] = expected[copy.from];
        ASSERT_EQ(seen, expected) << batch << " boards of " << height << " x " << width << ", step " << t;
      }
    }
}

}  // namespace
}  // namespace espalier
