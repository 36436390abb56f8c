#include "models/lattice/firing.hpp"

namespace espalier {

Firing::Firing(const Geometry& geometry, int steps)
    : geometry_(geometry), steps_(steps), dealt_(static_cast<std::size_t>(steps) * geometry.groups()) {}

void Firing::Dealt::clear() {
  runs.clear();
  rim.clear();
  first_run.clear();
  first_rim.clear();
  cells = 0;
}

void Firing::Dealt::add(std::int32_t position, std::span<const Geometry::Copy> copies) {
  const int lane = cells++ % kBlockCells;
  if (lane == 0) {
    first_run.push_back(static_cast<std::uint32_t>(runs.size()));
    first_rim.push_back(static_cast<std::uint32_t>(rim.size()));
  }
  if (lane > 0 && runs.back().position + runs.back().length == position)
    ++runs.back().length;
  else
    runs.push_back({lane, position, 1});
  rim.insert(rim.end(), copies.begin(), copies.end());
}

Geometry::Block Firing::Dealt::block(int b) const {
  const auto slice = [&](const auto& all, const std::vector<std::uint32_t>& first) {
    const std::size_t end = b + 1 < blocks() ? first[b + 1] : all.size();
    return std::span(all).subspan(first[b], end - first[b]);
  };
  return {slice(runs, first_run), slice(rim, first_rim), 0, std::min(kBlockCells, cells - b * kBlockCells)};
}

void Firing::draw(const Random& random, float rate, int first, int last, const ThreadPool& pool) {
  const auto groups = static_cast<std::size_t>(last - first);
  const int chunks = geometry_.chunks_per_group();
  // Set aside for a step: whole blocks, whoever they belong to.
  const std::size_t numbers =
      (static_cast<std::size_t>(geometry_.cells()) + kBlockCells - 1) / kBlockCells * kBlockCells;
  const double group_ns = 8.0 * kBlockCells * geometry_.blocks_per_chunk() * chunks;
  pool.for_chunks(steps_ * groups, 8, group_ns, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) {
      const int t = static_cast<int>(i / groups), g = first + static_cast<int>(i % groups);
      Group& group = dealt_[static_cast<std::size_t>(t) * geometry_.groups() + g];
      group.firing.clear();
      group.still.clear();
      for (int b = geometry_.chunk_begin(g * chunks); b < geometry_.chunk_begin((g + 1) * chunks); ++b) {
        const Geometry::Block block = geometry_.block(b);
        std::size_t number = t * numbers + static_cast<std::size_t>(block.first);
        std::span<const Geometry::Copy> rim = block.rim;  // in the order of the cells that it repeats
        for (const Geometry::Run& run : block.runs)
          for (std::int32_t at = run.position; at < run.position + run.length; ++at) {
            std::size_t copies = 0;
            while (copies < rim.size() && rim[copies].from == at) ++copies;
            (random.uniform(number++) < rate ? group.firing : group.still).add(at, rim.first(copies));
            rim = rim.subspan(copies);
          }
      }
    }
  });
}

std::size_t Firing::bytes() const {
  std::size_t bytes = 0;
  for (const Group& group : dealt_)
    for (const Dealt* d : {&group.firing, &group.still})
      bytes += d->runs.capacity() * sizeof(Geometry::Run) + d->rim.capacity() * sizeof(Geometry::Copy) +
               (d->first_run.capacity() + d->first_rim.capacity()) * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace espalier
