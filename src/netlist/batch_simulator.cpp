// Many boards in the bits of a word. A plane of a block of words is one long row: the rim around it makes every
// neighbour stand a fixed number of words away, and what is computed of rim cells is overwritten before it is read.
#include <fmt/format.h>

#include <algorithm>

#include "base/scratch.hpp"
#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "netlist/cell.hpp"
#include "netlist/sim_engine.hpp"

namespace espalier {
namespace {

// Nanoseconds, measured on a processor of today; only the choice of the engine hangs on them.
constexpr double kInterpretedWord = 0.16, kNativeWord = 0.05, kNativeOperation = 300, kNativeStart = 15'000;

}  // namespace

struct BatchSimulator::Plan {
  SimProgram program;
  int channels;
  std::vector<int> seen;  // channels that a cell sees of its neighbours

  // For boards of one shape:
  std::size_t height = 0, width = 0, block_words = 0, plane_words = 0, stretch = 0, engine_words = 0;
  std::unique_ptr<SimEngine> engine;
  using Scratch = AlignedVector<std::uint64_t>;
  std::unique_ptr<ScratchPool<Scratch>> scratch;  // room for the engine, then a block's next state [C][plane_words]

  Plan(const Netlist& cell, bool fires) : channels(cell_channels(cell)) {
    program = sim_program(fires ? with_fire(cell) : cell);
    const std::vector<bool> used = used_inputs(program);
    for (int c = 0; c < channels; ++c) {
      bool outside = false;
      for (int p = 0; p < kPatch; ++p) outside = outside || (p != 4 && used[patch_net(p, c, channels)]);
      if (outside) seen.push_back(c);
    }
  }

  void prepare(const BoardBatch& boards, std::uint64_t steps, const BatchOptions& options) {
    const double words = static_cast<double>(boards.blocks() * boards.plane_words_) * static_cast<double>(steps);
    const auto ops = static_cast<double>(program.ops.size());
    const bool pays = kNativeStart + ops * (kNativeOperation + kNativeWord * words) < ops * kInterpretedWord * words;
    const bool may_change = options.engine == SimulatorEngine::kAuto && options.word_bits == 0;
    const bool same =
        engine && height == boards.height_ && width == boards.width_ && block_words == boards.block_words_;
    if (same && !(may_change && pays && !engine->native())) return;
    height = boards.height_;
    width = boards.width_;
    block_words = boards.block_words_;
    plane_words = boards.plane_words_;
    stretch = (((height - 1) * (width + 2) + width) * block_words + 7) / 8 * 8;
    engine = nullptr;
    engine = make_engine(program, places(), options.engine, options.word_bits, pays);
    engine_words = engine->scratch_bytes() / 8;
    const std::size_t total = engine_words + static_cast<std::size_t>(channels) * plane_words + lead();
    scratch = std::make_unique<ScratchPool<Scratch>>([total] { return std::make_unique<Scratch>(total); });
  }

  std::size_t lead() const { return ((width + 3) * block_words + 7) / 8 * 8; }

  SimPlaces places() const {
    const auto k = static_cast<std::int64_t>(8 * block_words), row = k * static_cast<std::int64_t>(width + 2);
    const auto plane = static_cast<std::int64_t>(8 * plane_words);
    SimPlaces result;
    for (int p = 0; p < kPatch; ++p)
      for (int c = 0; c < channels; ++c)
        result.inputs.push_back({SimPlace::kBoard, c * plane + (p / 3 - 1) * row + (p % 3 - 1) * k});
    if (program.inputs > result.inputs.size()) result.inputs.push_back({SimPlace::kFire, 0});
    for (int c = 0; c < channels; ++c) result.outputs.push_back({SimPlace::kNext, c * plane});
    return result;
  }

  // The rim of the planes at `first` (cell (0, 0) of channel 0).
  void fill_rim(std::uint64_t* first, bool periodic) const {
    const std::size_t k = block_words, row = (width + 2) * k;
    for (const int c : seen) {
      std::uint64_t* plane = first + static_cast<std::size_t>(c) * plane_words;
      for (std::size_t y = 0; y < height; ++y) {
        std::uint64_t *left = plane + y * row, *right = left + width * k;
        for (std::size_t w = 0; w < k; ++w) {
          *(left - k + w) = periodic ? right[w - k] : 0;
          right[w] = periodic ? left[w] : 0;
        }
      }
      std::uint64_t *above = plane - k - row, *below = plane - k + height * row;
      if (periodic) {
        std::copy_n(below - row, row, above);
        std::copy_n(above + row, row, below);
      } else {
        std::fill_n(above, row, 0);
        std::fill_n(below, row, 0);
      }
    }
  }

  // `boards` at (0, 0) of a block's channel 0; `fire` the same of the masks, or null.
  void run_block(std::uint64_t* boards, const std::uint64_t* fire, std::uint64_t steps, bool periodic) const {
    const auto memory = scratch->borrow();
    std::uint64_t *now = boards, *next = memory->data() + engine_words + lead();
    for (std::uint64_t t = 0; t < steps; ++t) {
      fill_rim(now, periodic);
      const std::uint64_t* mask = fire ? fire + t * plane_words : nullptr;
      engine->run({reinterpret_cast<std::uint8_t*>(memory->data()), reinterpret_cast<const std::uint8_t*>(now),
                   reinterpret_cast<std::uint8_t*>(next), reinterpret_cast<const std::uint8_t*>(mask)},
                  stretch);
      std::swap(now, next);
    }
    if (now == boards) return;
    for (int c = 0; c < channels; ++c) {
      const std::size_t plane = static_cast<std::size_t>(c) * plane_words;
      std::copy_n(now + plane, stretch, boards + plane);
    }
  }
};

BatchSimulator::BatchSimulator(const Netlist& cell, const BatchOptions& options)
    : options_(options), plan_(std::make_unique<Plan>(cell, options.fire != nullptr)) {}
BatchSimulator::~BatchSimulator() = default;

void BatchSimulator::run(BoardBatch& boards, std::uint64_t steps, const ThreadPool& pool) {
  if (boards.channels() != plan_->channels)
    fail("simulator", fmt::format("boards of {} channels", boards.channels()),
         fmt::format("{}, those of the cell", plan_->channels));
  const BoardBatch* fire = options_.fire;
  if (fire && (fire->boards() != boards.boards() || fire->height() != boards.height() ||
               fire->width() != boards.width() || static_cast<std::uint64_t>(fire->channels()) < steps))
    fail("simulator",
         fmt::format("fire bits of {} steps for {} boards of {} x {} cells", fire->channels(), fire->boards(),
                     fire->height(), fire->width()),
         fmt::format("{} steps, {} boards of {} x {}", steps, boards.boards(), boards.height(), boards.width()));
  plan_->prepare(boards, steps, options_);
  const double block_ns = (plan_->engine->native() ? kNativeWord : kInterpretedWord) * static_cast<double>(steps) *
                          static_cast<double>(plan_->stretch * (plan_->program.ops.size() + 8));
  pool.for_chunks(boards.blocks(), 1, block_ns, [&](Chunk chunk) {
    plan_->run_block(boards.plane(chunk.index, 0), fire ? fire->plane(chunk.index, 0) : nullptr, steps,
                     options_.periodic);
  });
}

BoardBatch draw_fire(const BoardBatch& boards, int steps, double rate, std::uint64_t seed, std::uint32_t stream) {
  if (!(rate >= 0 && rate <= 1)) fail("fire bits", fmt::format("a rate of {}", rate), "0 to 1");
  const Random random(seed, Purpose::kFire, stream);
  BoardBatch fire(boards.boards(), boards.height(), boards.width(), steps);
  std::uint64_t element = 0;
  for (int t = 0; t < steps; ++t)
    for (std::size_t y = 0; y < boards.height(); ++y)
      for (std::size_t x = 0; x < boards.width(); ++x)
        for (std::size_t b = 0; b < boards.boards(); ++b)
          if (random.uniform(element++) < rate) fire.set(b, y, x, t, true);
  return fire;
}

}  // namespace espalier
