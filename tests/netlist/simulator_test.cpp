#include "espalier/simulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "espalier/error.hpp"
#include "logic/each_target.hpp"
#include "netlist/circuits.hpp"
#include "netlist/fire_mask.hpp"
#include "netlist/sim_program.hpp"

namespace espalier {
namespace {

using Engine = SimulatorEngine;

// Every cell by itself, every gate in order: the meaning of a step.
Board plain_step(const Netlist& cell, const Board& board, const SimulatorOptions& options, std::uint64_t step) {
  const int C = board.channels();
  const auto H = static_cast<long>(board.height()), W = static_cast<long>(board.width());
  Board next(board.height(), board.width(), C);
  const FireMask fire(options.seed, static_cast<std::uint32_t>(step), options.fire_rate);
  for (long y = 0; y < H; ++y)
    for (long x = 0; x < W; ++x) {
      std::vector<bool> patch(static_cast<std::size_t>(9 * C));
      for (int p = 0; p < 9; ++p)
        for (int c = 0; c < C; ++c) {
          long yy = y + p / 3 - 1, xx = x + p % 3 - 1;
          const bool inside = yy >= 0 && yy < H && xx >= 0 && xx < W;
          if (!inside && !options.periodic) continue;
          yy = (yy + H) % H;
          xx = (xx + W) % W;
          patch[static_cast<std::size_t>(p * C + c)] =
              board.get(static_cast<std::size_t>(yy), static_cast<std::size_t>(xx), c);
        }
      const std::vector<bool> result = evaluate(cell, patch);
      const auto uy = static_cast<std::size_t>(y), ux = static_cast<std::size_t>(x);
      const bool fires = options.fire_rate >= 1 || fire.fires(uy, ux, board.width());
      for (int c = 0; c < C; ++c)
        next.set(uy, ux, c, fires ? result[static_cast<std::size_t>(c)] : board.get(uy, ux, c));
    }
  return next;
}

Netlist random_cell(std::uint64_t seed, int channels, int gates) {
  Netlist n = test::random_netlist(seed, 9 * channels, gates, channels, 9 * channels + 20);
  for (int c = 0; c < channels; ++c) n.outputs[static_cast<std::size_t>(c)].name = fmt::format("next{}", c);
  return n;
}

// The same gates on each row of the patch, then gates on all of it: what the native engine computes once a row. One
// output is a row's value itself.
Netlist row_sharing_cell(std::uint64_t seed, int channels) {
  const Random random(seed, Purpose::kTrial);
  const auto width = static_cast<std::size_t>(3 * channels);
  Netlist n = empty_cell(channels);
  std::vector<Net> rows[3];
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < width; ++i) rows[row].push_back(static_cast<Net>(row * width + i));
    for (std::uint64_t g = 0; g < 12; ++g) {
      const Net a = rows[row][random.choice(3 * g, rows[row].size())],
                b = rows[row][random.choice(3 * g + 1, rows[row].size())];
      rows[row].push_back(n.add_gate(static_cast<Gate>(random.choice(3 * g + 2, kGates)), a, b));
    }
  }
  n.add_output("next0", rows[2].back());
  for (int c = 1; c < channels; ++c) {
    Net sum = rows[0][width + static_cast<std::size_t>(c)];
    for (std::uint64_t g = 0; g < 8; ++g) {
      const std::vector<Net>& row = rows[(g + static_cast<std::uint64_t>(c)) % 3];
      sum = n.add_gate(g % 2 ? Gate::kXor : Gate::kNotAAndB, row[random.choice(1000 + 9 * g, row.size())], sum);
    }
    n.add_output(fmt::format("next{}", c), sum);
  }
  return n;
}

std::vector<std::pair<Engine, int>> engines() {
  std::vector<std::pair<Engine, int>> all{{Engine::kAuto, 0}};
  for (int bits = 256; bits <= widest_word(); bits *= 2) all.emplace_back(Engine::kNative, bits);
  for (int bits = 64; bits <= widest_word(); bits *= 2) all.emplace_back(Engine::kInterpreter, bits);
  return all;
}

struct Size {
  std::size_t height, width;
};
constexpr Size kSizes[] = {{1, 1},   {1, 2},   {2, 1},   {3, 3},   {5, 63},   {7, 64},  {4, 65},  {9, 1},    {17, 127},
                           {8, 128}, {70, 20}, {2, 300}, {33, 37}, {65, 257}, {1, 256}, {3, 256}, {67, 512}, {2, 768}};

TEST(Simulator, EqualsThePlainEvaluationForEverySizeBoundaryAndEngine) {
  const Netlist cells[] = {life_cell(), random_cell(1, 2, 60), test::parity_cell(3)};
  const ThreadPool pool(1);
  for (const Netlist& cell : cells)
    for (const auto& [height, width] : kSizes)
      for (const bool periodic : {true, false})
        for (const double rate : {1.0, 0.6}) {
          SimulatorOptions options;
          options.periodic = periodic;
          options.fire_rate = rate;
          options.seed = 11;
          Board expected(height, width, cell_channels(cell));
          expected.randomize(height * 1000 + width);
          const Board start = expected;
          for (std::uint64_t s = 0; s < 3; ++s) expected = plain_step(cell, expected, options, s);
          for (const auto& [engine, bits] : engines()) {
            options.engine = engine;
            options.word_bits = bits;
            Board board = start;
            Simulator(cell, height, width, options).run(board, 3, pool);
            ASSERT_TRUE(board == expected) << cell.name << " " << height << "x" << width << " periodic " << periodic
                                           << " rate " << rate << " bits " << bits;
          }
        }
}

TEST(Simulator, EqualsThePlainEvaluationOnALargeOddBoardForEveryEngineAndThreadCount) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  const Netlist cell = life_cell();
  for (const bool periodic : {true, false}) {
    SimulatorOptions options;
    options.periodic = periodic;
    Board start(1000, 37, 1);
    start.randomize(3);
    const Board expected = plain_step(cell, start, options, 0);
    for (const auto& [engine, bits] : engines())
      for (const int threads : {1, 2, 5}) {
        options.engine = engine;
        options.word_bits = bits;
        Board board = start;
        Simulator(cell, 1000, 37, options).run(board, 1, ThreadPool(threads));
        EXPECT_TRUE(board == expected) << bits << " bits, " << threads << " threads, periodic " << periodic;
      }
  }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

// More live values than registers: the native code must move some to memory and back.
TEST(Simulator, LargeRandomCellsAgreeOnEveryEngine) {
  const ThreadPool pool(1);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const int channels = 1 + static_cast<int>(seed % 4) * 3;
    const Netlist cell = random_cell(seed, channels, 400);
    std::string hash;
    for (const auto& [engine, bits] : engines()) {
      SimulatorOptions options;
      options.engine = engine;
      options.word_bits = bits;
      options.fire_rate = seed % 2 ? 0.5 : 1.0;
      Board board(40, 100, channels);
      board.randomize(seed);
      const Board start = board;
      Simulator simulator(cell, 40, 100, options);
      simulator.run(board, 4, pool);
      if (hash.empty()) hash = board.hash();
      EXPECT_EQ(board.hash(), hash) << seed << " bits " << bits;
      if (engine == Engine::kAuto) {
        Board expected = start;
        for (std::uint64_t s = 0; s < 4; ++s) expected = plain_step(cell, expected, options, s);
        EXPECT_TRUE(board == expected) << seed;
      }
    }
  }
}

TEST(Simulator, ValuesSharedByRowsChangeNoBoard) {
  const ThreadPool pool(1);
  std::size_t shared = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int channels = 1 + static_cast<int>(seed % 3);
    const Netlist cell = row_sharing_cell(seed, channels);
    for (const bool periodic : {true, false}) {
      SimulatorOptions options;
      options.periodic = periodic;
      options.fire_rate = seed % 4 ? 1.0 : 0.5;
      for (const auto& [height, width] : {Size{20, 256}, Size{9, 70}}) {
        Board board(height, width, channels);
        board.randomize(seed);
        Board expected = board;
        for (std::uint64_t s = 0; s < 3; ++s) expected = plain_step(cell, expected, options, s);
        Simulator simulator(cell, height, width, options);
        simulator.run(board, 3, pool);
        EXPECT_TRUE(board == expected) << seed << " periodic " << periodic;
        const SimProgram whole = sim_program(options.fire_rate < 1 ? with_fire(cell) : cell);
        shared += simulator.operations() < whole.ops.size();
      }
    }
  }
  EXPECT_GT(shared, 20u);
}

TEST(Simulator, GivesTheSameBoardWithEveryInstructionSet) {
  const ThreadPool pool(1);
  for (const std::size_t width : {70u, 256u})
    for (const bool periodic : {true, false})
      for (const Engine engine : {Engine::kAuto, Engine::kInterpreter}) {
        SimulatorOptions options;
        options.periodic = periodic;
        options.fire_rate = engine == Engine::kAuto ? 1.0 : 0.6;
        options.engine = engine;
        Board expected(11, width, 1);
        expected.randomize(2);
        const Board start = expected;
        for (std::uint64_t s = 0; s < 2; ++s) expected = plain_step(life_cell(), expected, options, s);
        for_each_target([&] {
          Board board = start;
          Simulator(life_cell(), 11, width, options).run(board, 2, pool);
          EXPECT_TRUE(board == expected) << width << " periodic " << periodic;
        });
      }
}

TEST(Simulator, GivesTheSameBoardForAnyNumberOfThreads) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  for (const double rate : {1.0, 0.6})
    for (const bool periodic : {true, false})
      for (const std::size_t width : {1000u, 1024u}) {
        SimulatorOptions options;
        options.fire_rate = rate;
        options.periodic = periodic;
        options.random_reset = 10;
        std::string hash;
        for (const auto& [engine, bits] : engines())
          for (const int threads : {1, 2, 3, 5, 8, 16}) {
            options.engine = engine;
            options.word_bits = bits;
            const ThreadPool pool(threads);
            Board board(700, width, 1);
            board.randomize(5);
            Simulator(life_cell(), 700, width, options).run(board, 10, pool);
            if (hash.empty()) hash = board.hash();
            EXPECT_EQ(board.hash(), hash) << threads << " threads, " << bits << " bits";
          }
      }
  unsetenv("ESPALIER_OVERSUBSCRIBE");
}

TEST(Simulator, ARunMayBeCutInPieces) {
  SimulatorOptions options;
  options.fire_rate = 0.6;
  options.random_reset = 4;
  const ThreadPool pool(1);
  Board whole(30, 50, 1), pieces(30, 50, 1);
  whole.randomize(1);
  pieces.randomize(1);
  Simulator(life_cell(), 30, 50, options).run(whole, 9, pool);
  Simulator simulator(life_cell(), 30, 50, options);
  simulator.run(pieces, 4, pool);
  EXPECT_EQ(simulator.step(), 4u);
  simulator.run(pieces, 5, pool);
  EXPECT_TRUE(whole == pieces);
}

TEST(Simulator, HoldsARectangleDeadWhileItIsAsked) {
  Netlist always = empty_cell(1);  // every cell becomes 1
  always.add_output("next0", always.add_constant(true));
  SimulatorOptions options;
  options.dead = {{2, 60, 3, 10, 1, 3}};
  const ThreadPool pool(1);
  Board board(8, 100, 1);
  Simulator simulator(always, 8, 100, options);
  simulator.run(board, 1, pool);
  EXPECT_EQ(board.count(0), 800u);
  simulator.run(board, 1, pool);
  EXPECT_EQ(board.count(0), 770u);
  for (std::size_t y = 0; y < 8; ++y)
    for (std::size_t x = 0; x < 100; ++x) EXPECT_EQ(board.get(y, x, 0), !(y >= 2 && y < 5 && x >= 60 && x < 70));
  simulator.run(board, 1, pool);
  EXPECT_EQ(board.count(0), 770u);
  simulator.run(board, 1, pool);
  EXPECT_EQ(board.count(0), 800u);
}

TEST(Simulator, ResetsARandomSquareEveryStep) {
  Netlist always = empty_cell(2);
  const Net one = always.add_constant(true);
  always.add_output("next0", one);
  always.add_output("next1", one);
  SimulatorOptions options;
  options.random_reset = 10;
  options.seed = 4;
  const ThreadPool pool(1);
  Board board(64, 64, 2);
  Simulator simulator(always, 64, 64, options);
  std::size_t moved = 0;
  DeadRectangle before{};
  for (std::uint64_t s = 0; s < 20; ++s) {
    simulator.run(board, 1, pool);
    EXPECT_EQ(board.count(0), 64u * 64 - 100);
    EXPECT_EQ(board.count(1), 64u * 64 - 100);
    const DeadRectangle now = Simulator::random_square(4, s, 10, 64, 64);
    EXPECT_FALSE(board.get(now.top, now.left, 0));
    EXPECT_FALSE(board.get(now.top + 9, now.left + 9, 1));
    moved += now.top != before.top || now.left != before.left;
    before = now;
  }
  EXPECT_GT(moved, 15u);
}

TEST(Board, RefusesWhatIsOutside) {
  EXPECT_THROW(Board(0, 1, 1), Error);
  EXPECT_THROW(Board(1, 0, 1), Error);
  EXPECT_THROW(Board(1, 1, 0), Error);
  EXPECT_THROW(Board(std::size_t{1} << 63, 2, 1), Error);
  EXPECT_THROW(Board(2, ~std::size_t{0}, 1), Error);
  Board board(3, 70, 2);
  EXPECT_THROW(board.get(3, 0, 0), Error);
  EXPECT_THROW(board.get(0, 70, 0), Error);
  EXPECT_THROW(board.get(0, 0, 2), Error);
  EXPECT_THROW(board.set(0, 0, -1, true), Error);
  EXPECT_THROW(board.row(3, 0), Error);
  EXPECT_THROW(board.count(2), Error);
  board.randomize(1);
  const Board before = board;
  board.clear_rectangle(3, 0, 10, 10);
  board.clear_rectangle(~std::size_t{0}, ~std::size_t{0}, ~std::size_t{0}, ~std::size_t{0});
  EXPECT_TRUE(board == before);
  board.clear_rectangle(0, 0, ~std::size_t{0}, ~std::size_t{0});
  EXPECT_EQ(board.count(0) + board.count(1), 0u);
}

TEST(Simulator, RefusesWhatIsNoCellOrNoBoard) {
  Netlist disordered = life_cell();
  disordered.gates[2].a = disordered.net_of_gate(5);
  EXPECT_THROW(Simulator(disordered, 4, 4), Error);
  disordered.gates[2].a = 1'000'000;
  EXPECT_THROW(Simulator(disordered, 4, 4), Error);
  EXPECT_THROW(Simulator(test::random_netlist(1, 8, 10, 1), 4, 4), Error);
  EXPECT_THROW(Simulator(life_cell(), 0, 4), Error);
  EXPECT_THROW(Simulator(life_cell(), std::size_t{1} << 50, std::size_t{1} << 50), Error);
  SimulatorOptions bad;
  bad.fire_rate = 1.5;
  EXPECT_THROW(Simulator(life_cell(), 4, 4, bad), Error);
  bad.fire_rate = std::nan("");
  EXPECT_THROW(Simulator(life_cell(), 4, 4, bad), Error);
  bad.fire_rate = 1;
  bad.word_bits = 100;
  EXPECT_THROW(Simulator(life_cell(), 4, 4, bad), Error);
  Board wrong(4, 5, 1);
  const ThreadPool pool(1);
  EXPECT_THROW(Simulator(life_cell(), 4, 4).run(wrong, 1, pool), Error);
}

}  // namespace
}  // namespace espalier
