#include "models/lattice/board_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

constexpr double kMaxBytes = 1073741824.0;  // 1 GiB; a checkpoint holds a pool twice
constexpr const char* kTensor = "pool.boards";

std::size_t values_of(const RolloutOptions& r, int channels) {
  return static_cast<std::size_t>(channels) * static_cast<std::size_t>(r.height) * static_cast<std::size_t>(r.width);
}

}  // namespace

void check_pool(const BoardPoolOptions& o, const RolloutOptions& r, int channels) {
  if (!o.boards) {
    if (o.damaged) fail("pool", fmt::format("{} damaged boards, and no pool", o.damaged), "a pool to take them from");
    return;
  }
  if (r.batch < 2)
    fail("pool", "a mini-batch of one board", "at least 2", "one of them always begins with the task's start");
  const auto batch = static_cast<std::uint64_t>(r.batch);
  if (o.boards < batch)
    fail("pool", fmt::format("{} boards", o.boards), fmt::format("at least {}, those of a mini-batch", batch));
  if (o.damaged >= batch)
    fail("pool", fmt::format("{} damaged boards of {}", o.damaged, batch), fmt::format("at most {}", batch - 1),
         "one of them begins with the task's start");
  const double bytes = static_cast<double>(o.boards) * static_cast<double>((values_of(r, channels) + 7) / 8);
  if (bytes > kMaxBytes)
    fail("pool",
         fmt::format("{} boards of {} x {} with {} channels, {:.1f} GiB", o.boards, r.height, r.width, channels,
                     bytes / kMaxBytes),
         "at most 1 GiB", "fewer boards, a smaller grid or fewer channels");
}

BoardPool::BoardPool(const BoardPoolOptions& options, const RolloutOptions& rollout, int channels, std::uint64_t seed,
                     std::span<const float> start)
    : options_(options),
      rollout_(rollout),
      channels_(static_cast<std::size_t>(channels)),
      values_(values_of(rollout, channels)),
      stride_((values_ + 7) / 8),
      seed_(seed) {
  check_pool(options, rollout, channels);
  bits_.resize(options.boards * stride_);
  for (std::size_t i = 0; i < values_; ++i) put(0, i, start[i] >= 0.5f);
  for (std::size_t board = 1; board < options.boards; ++board)
    std::copy_n(bits_.begin(), stride_, bits_.begin() + static_cast<std::ptrdiff_t>(board * stride_));
}

bool BoardPool::bit(std::size_t board, std::size_t value) const {
  return bits_[board * stride_ + value / 8] >> (value % 8) & 1;
}

void BoardPool::put(std::size_t board, std::size_t value, bool bit) {
  std::uint8_t& byte = bits_[board * stride_ + value / 8];
  const unsigned mask = 1u << (value % 8);
  byte = static_cast<std::uint8_t>(bit ? byte | mask : byte & ~mask);
}

BoardPool::Drawn BoardPool::draw(std::uint64_t batch, std::span<const float> target, std::span<float> initial) const {
  const auto count = static_cast<std::size_t>(rollout_.batch);
  const Random random(seed_, Purpose::kPool, static_cast<std::uint32_t>(batch));
  std::vector<std::size_t> boards(options_.boards), wrong(count), order(count);
  std::iota(boards.begin(), boards.end(), std::size_t{0});
  for (std::size_t n = 0; n < count; ++n) std::swap(boards[n], boards[n + random.choice(n, boards.size() - n)]);
  boards.resize(count);
  const std::size_t judged = target.size() / count;  // the first channels
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t i = 0; i < judged; ++i) wrong[n] += bit(boards[n], i) != (target[n * judged + i] >= 0.5f);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return wrong[n]; });
  Drawn drawn{std::move(boards), order.back(), {order.begin(), order.begin() + static_cast<long>(options_.damaged)}};
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t i = 0; i < values_ && n != drawn.restarted; ++i)
      initial[n * values_ + i] = bit(drawn.boards[n], i) ? 1.0f : 0.0f;
  for (const std::size_t n : drawn.damaged) damage(batch, n, initial.subspan(n * values_, values_));
  return drawn;
}

// A square of at most a quarter of the board, somewhere within it: every channel of its cells becomes 0, or noise.
void BoardPool::damage(std::uint64_t batch, std::size_t place, std::span<float> board) const {
  const Random random(seed_, Purpose::kPool, static_cast<std::uint32_t>(batch));
  const auto height = static_cast<std::size_t>(rollout_.height), width = static_cast<std::size_t>(rollout_.width);
  std::uint64_t draw = (static_cast<std::uint64_t>(place) + 1) << 32;  // numbers below are those of the boards' choice
  const std::size_t side = 1 + random.choice(draw++, std::max<std::size_t>(1, std::min(height, width) / 2));
  const std::size_t top = random.choice(draw++, height - side + 1), left = random.choice(draw++, width - side + 1);
  const bool noise = random.coin(draw++);
  for (std::size_t c = 0; c < channels_; ++c)
    for (std::size_t y = top; y < top + side; ++y)
      for (std::size_t x = left; x < left + side; ++x)
        board[(c * height + y) * width + x] = noise && random.coin(draw++) ? 1.0f : 0.0f;
}

void BoardPool::keep(Drawn drawn, std::vector<std::uint8_t> last) {
  kept_.push_back({std::move(drawn), std::move(last)});
}

// Where two mini-batches of a step have the same board, the later one's stays.
void BoardPool::commit() {
  for (const Kept& kept : kept_)
    for (std::size_t n = 0; n < kept.drawn.boards.size(); ++n)
      for (std::size_t i = 0; i < values_; ++i) put(kept.drawn.boards[n], i, kept.last[n * values_ + i]);
  kept_.clear();
}

SafetensorsFile BoardPool::state() const {
  SafetensorsFile file;
  file.add(kTensor, {options_.boards, stride_}, std::span<const std::uint8_t>(bits_));
  return file;
}

void BoardPool::restore(const SafetensorsFile& state) {
  std::vector<std::uint8_t> bits = state.octets(kTensor);
  if (bits.size() != bits_.size())
    fail("pool state", fmt::format("{} bytes", bits.size()), fmt::format("{}", bits_.size()),
         "the state of a run with the same options");
  bits_ = std::move(bits);
  kept_.clear();
}

}  // namespace espalier
