// T steps forward and back: the grids, the loss, and the parallel schedule over blocks.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/arrays.hpp"
#include "base/clock.hpp"
#include "base/rank_bytes.hpp"
#include "base/scratch.hpp"
#include "base/subnormals.hpp"
#include "base/wavefront.hpp"
#include "espalier/error.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/parameters.hpp"
#include "models/lattice/block_step.hpp"
#include "models/lattice/firing.hpp"

namespace espalier {
namespace {

constexpr double kMaxFloats = 4294967296.0;  // 16 GiB
constexpr int kGradientStates = 2 * 9 + 1;   // as large as a state: two sets of patches, and the loss
constexpr double kFiringFloats = 3;          // at most, for each cell and step: who fires

const RolloutOptions& checked(const RolloutOptions& options, int channels) {
  check_rollout(options, channels);
  return options;
}

// Calls visit(index in [batch][channels][H][W], channel, plane position) for every value of samples begin to end - 1.
template <class Visit>
void each_value(const Geometry& g, int channels, int begin, int end, Visit visit) {
  std::size_t at = static_cast<std::size_t>(begin) * channels * g.height() * g.width();
  for (int n = begin; n < end; ++n)
    for (int c = 0; c < channels; ++c)
      for (int y = 0; y < g.height(); ++y)
        for (int x = 0; x < g.width(); ++x) visit(at++, c, g.position(n, y, x));
}

}  // namespace

Fields fields_of(RolloutOptions& o) {
  Fields f;
  f.add("height", o.height, "rows of the grid", 0, 1e5);
  f.add("width", o.width, "columns of the grid", 0, 1e5);
  f.add("steps", o.steps, "steps of a rollout; 0 = as many as suit a picture", 0, 1e5);
  f.add("batch", o.batch, "boards per mini-batch", 1, 1e6);
  f.add("fire-rate", o.fire_rate, "probability that a cell updates in a step; 1 = synchronous", 1e-6, 1);
  return f;
}

void check_rollout(const RolloutOptions& o, int channels) {
  check_grid(o.batch, o.height, o.width);
  if (channels < 1) fail("rollout", fmt::format("{} channels", channels), "at least 1");
  if (o.steps < 1 || o.steps > 100'000) fail("rollout", fmt::format("{} steps", o.steps), "1 to 100000");
  if (!(o.fire_rate > 0 && o.fire_rate <= 1))
    fail("rollout", fmt::format("a fire rate of {}", o.fire_rate), "more than 0, at most 1");
  const double cells = static_cast<double>(o.batch) * o.height * o.width;
  const double fired = o.fire_rate < 1 ? kFiringFloats * cells * o.steps : 0.0;
  const double floats = cells * channels * (o.steps + 1.0 + kGradientStates) + fired;
  if (floats > kMaxFloats)
    fail("rollout",
         fmt::format("{} boards of {} x {} with {} channels for {} steps, {:.0f} GiB", o.batch, o.height, o.width,
                     channels, o.steps, floats * sizeof(float) / (1 << 30)),
         "at most 16 GiB", "a smaller grid, fewer channels or fewer steps");
}

struct Rollout::State {
  // What has been done: each needs the one before.
  enum class Stage { kNothing, kSoftened, kForward, kLoss, kBackward };

  State(const Automaton& automaton, const RolloutOptions& o)
      : options(checked(o, automaton.options().channels)),
        channels(automaton.options().channels),
        geometry(o.batch, o.height, o.width, automaton.options().boundary),
        step(automaton, geometry),
        gates(automaton.perceive(), automaton.update()),
        chunk_ns((0.15 * static_cast<double>(automaton.gates_per_cell()) + 0.05 * automaton.update().wires()) *
                 kBlockCells * geometry.blocks_per_chunk()),
        wavefront(chunk_neighbours(geometry, o.fire_rate < 1)),
        slots(wavefront.chunks(), gates.coefficients().size()),
        scratch([automaton] { return std::make_unique<BlockScratch>(automaton); }) {
    states.resize(state_size() * (static_cast<std::size_t>(o.steps) + 1));
    if (o.fire_rate < 1) firing.emplace(geometry, o.steps);
    dlast.resize(state_size());
    for (auto& planes : dpatch) planes.resize(9 * state_size());
    dc.resize(gates.coefficients().size());
  }

  // Whole groups of samples over the ranks of the pool: what a sample does concerns no other.
  void share(const ThreadPool& pool) {
    own = slots.share(pool, static_cast<std::size_t>(geometry.chunks_per_group()));
    first_sample = sample_of(own.begin);
    last_sample = own.end == slots.count() ? geometry.batch() : sample_of(own.end);
  }
  int sample_of(std::size_t slot) const {
    return geometry.first_sample(static_cast<int>(slot / static_cast<std::size_t>(geometry.chunks_per_group())));
  }
  void need_all(const char* op) const {
    if (own.shared) fail(op, "a pass shared out over ranks", "one of this rank alone", "a pool without ranks");
  }
  // Where the samples of each rank begin, in bytes; one more at the end.
  std::vector<std::size_t> sample_starts(const Ranks& ranks, std::size_t bytes) const {
    std::vector<std::size_t> starts;
    for (int r = 0; r < ranks.size(); ++r)
      starts.push_back(bytes * sample_of(share_of(slots.count(), own.unit, r, ranks.size()).begin));
    starts.push_back(bytes * geometry.batch());
    return starts;
  }
  void send_finals(Ranks& ranks);  // begins to
  void take_finals();
  double squared_error(int first, int last, const ThreadPool& pool);

  void need(Stage wanted, const char* op, const char* missing) const {
    if (stage < wanted) fail(op, fmt::format("a call before {}", missing), fmt::format("{} first", missing));
  }
  std::size_t cells() const { return static_cast<std::size_t>(geometry.cells()); }
  std::size_t state_size() const { return static_cast<std::size_t>(channels) * geometry.plane(); }
  float* grid(int t) { return states.data() + static_cast<std::size_t>(t) * state_size(); }
  // compute(block) for a chunk's blocks of cells that have a new state in step t, keep(block) for those that do not.
  template <class Compute, class Keep>
  void each_block(int t, std::size_t chunk, Compute compute, Keep keep) const {
    const auto c = static_cast<int>(chunk);
    if (firing) {
      firing->each_still(t, c, keep);
      firing->each_firing(t, c, compute);
    } else {
      for (int b = geometry.chunk_begin(c); b < geometry.chunk_begin(c + 1); ++b) compute(geometry.block(b));
    }
  }

  RolloutOptions options;
  int channels;
  Geometry geometry;
  BlockStep step;
  SoftGates gates;
  double chunk_ns;                 // rough cost of one chunk's step forward
  AlignedVector<float> states;     // [T+1][C][plane]
  std::optional<Firing> firing;    // none when synchronous
  AlignedVector<float> dlast;      // [C][plane]: gradient of the last state
  AlignedVector<float> dpatch[2];  // [9][C][plane], of this step and the one after
  AlignedVector<float> dc;         // of all coefficients: [gates][4], and of wires
  Wavefront wavefront;
  GradientSlots slots;  // one per chunk
  double reduction_seconds = 0;
  GradientSlots::Share own{};  // this rank's chunks, and their samples
  int first_sample = 0, last_sample = 0;
  ScratchPool<BlockScratch> scratch;
  std::span<const float> target;  // of the loss, until it is ended
  int loss_channels = 0;
  double total = 0;           // the loss; over ranks that of own samples until those of others have arrived
  std::vector<float> finals;  // last states of all samples on their way
  std::unique_ptr<Ranks::Gathering> arriving;
  Stage stage = Stage::kNothing;
  ForwardPass choice;  // of the gates
  LastPass last;
};

Rollout::Rollout(const Automaton& automaton, const RolloutOptions& options)
    : s_(std::make_unique<State>(automaton, options)) {}
Rollout::~Rollout() = default;
Rollout::Rollout(Rollout&&) noexcept = default;
Rollout& Rollout::operator=(Rollout&&) noexcept = default;

const RolloutOptions& Rollout::options() const { return s_->options; }

std::size_t Rollout::bytes() const {
  return sizeof(float) * (s_->states.size() + s_->dlast.size() + s_->dpatch[0].size() + s_->dpatch[1].size()) +
         (s_->firing ? s_->firing->bytes() : 0);
}

void Rollout::soften(std::span<const float> logits, const SoftChoice& choice, const ThreadPool& pool) {
  s_->stage = State::Stage::kNothing;
  s_->last.forget();
  s_->choice = s_->gates.choose(logits, choice, pool);
  s_->stage = State::Stage::kSoftened;
}

ForwardPass Rollout::forward(std::span<const float> initial, std::uint64_t fire_seed, std::uint32_t fire_step,
                             const ThreadPool& pool) {
  State& s = *s_;
  s.need(State::Stage::kSoftened, "rollout", "soften()");
  if (initial.size() != s.cells() * s.channels)
    fail("rollout", fmt::format("boards of {} values", initial.size()),
         fmt::format("{}: batch x channels x height x width", s.cells() * s.channels));
  if (!all_finite(initial)) fail("rollout", "boards with a value that is not finite", "numbers");
  s.stage = State::Stage::kSoftened;
  s.last.forget();
  s.share(pool);
  float* start = s.grid(0);
  const Geometry& geometry = s.geometry;
  each_value(geometry, s.channels, s.first_sample, s.last_sample,
             [&](std::size_t i, int c, std::int32_t at) { start[c * geometry.plane() + at] = initial[i]; });
  const int first_block = geometry.chunk_begin(static_cast<int>(s.own.begin));
  const int last_block = geometry.chunk_begin(static_cast<int>(s.own.end));
  for (int b = first_block; b < last_block; ++b)
    for (const Geometry::Copy& copy : geometry.block(b).rim)
      for (int c = 0; c < s.channels; ++c)
        start[c * geometry.plane() + copy.to] = start[c * geometry.plane() + copy.from];
  if (s.firing) {
    const auto chunks = static_cast<std::size_t>(geometry.chunks_per_group());
    s.firing->draw(Random(fire_seed, Purpose::kFire, fire_step), s.options.fire_rate,
                   static_cast<int>(s.own.begin / chunks), static_cast<int>(s.own.end / chunks), pool);
  }
  s.wavefront.run(
      s.own.begin, s.own.end, static_cast<std::size_t>(s.options.steps), s.chunk_ns, pool,
      [&](std::size_t step, std::size_t chunk) {
        const auto t = static_cast<int>(step);
        const auto scratch = s.scratch.borrow();
        const FlushSubnormals flush;
        s.each_block(
            t, chunk,
            [&](const Geometry::Block& cells) {
              s.step.forward(s.gates.coefficients(), cells, s.grid(t), *scratch, s.grid(t + 1));
            },
            [&](const Geometry::Block& cells) { s.step.forward_still(cells, s.grid(t), *scratch, s.grid(t + 1)); });
      });
  s.stage = State::Stage::kForward;
  return s.last.begin();
}

std::vector<float> Rollout::state(int t) const {
  const State& s = *s_;
  s.need(State::Stage::kForward, "rollout state", "forward()");
  s.need_all("rollout state");
  if (t < 0 || t > s.options.steps)
    fail("rollout state", fmt::format("step {}", t), fmt::format("0 to {}", s.options.steps));
  std::vector<float> values(s.cells() * s.channels);
  const float* planes = s_->grid(t);
  each_value(s.geometry, s.channels, 0, s.geometry.batch(),
             [&](std::size_t i, int c, std::int32_t at) { values[i] = planes[c * s.geometry.plane() + at]; });
  return values;
}

std::vector<std::uint8_t> Rollout::last_bits(const ThreadPool& pool) const {
  State& s = *s_;
  s.need(State::Stage::kForward, "rollout bits", "forward()");
  if (s.own.shared && !pool.ranks()) fail("rollout bits", "a different pool from the forward pass", "the same ranks");
  std::vector<std::uint8_t> bits(s.cells() * s.channels);
  const float* planes = s.grid(s.options.steps);
  each_value(s.geometry, s.channels, s.first_sample, s.last_sample,
             [&](std::size_t i, int c, std::int32_t at) { bits[i] = planes[c * s.geometry.plane() + at] >= 0.5f; });
  if (s.own.shared)
    pool.ranks()->all_gather(std::as_writable_bytes(std::span(bits)),
                             s.sample_starts(*pool.ranks(), bits.size() / s.geometry.batch()));
  return bits;
}

// The loss is summed over all boards in one fixed order, so every rank gets the last states of all that it looks at.
void Rollout::State::send_finals(Ranks& ranks) {
  const std::size_t sample = static_cast<std::size_t>(loss_channels) * options.height * options.width;
  const std::vector<std::size_t> starts = sample_starts(ranks, sizeof(float) * sample);
  finals.resize(starts.back() / sizeof(float));
  const float* planes = grid(options.steps);
  each_value(geometry, loss_channels, first_sample, last_sample,
             [&](std::size_t i, int c, std::int32_t at) { finals[i] = planes[c * geometry.plane() + at]; });
  arriving = ranks.begin_gather(std::as_writable_bytes(std::span(finals)), starts);
}

void Rollout::State::take_finals() {
  std::exchange(arriving, nullptr)->finish();
  float* planes = grid(options.steps);
  const auto put = [&](std::size_t i, int c, std::int32_t at) { planes[c * geometry.plane() + at] = finals[i]; };
  each_value(geometry, loss_channels, 0, first_sample, put);
  each_value(geometry, loss_channels, last_sample, geometry.batch(), put);
}

// One row of one channel of one sample at a time; rows are added in double in a fixed tree. The gradient of the last
// state is kept for samples first to last - 1.
double Rollout::State::squared_error(int first, int last, const ThreadPool& pool) {
  const int height = options.height;
  const auto width = static_cast<std::size_t>(options.width);
  const std::size_t row_count = static_cast<std::size_t>(loss_channels) * height;
  const float* const state = grid(options.steps);
  return pool.reduce(
      row_count * static_cast<std::size_t>(last - first), 16, 2.0 * static_cast<double>(width), 0.0,
      [&](Chunk chunk) {
        double sum = 0;
        for (std::size_t k = chunk.begin; k < chunk.end; ++k) {
          const std::size_t r = row_count * static_cast<std::size_t>(first) + k;
          const auto y = static_cast<int>(r % height);
          const auto c = static_cast<int>(r / height % loss_channels);
          const auto n = static_cast<int>(r / row_count);
          const std::size_t at = c * geometry.plane() + geometry.position(n, y, 0);
          for (std::size_t x = 0; x < width; ++x) {
            const float error = state[at + x] - target[r * width + x];
            dlast[at + x] = 2 * error;
            sum += static_cast<double>(error) * error;
          }
        }
        return sum;
      },
      [](double& a, const double& b) { a += b; });
}

void Rollout::begin_loss(std::span<const float> target, int loss_channels, const ThreadPool& pool) {
  State& s = *s_;
  s.need(State::Stage::kForward, "rollout loss", "forward()");
  if (loss_channels < 1 || loss_channels > s.channels)
    fail("rollout loss", fmt::format("{} channels", loss_channels), fmt::format("1 to {}", s.channels));
  if (target.size() != s.cells() * loss_channels)
    fail("rollout loss", fmt::format("a target of {} values", target.size()),
         fmt::format("{}: batch x loss channels x height x width", s.cells() * loss_channels));
  if (!all_finite(target)) fail("rollout loss", "a target with a value that is not finite", "numbers");
  if (s.own.shared && !pool.ranks()) fail("rollout loss", "a different pool from the forward pass", "the same ranks");
  s.stage = State::Stage::kForward;
  s.arriving.reset();
  s.target = target;
  s.loss_channels = loss_channels;
  s.dlast.assign(s.state_size(), 0.0f);
  if (s.own.shared) s.send_finals(*pool.ranks());
  s.total = s.squared_error(s.first_sample, s.last_sample, pool);
  s.stage = State::Stage::kLoss;
}

double Rollout::end_loss(const ThreadPool& pool) {
  State& s = *s_;
  s.need(State::Stage::kLoss, "rollout loss", "begin_loss()");
  if (s.arriving) {
    s.take_finals();
    s.total = s.squared_error(0, s.geometry.batch(), pool);
  }
  return s.total;
}

double Rollout::loss(std::span<const float> target, int loss_channels, const ThreadPool& pool) {
  begin_loss(target, loss_channels, pool);
  return end_loss(pool);
}

void Rollout::backward(const ThreadPool& pool) {
  s_->need(State::Stage::kLoss, "rollout backward", "loss()");
  s_->last.check("rollout backward", "forward() returns it");
  run_backward(pool);
}

void Rollout::backward(const ForwardPass& pass, const ThreadPool& pool) {
  s_->last.check("rollout backward", pass);
  s_->need(State::Stage::kLoss, "rollout backward", "loss()");
  run_backward(pool);
}

void Rollout::run_backward(const ThreadPool& pool) {
  State& s = *s_;
  s.stage = State::Stage::kLoss;
  s.slots.zero(s.own, pool);
  s.wavefront.run(s.own.begin, s.own.end, static_cast<std::size_t>(s.options.steps), 3 * s.chunk_ns, pool,
                  [&](std::size_t step, std::size_t chunk) {
                    const int t = s.options.steps - 1 - static_cast<int>(step);
                    const float* after = s.dpatch[(t + 1) % 2].data();
                    float* const dpatch = s.dpatch[t % 2].data();
                    const auto scratch = s.scratch.borrow();
                    const FlushSubnormals flush;
                    // The gradient of the state after the step.
                    const auto dout = [&](const Geometry::Block& cells) {
                      float* const rows = scratch->dout.data();
                      if (step == 0) {
                        for (int c = 0; c < s.channels; ++c)
                          load_block(cells, s.dlast.data() + c * s.geometry.plane(), 0, rows + c * kBlockCells);
                        return rows;
                      }
                      s.step.gather(cells, after, rows);
                      return rows;
                    };
                    s.each_block(
                        t, chunk,
                        [&](const Geometry::Block& cells) {
                          s.step.backward(s.gates.coefficients(), cells, s.grid(t), dout(cells), *scratch, dpatch,
                                          s.slots.slot(chunk));
                        },
                        [&](const Geometry::Block& cells) { s.step.backward_still(cells, dout(cells), dpatch); });
                  });
  s.stage = State::Stage::kBackward;
  s.last.went_back();
}

void Rollout::add_gradients(std::span<float> dlogits, const ThreadPool& pool) {
  State& s = *s_;
  s.need(State::Stage::kBackward, "rollout gradients", "backward()");
  std::fill(s.dc.begin(), s.dc.end(), 0.0f);
  PhaseClock book;
  s.slots.add_shared(s.dc, s.own, pool);
  book(s.reduction_seconds);
  s.gates.backward(s.choice, s.dc, dlogits, pool);
}

double Rollout::reduction_seconds() const { return s_->reduction_seconds; }

std::vector<float> Rollout::initial_gradient() const {
  const State& s = *s_;
  s.need(State::Stage::kBackward, "rollout gradients", "backward()");
  s.need_all("rollout gradients");
  std::vector<float> values(s.cells() * s.channels);
  const float* planes = s.dpatch[0].data();
  each_value(s.geometry, s.channels, 0, s.geometry.batch(), [&](std::size_t i, int c, std::int32_t at) {
    for (int o = 0; o < 9; ++o)
      values[i] +=
          planes[(static_cast<std::size_t>(o) * s.channels + c) * s.geometry.plane() + at - s.geometry.shift(o)];
  });
  return values;
}

}  // namespace espalier
