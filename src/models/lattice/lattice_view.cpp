// Lattice models run and looked at.
#include "models/lattice/lattice_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/ranks.hpp"
#include "netlist/fire_mask.hpp"

namespace espalier {
namespace {

// A band of rows of the board, or all of it.
class HardStepper : public Stepper {
 public:
  HardStepper(const LatticeModel& model, int height, int width, const StartRows& start, const SimulatorOptions& options)
      : ranks_(options.ranks),
        height_(height),
        simulator_(model.quick_cell(), static_cast<std::size_t>(height), static_cast<std::size_t>(width), options),
        board_(std::max<std::size_t>(1, simulator_.rows()), static_cast<std::size_t>(width), model.channels()) {
    // A few rows at a time: a board may have 2^32 cells.
    const auto first = static_cast<int>(simulator_.first_row()), rows = static_cast<int>(simulator_.rows());
    for (int at = 0; at < rows; at += kSlabRows) {
      const int count = std::min(kSlabRows, rows - at);
      const BoardState slab = start({first + at, count});
      for (int c = 0; c < slab.channels; ++c)
        for (int y = 0; y < count; ++y) {
          std::uint64_t* words = board_.row(static_cast<std::size_t>(at + y), c);
          const float* values = &slab.values[slab.index(c, y, 0)];
          for (int x = 0; x < width; ++x) words[x / 64] |= std::uint64_t{values[x] >= 0.5f} << (x % 64);
        }
    }
  }
  void advance(std::uint64_t steps, const ThreadPool& pool) override { simulator_.run(board_, steps, pool); }

  BoardState state() const override {
    const bool here = !ranks_ || ranks_->first();
    BoardState s(here ? board_.channels() : 0, height_, static_cast<int>(board_.width()));
    each_row([&](int c, int y, const std::uint64_t* words) {
      float* values = &s.values[s.index(c, y, 0)];
      for (int x = 0; x < s.width; ++x) values[x] = static_cast<float>(words[x / 64] >> (x % 64) & 1);
    });
    return s;
  }

  Figures figures() const override {
    Figures f;
    Hasher hash;
    std::vector<float> values(board_.width());
    each_row([&](int c, int, const std::uint64_t* words) {
      for (std::size_t x = 0; x < values.size(); ++x) values[x] = static_cast<float>(words[x / 64] >> (x % 64) & 1);
      hash.add(std::span<const float>(values));
      for (std::size_t w = 0; c == 0 && w < board_.row_words(); ++w) f.alive += std::popcount(words[w]);
    });
    f.hash = hash.hex();
    return f;
  }

 private:
  static constexpr int kSlabRows = 64, kRowsTag = 2;

  // visit(channel, row, words) for the whole board, by channels and rows: on rank 0, to which the others send theirs.
  template <class Visit>
  void each_row(Visit visit) const {
    const std::size_t words = board_.row_words(), own = simulator_.rows();
    const int ranks = ranks_ ? ranks_->size() : 1;
    for (int c = 0; c < board_.channels(); ++c) {
      if (ranks_ && !ranks_->first()) {
        for (std::size_t y = 0; y < own; y += kSlabRows)
          ranks_->send(0, kRowsTag,
                       std::as_bytes(std::span(board_.row(y, c), std::min<std::size_t>(kSlabRows, own - y) * words)));
        continue;
      }
      for (std::size_t y = 0; y < own; ++y) visit(c, static_cast<int>(y), board_.row(y, c));
      std::size_t at = own;
      for (int r = 1; r < ranks; ++r)
        for (const std::size_t end = at + simulator_.rows_of(r); at < end;) {
          const Bytes slab = ranks_->receive(r, kRowsTag);
          std::vector<std::uint64_t> rows(slab.size() / 8);
          std::memcpy(rows.data(), slab.data(), slab.size());
          for (std::size_t y = 0; y < rows.size() / words; ++y) visit(c, static_cast<int>(at++), &rows[y * words]);
        }
    }
  }

  Ranks* ranks_;
  int height_;
  Simulator simulator_;
  Board board_;
};

std::uint8_t shade(float value) { return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f))); }

class SoftStepper : public Stepper {
 public:
  SoftStepper(const LatticeModel& model, const BoardState& start, const SimulatorOptions& options)
      : options_(options), state_(start), rollout_(model.automaton(), {1, start.height, start.width, 1, 1.0f}) {
    rollout_.soften(model.parameters().values(), {});
  }

  void advance(std::uint64_t steps, const ThreadPool& pool) override {
    for (std::uint64_t i = 0; i < steps; ++i, ++step_) {
      rollout_.forward(state_.values, 0, 0, pool);
      const std::vector<float> next = rollout_.state(1);
      const FireMask fire(options_.seed, static_cast<std::uint32_t>(step_), options_.fire_rate);
      for (int y = 0; y < state_.height; ++y)
        for (int x = 0; x < state_.width; ++x)
          if (options_.fire_rate >= 1 || fire.fires(y, x, state_.width))
            for (int c = 0; c < state_.channels; ++c)
              state_.at(c, y, x) = next[(static_cast<std::size_t>(c) * state_.height + y) * state_.width + x];
      for (const DeadRectangle& dead : options_.dead)
        if (step_ >= dead.from && step_ < dead.to) clear(dead);
      if (options_.random_reset)
        clear(Simulator::random_square(options_.seed, step_, options_.random_reset, state_.height, state_.width));
    }
  }
  BoardState state() const override { return state_; }
  Figures figures() const override {
    Figures f;
    for (int y = 0; y < state_.height; ++y)
      for (int x = 0; x < state_.width; ++x) f.alive += static_cast<double>(state_.at(0, y, x));
    f.hash = Hasher().add(std::span<const float>(state_.values)).hex();
    return f;
  }

 private:
  void clear(const DeadRectangle& r) {
    for (int c = 0; c < state_.channels; ++c)
      for (int y = 0; y < state_.height; ++y)
        for (int x = 0; x < state_.width; ++x)
          if (y - r.top < r.height && x - r.left < r.width) state_.at(c, y, x) = 0;
  }

  SimulatorOptions options_;
  BoardState state_;
  Rollout rollout_;
  std::uint64_t step_ = 0;
};

// An Error unless it is whole and as large as is `expected`.
void check_board(const LatticeModel& model, const BoardState& s, bool expected) {
  if (!expected || s.height < 1 || s.width < 1 || s.values.size() != s.index(s.channels, 0, 0))
    fail("run model",
         fmt::format("{} values for {} channels of {} x {}", s.values.size(), s.channels, s.height, s.width),
         fmt::format("a whole board of {} channels", model.channels()));
}

}  // namespace

std::size_t BoardState::size_of(int c, int h, int w) {
  constexpr double kMaxValues = 1e12;  // far beyond any memory
  if (c < 0 || h < 0 || w < 0 || static_cast<double>(c) * h * w > kMaxValues)
    fail("board state", fmt::format("{} channels of {} x {}", c, h, w), "sizes from 0 that memory can hold");
  return static_cast<std::size_t>(c) * static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
}

void BoardState::refuse(int c, int y, int x) const {
  fail("board state", fmt::format("cell ({}, {}), channel {}", y, x, c),
       fmt::format("one of {} x {} cells and {} channels, with {} values", height, width, channels, values.size()));
}

BoardState state_of(const Board& board) {
  BoardState state(board.channels(), static_cast<int>(board.height()), static_cast<int>(board.width()));
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) state.at(c, y, x) = board.get(y, x, c);
  return state;
}

Board board_of(const BoardState& state) {
  Board board(static_cast<std::size_t>(state.height), static_cast<std::size_t>(state.width), state.channels);
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) board.set(y, x, c, state.at(c, y, x) >= 0.5f);
  return board;
}

SimulatorOptions run_options(const LatticeModel& model) {
  SimulatorOptions options;
  options.periodic = model.periodic();
  options.fire_rate = model.rollout().fire_rate;
  return options;
}

std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, int height, int width, const StartRows& start,
                                      const SimulatorOptions& options, bool soft) {
  if (!start || height < 1 || width < 1)
    fail("run model", fmt::format("a board of {} x {}{}", height, width, start ? "" : " without a start"),
         "sides from 1 and a start");
  if (!(options.fire_rate >= 0 && options.fire_rate <= 1))
    fail("run model", fmt::format("a fire rate of {}", options.fire_rate), "0 to 1");
  const auto checked = [&](RowRange rows) {
    BoardState s = start(rows);
    check_board(model, s, s.height == rows.count && s.width == width && s.channels == model.channels());
    return s;
  };
  if (soft && model.is_refined())
    fail("soft run", "a circuit that no weights made", "a model with soft gates", "train it by gradients");
  if (soft) return std::make_unique<SoftStepper>(model, checked({0, height}), options);
  return std::make_unique<HardStepper>(model, height, width, checked, options);
}

std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, const BoardState& start,
                                      const SimulatorOptions& options, bool soft) {
  const auto rows_of = [&](RowRange rows) {
    if (rows.first == 0 && rows.count == start.height) return start;
    BoardState part(start.channels, rows.count, start.width);
    for (int c = 0; c < start.channels; ++c)
      std::copy_n(&start.values.at(start.index(c, rows.first, 0)), static_cast<std::size_t>(rows.count) * start.width,
                  &part.values[part.index(c, 0, 0)]);
    return part;
  };
  check_board(model, start, true);
  return make_stepper(model, start.height, start.width, rows_of, options, soft);
}

long live_gates(const Netlist& cell) {
  return std::ranges::count_if(cell.gates, [](const NetlistGate& g) { return !is_constant(g.gate); });
}

Image view_board(const LatticeModel& model, const BoardState& state) {
  Image image(state.width, state.height);
  const bool colour = model.loss_channels() >= 3;
  for (int y = 0; y < state.height; ++y)
    for (int x = 0; x < state.width; ++x) {
      const auto part = [&](int c) { return shade(state.at(colour ? c : 0, y, x)); };
      image.set(y, x, {part(0), part(1), part(2)});
    }
  return image;
}

Image view_channels(const BoardState& state) {
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(static_cast<double>(state.channels)))));
  const int rows = (state.channels + columns - 1) / columns;
  Image sheet(columns * (state.width + 1) + 1, rows * (state.height + 1) + 1, {60, 60, 90});
  for (int c = 0; c < state.channels; ++c)
    for (int y = 0; y < state.height; ++y)
      for (int x = 0; x < state.width; ++x) {
        const std::uint8_t s = shade(state.at(c, y, x));
        sheet.set(c / columns * (state.height + 1) + 1 + y, c % columns * (state.width + 1) + 1 + x, {s, s, s});
      }
  return sheet;
}

}  // namespace espalier
