#include "models/lattice/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 26;
constexpr int kPadding = 64;
constexpr int kMaxChunks = 32;
constexpr std::int32_t kNobody = -1;

std::int64_t blocks_for(std::int64_t cells) { return (cells + kBlockCells - 1) / kBlockCells; }

// The fewest that leave nearly no lanes idle: at most 1/32 more blocks than if samples shared them without borders.
int choose_samples_per_group(int batch, std::int64_t sample_cells) {
  const std::int64_t least = blocks_for(batch * sample_cells);
  int samples = 1;
  for (; samples < batch; ++samples) {
    const std::int64_t blocks =
        batch / samples * blocks_for(samples * sample_cells) + blocks_for(batch % samples * sample_cells);
    if (32 * blocks <= 33 * least) break;
  }
  const int groups = (batch + samples - 1) / samples;
  return samples * ((groups + kMaxChunks - 1) / kMaxChunks);
}

int choose_blocks_per_chunk(int groups, std::int64_t group_blocks) {
  std::int64_t chunks = std::min<std::int64_t>(kMaxChunks / groups, group_blocks);
  if (groups > 1) chunks = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(chunks)));
  return static_cast<int>((group_blocks + chunks - 1) / chunks);
}

// Who writes each place of a plane; rim places are written with the cell they repeat.
std::vector<std::int32_t> owners(const Geometry& geometry) {
  std::vector<std::int32_t> owner(geometry.plane(), kNobody);
  for (int chunk = 0; chunk < geometry.chunks(); ++chunk)
    for (int b = geometry.chunk_begin(chunk); b < geometry.chunk_begin(chunk + 1); ++b) {
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
  const std::int64_t sample_cells = std::int64_t{height} * width;
  samples_per_group_ = choose_samples_per_group(batch, sample_cells);
  const int groups = (batch + samples_per_group_ - 1) / samples_per_group_;
  const auto group_blocks = static_cast<int>(blocks_for(samples_per_group_ * sample_cells));
  blocks_per_chunk_ = choose_blocks_per_chunk(groups, group_blocks);
  // As many chunks in every group, the last one included, which may have fewer samples and empty chunks.
  chunks_per_group_ = (group_blocks + blocks_per_chunk_ - 1) / blocks_per_chunk_;
  if (groups > 1) chunks_per_group_ = static_cast<int>(std::bit_ceil(static_cast<unsigned>(chunks_per_group_)));

  for (int group = 0; group < groups; ++group) {
    const int first_block = blocks(), first_sample = group * samples_per_group_;
    for (int n = first_sample; n < std::min(batch, first_sample + samples_per_group_); ++n)
      add_sample(n, boundary, first_block, std::int64_t{n - first_sample} * sample_cells);
    for (int chunk = 0; chunk < chunks_per_group_; ++chunk)
      chunk_first_.push_back(std::min(blocks(), first_block + chunk * blocks_per_chunk_));
  }
  chunk_first_.push_back(blocks());
}

// Deals the cells of sample n into blocks from first_block on, the first of them being cell `cell` of the group.
void Geometry::add_sample(int n, Boundary boundary, int first_block, std::int64_t cell) {
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x, ++cell) {
      const auto block = static_cast<std::size_t>(first_block + cell / kBlockCells);
      const auto lane = static_cast<std::int32_t>(cell % kBlockCells);
      const std::int32_t at = position(n, y, x);
      if (block == runs_.size()) {
        runs_.emplace_back();
        rim_.emplace_back();
        first_.push_back((std::int64_t{n} * height_ + y) * width_ + x);
      }
      auto& runs = runs_[block];
      if (!runs.empty() && runs.back().position + runs.back().length == at)
        ++runs.back().length;
      else
        runs.push_back({lane, at, 1});
      if (boundary == Boundary::kZero) continue;
      // Every rim cell repeats the cell it wraps to: (y + i H, x + j W) for i, j in -1..1.
      for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) {
          const int ry = y + i * height_, rx = x + j * width_;
          if ((i || j) && ry >= -1 && ry <= height_ && rx >= -1 && rx <= width_)
            rim_[block].push_back({at, position(n, ry, rx)});
        }
    }
}

std::vector<std::vector<std::uint32_t>> chunk_neighbours(const Geometry& geometry, bool any_cells) {
  const std::vector<std::int32_t> owner = owners(geometry);
  // Chunks that may work on the same cells have the same neighbours: they are looked at as one.
  const int unit = any_cells ? geometry.chunks_per_group() : 1;
  const auto units = static_cast<std::size_t>(geometry.chunks() / unit), chunks = units * unit;
  std::vector<std::vector<bool>> meet(units, std::vector<bool>(units));
  for (int reader = 0; reader < geometry.chunks(); ++reader)
    for (int b = geometry.chunk_begin(reader); b < geometry.chunk_begin(reader + 1); ++b)
      for (const Geometry::Run& run : geometry.block(b).runs)
        for (int o = 0; o < 9; ++o) {
          const std::int32_t from = run.position + geometry.shift(o);
          const std::int32_t end = any_cells ? from + run.length + kCopyCells - 1
                                             : from + (run.length + kCopyCells - 1) / kCopyCells * kCopyCells;
          for (std::int32_t at = from; at < end; ++at)
            if (const std::int32_t writer = owner[at]; writer != kNobody)
              meet[reader / unit][writer / unit] = meet[writer / unit][reader / unit] = true;
        }
  std::vector<std::vector<std::uint32_t>> neighbours(chunks);
  for (std::size_t a = 0; a < chunks; ++a)
    for (std::size_t b = 0; b < chunks; ++b)
      if (a != b && meet[a / unit][b / unit]) neighbours[a].push_back(static_cast<std::uint32_t>(b));
  return neighbours;
}

}  // namespace espalier
