// Lattice models run and looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "models/lattice/lattice_model.hpp"
#include "netlist/fire_mask.hpp"

namespace espalier {
namespace {

class HardStepper : public Stepper {
 public:
  HardStepper(const LatticeModel& model, const BoardState& start, const SimulatorOptions& options)
      : board_(start.height, start.width, start.channels),
        simulator_(model.quick_cell(), start.height, start.width, options) {
    // Row by row: a board may have 2^24 cells.
    for (int c = 0; c < start.channels; ++c)
      for (int y = 0; y < start.height; ++y) {
        std::uint64_t* words = board_.row(y, c);
        const float* values = &start.values[start.index(c, y, 0)];
        for (int x = 0; x < start.width; ++x) words[x / 64] |= std::uint64_t{values[x] >= 0.5f} << (x % 64);
      }
  }
  void advance(std::uint64_t steps, const ThreadPool& pool) override { simulator_.run(board_, steps, pool); }
  BoardState state() const override {
    BoardState s(board_.channels(), static_cast<int>(board_.height()), static_cast<int>(board_.width()));
    for (int c = 0; c < s.channels; ++c)
      for (int y = 0; y < s.height; ++y) {
        const std::uint64_t* words = board_.row(y, c);
        float* values = &s.values[s.index(c, y, 0)];
        for (int x = 0; x < s.width; ++x) values[x] = static_cast<float>(words[x / 64] >> (x % 64) & 1);
      }
    return s;
  }

 private:
  Board board_;
  Simulator simulator_;
};

std::uint8_t shade(float value) { return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f))); }

class SoftStepper : public Stepper {
 public:
  SoftStepper(const LatticeModel& model, const BoardState& start, const SimulatorOptions& options)
      : options_(options), state_(start), rollout_(model.automaton(), {1, start.height, start.width, 1, 1.0f}) {
    rollout_.soften(model.parameters().values(), {}, ThreadPool(1));
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

}  // namespace

std::unique_ptr<Stepper> make_stepper(const LatticeModel& model, const BoardState& start,
                                      const SimulatorOptions& options, bool soft) {
  if (start.height < 1 || start.width < 1 || start.channels != model.channels() ||
      start.values.size() != start.index(start.channels, 0, 0))
    fail("run model",
         fmt::format("{} values for {} channels of {} x {}", start.values.size(), start.channels, start.height,
                     start.width),
         fmt::format("a whole board of {} channels", model.channels()));
  if (soft) return std::make_unique<SoftStepper>(model, start, options);
  return std::make_unique<HardStepper>(model, start, options);
}

Image view_board(const LatticeModel& model, const BoardState& state) {
  Image image(state.width, state.height);
  const bool colour = model.goal().loss_channels() >= 3;
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
