#include "espalier/rollout.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"
#include "models/lattice/block_copy.hpp"
#include "models/lattice/chunk_neighbours.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxSlots = 32;
constexpr double kMaxFloats = 4294967296.0;  // 16 GiB
constexpr int kGradientStates = 2 * 9 + 1;   // as large as a state: two sets of patches, and the loss

std::size_t blocks_per_slot(int blocks) { return (static_cast<std::size_t>(blocks) + kMaxSlots - 1) / kMaxSlots; }

// Calls visit(index in [batch][channels][H][W], channel, plane position) for every value.
template <class Visit>
void each_value(const Geometry& g, int channels, Visit visit) {
  std::size_t at = 0;
  for (int n = 0; n < g.batch(); ++n)
    for (int c = 0; c < channels; ++c)
      for (int y = 0; y < g.height(); ++y)
        for (int x = 0; x < g.width(); ++x) visit(at++, c, g.position(n, y, x));
}

}  // namespace

void check_rollout(const RolloutShape& shape, int channels) {
  if (shape.steps < 1 || shape.steps > 100'000) fail("rollout", fmt::format("{} steps", shape.steps), "1 to 100000");
  if (!(shape.fire_rate > 0 && shape.fire_rate <= 1))
    fail("rollout", fmt::format("a fire rate of {}", shape.fire_rate), "more than 0, at most 1");
  const double cells = static_cast<double>(shape.batch) * shape.height * shape.width;
  const double floats = cells * channels * (shape.steps + 1.0 + kGradientStates);
  if (floats > kMaxFloats)
    fail("rollout",
         fmt::format("{} boards of {} x {} with {} channels for {} steps, {:.0f} GiB", shape.batch, shape.height,
                     shape.width, channels, shape.steps, floats * sizeof(float) / (1 << 30)),
         "at most 16 GiB", "a smaller grid, fewer channels or fewer steps");
}

Rollout::Rollout(const SoftGates& gates, const RolloutShape& shape)
    : gates_(gates),
      shape_(shape),
      channels_(gates.automaton().shape().channels),
      geometry_(shape.batch, shape.height, shape.width, gates.automaton().shape().boundary),
      block_ns_(0.15 * static_cast<double>(gates.automaton().gates_per_cell()) * kBlockCells),
      blocks_per_slot_(blocks_per_slot(geometry_.blocks())),
      wavefront_(chunk_neighbours(geometry_, blocks_per_slot_)),
      slots_(wavefront_.chunks(), static_cast<std::size_t>(gates.gates()) * 4),
      scratch_([&gates] { return std::make_unique<CellScratch>(gates); }) {
  check_rollout(shape, channels_);
  states_.resize(state_size() * (static_cast<std::size_t>(shape.steps) + 1));
  if (shape.fire_rate < 1) fire_.resize(static_cast<std::size_t>(shape.steps) * geometry_.blocks() * kBlockCells);
  dfinal_.resize(state_size());
  for (auto& planes : dpatch_) planes.resize(9 * state_size());
}

void Rollout::forward(std::span<const float> initial, std::uint64_t fire_seed, std::uint32_t fire_step,
                      const ThreadPool& pool) {
  float* start = grid(0);
  each_value(geometry_, channels_,
             [&](std::size_t i, int c, std::int32_t at) { start[c * geometry_.plane() + at] = initial[i]; });
  for (int b = 0; b < geometry_.blocks(); ++b)
    for (const Geometry::Copy& copy : geometry_.rim(b))
      for (int c = 0; c < channels_; ++c)
        start[c * geometry_.plane() + copy.to] = start[c * geometry_.plane() + copy.from];
  if (!fire_.empty()) {
    const Random random(fire_seed, Purpose::kFire, fire_step);
    pool.for_chunks(fire_.size(), 4096, 8.0, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) fire_[i] = random.uniform(i) < shape_.fire_rate ? 1.0f : 0.0f;
    });
  }
  const double chunk_ns = block_ns_ * static_cast<double>(blocks_per_slot_);
  wavefront_.run(static_cast<std::size_t>(shape_.steps), chunk_ns, pool, [&](std::size_t step, std::size_t chunk) {
    const auto t = static_cast<int>(step);
    const auto scratch = scratch_.borrow();
    each_block(chunk,
               [&](int b) { cell_block_forward(gates_, geometry_, b, grid(t), fire(t, b), *scratch, grid(t + 1)); });
  });
}

template <class Visit>
void Rollout::each_block(std::size_t chunk, Visit visit) const {
  const auto blocks = static_cast<std::size_t>(geometry_.blocks());
  const std::size_t end = std::min(blocks, (chunk + 1) * blocks_per_slot_);
  for (std::size_t b = chunk * blocks_per_slot_; b < end; ++b) visit(static_cast<int>(b));
}

std::vector<float> Rollout::state(int t) const {
  std::vector<float> values(static_cast<std::size_t>(geometry_.cells()) * channels_);
  const float* planes = states_.data() + static_cast<std::size_t>(t) * state_size();
  each_value(geometry_, channels_,
             [&](std::size_t i, int c, std::int32_t at) { values[i] = planes[c * geometry_.plane() + at]; });
  return values;
}

double Rollout::loss(std::span<const float> target, int loss_channels, const ThreadPool& pool) {
  std::fill(dfinal_.begin(), dfinal_.end(), 0.0f);
  const float* final_state = grid(shape_.steps);
  const std::size_t rows = static_cast<std::size_t>(shape_.batch) * loss_channels * shape_.height;
  const auto width = static_cast<std::size_t>(shape_.width);
  // One row of one channel of one sample at a time; rows are added in double in a fixed tree.
  return pool.reduce(
      rows, 16, 2.0 * static_cast<double>(width), 0.0,
      [&](Chunk chunk) {
        double sum = 0;
        for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
          const auto y = static_cast<int>(r % shape_.height);
          const auto c = static_cast<int>(r / shape_.height % loss_channels);
          const auto n = static_cast<int>(r / shape_.height / loss_channels);
          const std::size_t at = c * geometry_.plane() + geometry_.position(n, y, 0);
          for (std::size_t x = 0; x < width; ++x) {
            const float error = final_state[at + x] - target[r * width + x];
            dfinal_[at + x] = 2 * error;
            sum += static_cast<double>(error) * error;
          }
        }
        return sum;
      },
      [](double& a, const double& b) { a += b; });
}

void Rollout::backward(std::span<float> dc, const ThreadPool& pool) {
  slots_.zero(pool);
  const double chunk_ns = 3 * block_ns_ * static_cast<double>(blocks_per_slot_);
  wavefront_.run(static_cast<std::size_t>(shape_.steps), chunk_ns, pool, [&](std::size_t step, std::size_t chunk) {
    const int t = shape_.steps - 1 - static_cast<int>(step);
    const float* after = dpatch_[(t + 1) % 2].data();
    const auto scratch = scratch_.borrow();
    AlignedVector<float>& dout = scratch->dout;
    each_block(chunk, [&](int b) {
      if (step == 0) {
        for (int c = 0; c < channels_; ++c)
          load_block(geometry_, b, dfinal_.data() + c * geometry_.plane(), 0,
                     &dout[static_cast<std::size_t>(c) * kBlockCells]);
      } else {
        cell_block_gather(geometry_, channels_, b, after, dout.data());
      }
      cell_block_backward(gates_, geometry_, b, grid(t), fire(t, b), dout.data(), *scratch, dpatch_[t % 2].data(),
                          slots_.slot(chunk).data());
    });
  });
  slots_.add_to(dc, pool);
}

std::vector<float> Rollout::initial_gradient() const {
  std::vector<float> values(static_cast<std::size_t>(geometry_.cells()) * channels_);
  const float* planes = dpatch_[0].data();
  each_value(geometry_, channels_, [&](std::size_t i, int c, std::int32_t at) {
    for (int o = 0; o < 9; ++o)
      values[i] += planes[(static_cast<std::size_t>(o) * channels_ + c) * geometry_.plane() + at - geometry_.shift(o)];
  });
  return values;
}

}  // namespace espalier
