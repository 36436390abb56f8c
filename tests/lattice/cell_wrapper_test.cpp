// What is built around a cell that grows a picture: it is the same picture, it stays, it heals, it needs no common
// step.
#include "models/lattice/cell_wrapper.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

constexpr int kChannels = 3, kJudged = 2, kSteps = 5;
constexpr std::size_t kHeight = 9, kWidth = 12;
constexpr int kSeedRow = 3, kSeedColumn = 7;

// A rule that goes on for ever; from nothing, too.
Netlist restless_cell() {
  Netlist cell = empty_cell(kChannels);
  const auto in = [](int p, int c) { return patch_net(p, c, kChannels); };
  const Net a = cell.add_gate(Gate::kXnor, in(1, 0), in(3, 1)), b = cell.add_gate(Gate::kXor, in(5, 2), in(4, 0));
  cell.add_output("next0", cell.add_gate(Gate::kXor, a, b));
  cell.add_output("next1", cell.add_gate(Gate::kXor, in(7, 0), in(4, 2)));
  cell.add_output("next2", cell.add_gate(Gate::kOr, in(0, 1), a));
  return cell;
}

struct Stage {
  bool seeded, periodic;
  Board start(int channels) const {
    Board board(kHeight, kWidth, channels);
    for (int c = 0; seeded && c < channels; ++c) board.set(kSeedRow, kSeedColumn, c, true);
    return board;
  }
  Board after(const Netlist& cell, std::uint64_t steps) const {
    Board board = start(cell_channels(cell));
    Simulator(cell, kHeight, kWidth, {.periodic = periodic}).run(board, steps);
    return board;
  }
  Netlist wrapped(Wrapper wrapper) const {
    return wrapped_cell(restless_cell(),
                        {wrapper, kSteps, static_cast<int>(kHeight), static_cast<int>(kWidth), seeded ? kSeedRow : -1,
                         seeded ? kSeedColumn : -1, kJudged},
                        0);
  }
};

bool shows(const Board& board, const Board& picture) {
  for (int c = 0; c < kJudged; ++c)
    for (std::size_t y = 0; y < kHeight; ++y)
      for (std::size_t x = 0; x < kWidth; ++x)
        if (board.get(y, x, c) != picture.get(y, x, c)) return false;
  return true;
}

constexpr Stage kStages[] = {{false, false}, {true, false}, {true, true}};

TEST(CellWrapper, APictureIsThereAtItsStepAndAtEveryOneAfter) {
  for (const Stage& stage : kStages) {
    const Board picture = stage.after(restless_cell(), kSteps);
    ASSERT_FALSE(shows(stage.after(restless_cell(), kSteps + 1), picture));  // or the test would show nothing
    for (const Wrapper wrapper : {Wrapper::kPersist, Wrapper::kHeal}) {
      if (wrapper == Wrapper::kHeal && stage.periodic) continue;
      const Netlist cell = stage.wrapped(wrapper);
      for (std::uint64_t t = kSteps; t < 4 * kSteps; ++t) EXPECT_TRUE(shows(stage.after(cell, t), picture)) << t;
      EXPECT_TRUE(shows(stage.after(cell, 10'000), picture));
    }
  }
}

TEST(CellWrapper, WhateverIsDoneToAnyOfItsCellsAPictureComesBack) {
  for (const bool seeded : {false, true}) {
    const Stage stage{seeded, false};
    const Board picture = stage.after(restless_cell(), kSteps);
    const Netlist cell = stage.wrapped(Wrapper::kHeal);
    const Random random(1, Purpose::kDamage);
    std::uint64_t draw = 0;
    Simulator simulator(cell, kHeight, kWidth, {.periodic = false});
    const auto strike = [&](Board& board,
                            int kind) {  // 0: zeros, 1: ones, 2: random bits; everywhere or here and there
      const bool all = random.choice(draw++, 4) == 0;
      for (std::size_t y = 0; y < kHeight; ++y)
        for (std::size_t x = 0; x < kWidth; ++x)
          if (all || random.choice(draw++, 4) == 0)
            for (int c = 0; c < board.channels(); ++c) board.set(y, x, c, kind == 2 ? random.coin(draw++) : kind == 1);
    };
    for (int k = 0; k < 60; ++k) {
      Board board = stage.after(cell, 60 + static_cast<std::uint64_t>(k));
      strike(board, k % 3);
      if (k % 2) {  // again, in the middle of it
        simulator.run(board, 1 + random.choice(draw++, 20));
        strike(board, 2);
      }
      simulator.run(board, 1 + kWidth + 2 * (kWidth + 2));
      for (int t = 0; t < 20; ++t) {
        EXPECT_TRUE(shows(board, picture)) << seeded << " " << k << " " << t;
        simulator.run(board, 1);
      }
    }
  }
}

TEST(CellWrapper, CellsThatUpdateAtRandomTimesGrowTheSamePicture) {
  const Stage stage{true, true};
  const Board picture = stage.after(restless_cell(), kSteps);
  const Netlist cell = stage.wrapped(Wrapper::kAsync);
  EXPECT_TRUE(shows(stage.after(cell, kSteps), picture));  // all at once is one of the orders
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatorOptions options;
    options.periodic = true;
    options.fire_rate = seed % 2 ? 0.6 : 0.1;
    options.seed = seed;
    Simulator simulator(cell, kHeight, kWidth, options);
    Board board = stage.start(cell_channels(cell));
    simulator.run(board, seed % 2 ? 100 : 800);
    for (int t = 0; t < 20; ++t) {
      EXPECT_TRUE(shows(board, picture)) << seed;
      simulator.run(board, 1);
    }
  }
}

}  // namespace
}  // namespace espalier
