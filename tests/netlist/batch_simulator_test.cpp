#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/simulator.hpp"
#include "logic/each_target.hpp"
#include "netlist/circuits.hpp"
#include "netlist/sim_engine.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using Engine = SimulatorEngine;

BoardBatch random_boards(std::size_t boards, std::size_t height, std::size_t width, int channels, std::uint64_t seed) {
  BoardBatch batch(boards, height, width, channels);
  const Random random(seed, Purpose::kData, 4);
  std::uint64_t draw = 0;
  for (int c = 0; c < channels; ++c)
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        for (std::size_t w = 0; w < batch.words(); ++w) batch.set_word(w, y, x, c, random.bits64(draw++));
  return batch;
}

// Every cell of every board by itself, every gate in order: the meaning of a step.
BoardBatch plain_step(const Netlist& cell, const BoardBatch& now, bool periodic, const BoardBatch* fire, int step) {
  const std::size_t H = now.height(), W = now.width();
  const int C = now.channels();
  BoardBatch next = now;
  for (std::size_t b = 0; b < now.boards(); ++b)
    for (std::size_t y = 0; y < H; ++y)
      for (std::size_t x = 0; x < W; ++x) {
        if (fire && !fire->get(b, y, x, step)) continue;
        std::vector<bool> patch(static_cast<std::size_t>(9 * C));
        for (std::size_t p = 0; p < 9; ++p) {
          const std::size_t yy = y + p / 3, xx = x + p % 3;  // one too many
          if (!periodic && (yy == 0 || yy > H || xx == 0 || xx > W)) continue;
          for (int c = 0; c < C; ++c)
            patch[p * static_cast<std::size_t>(C) + static_cast<std::size_t>(c)] =
                now.get(b, (yy + H - 1) % H, (xx + W - 1) % W, c);
        }
        const std::vector<bool> values = evaluate(cell, patch);
        for (int c = 0; c < C; ++c) next.set(b, y, x, c, values[static_cast<std::size_t>(c)]);
      }
  return next;
}

std::vector<std::pair<Engine, int>> engines() {
  std::vector<std::pair<Engine, int>> all{{Engine::kAuto, 0}, {Engine::kInterpreter, 0}};
  for (int bits = 256; bits <= widest_word(); bits *= 2) all.emplace_back(Engine::kNative, bits);
  return all;
}

TEST(BatchSimulator, EqualsThePlainEvaluationForEverySizeBoundaryAndEngine) {
  struct Size {
    std::size_t boards, height, width;
  };
  const Size sizes[] = {{1, 1, 1}, {3, 1, 5}, {64, 5, 1}, {65, 3, 3}, {200, 4, 4}, {130, 7, 6}, {2, 16, 16}};
  const Netlist cells[] = {life_cell(), test::parity_cell(3), test::random_netlist(7, 18, 90, 2, 40)};
  const ThreadPool pool(1);
  constexpr int kSteps = 3;
  for (const Netlist& cell : cells)
    for (const auto& [boards, height, width] : sizes)
      for (const bool periodic : {true, false})
        for (const bool fires : {false, true}) {
          const BoardBatch start = random_boards(boards, height, width, cell_channels(cell), boards + height);
          const BoardBatch fire = draw_fire(start, kSteps, 0.6, 5, 1);
          BoardBatch expected = start;
          for (int t = 0; t < kSteps; ++t) expected = plain_step(cell, expected, periodic, fires ? &fire : nullptr, t);
          for (const auto& [engine, bits] : engines()) {
            BoardBatch got = start;
            BatchSimulator(cell, {periodic, fires ? &fire : nullptr, engine, bits}).run(got, kSteps, pool);
            ASSERT_TRUE(got == expected) << cell.name << " " << boards << " of " << height << "x" << width << " bits "
                                         << bits << " periodic " << periodic << " fires " << fires;
          }
        }
}

// More live values than registers, for an odd and an even number of steps, on every width of the interpreter.
TEST(BatchSimulator, LargeRandomCellsAgreeWithTheSimulatorOfOneBoard) {
  const ThreadPool pool(1);
  for (const int channels : {1, 4, 9}) {
    const Netlist cell = test::layered_netlist(static_cast<std::uint64_t>(channels), 9 * channels, 120, 3, channels);
    const BoardBatch start = random_boards(70, 9, 13, channels, 3);
    for (const bool periodic : {true, false})
      for (const std::uint64_t steps : {0u, 1u, 4u}) {
        Simulator one(cell, 9, 13, {.periodic = periodic});
        Board board = start.board(66);
        one.run(board, steps, pool);
        for (const auto& [engine, bits] : engines()) {
          BoardBatch batch = start;
          BatchSimulator(cell, {periodic, nullptr, engine, bits}).run(batch, steps, pool);
          EXPECT_TRUE(batch.board(66) == board) << channels << " channels, " << steps << " steps, " << bits;
        }
      }
  }
}

TEST(BatchSimulator, TheInterpreterGivesTheSameBitsOnEveryTargetAndWidth) {
  const Netlist cell = test::layered_netlist(5, 18, 60, 4, 2);
  const BoardBatch start = random_boards(100, 6, 7, 2, 9);
  BoardBatch expected = start;
  for (int t = 0; t < 2; ++t) expected = plain_step(cell, expected, true, nullptr, t);
  for_each_target([&] {
    for (int bits = 64; bits <= widest_word(); bits *= 2) {
      BoardBatch got = start;
      BatchSimulator(cell, {true, nullptr, Engine::kInterpreter, bits}).run(got, 2, ThreadPool(1));
      EXPECT_TRUE(got == expected) << bits;
    }
  });
}

TEST(BatchSimulator, GivesTheSameBitsForAnyNumberOfThreads) {
  const Oversubscribe many;
  const Netlist cell = test::layered_netlist(2, 72, 300, 3, 8);
  const BoardBatch start = random_boards(1000, 16, 16, 8, 1);
  std::string hash;
  for (const int threads : kThreadCounts) {
    BoardBatch boards = start;
    BatchSimulator(cell, {.periodic = false}).run(boards, 20, ThreadPool(threads));
    if (hash.empty()) hash = boards.hash();
    EXPECT_EQ(boards.hash(), hash) << threads;
  }
  EXPECT_NE(hash, start.hash());
}

// One simulator, boards of several shapes, few steps and then so many that machine code pays.
TEST(BatchSimulator, TakesBoardsOfAnyShapeOneAfterTheOther) {
  const Netlist cell = life_cell();
  BatchSimulator simulator(cell);
  const ThreadPool pool(1);
  for (const std::size_t size : {5u, 3u, 3u, 12u, 12u})
    for (const std::uint64_t steps : {1u, 2000u}) {
      BoardBatch boards = random_boards(10 * size, size, size + 1, 1, size);
      Board one = boards.board(7);
      simulator.run(boards, steps, pool);
      Simulator(cell, size, size + 1).run(one, steps, pool);
      EXPECT_TRUE(boards.board(7) == one) << size << " " << steps;
    }
}

// The numbers that validation has always used: element (step, cell, board) of the stream.
TEST(DrawFire, IsOneUniformNumberForEachStepCellAndBoard) {
  const BoardBatch boards(70, 3, 4, 2);
  const BoardBatch fire = draw_fire(boards, 5, 0.6, 12, 0xffffffff);
  EXPECT_EQ(fire.channels(), 5);
  const Random random(12, Purpose::kFire, 0xffffffff);
  std::size_t ones = 0;
  for (std::size_t t = 0; t < 5; ++t)
    for (std::size_t cell = 0; cell < 12; ++cell)
      for (std::size_t b = 0; b < 70; ++b) {
        const bool expected = random.uniform((t * 12 + cell) * 70 + b) < 0.6;
        ASSERT_EQ(fire.get(b, cell / 4, cell % 4, static_cast<int>(t)), expected);
        ones += expected;
      }
  EXPECT_NEAR(static_cast<double>(ones) / (5 * 12 * 70), 0.6, 0.05);
  EXPECT_THROW(draw_fire(boards, 5, 1.1, 1, 0), Error);
  EXPECT_THROW(draw_fire(boards, 0, 0.5, 1, 0), Error);
}

TEST(BatchSimulator, RefusesWhatDoesNotFit) {
  const ThreadPool pool(1);
  EXPECT_THROW(BatchSimulator(test::random_netlist(1, 8, 10, 1)), Error);
  Netlist disordered = life_cell();
  disordered.gates[3].a = disordered.net_of_gate(9);
  EXPECT_THROW(BatchSimulator{disordered}, Error);
  BoardBatch boards(10, 4, 4, 1), other(10, 4, 4, 2);
  EXPECT_THROW(BatchSimulator(life_cell()).run(other, 1, pool), Error);
  EXPECT_THROW(BatchSimulator(life_cell(), {.word_bits = 100}).run(boards, 1, pool), Error);
  EXPECT_THROW(BatchSimulator(life_cell(), {.engine = Engine::kNative, .word_bits = 128}).run(boards, 1, pool), Error);
  const BoardBatch fire(10, 4, 4, 3), fewer(9, 4, 4, 3), narrow(10, 4, 3, 3);
  EXPECT_NO_THROW(BatchSimulator(life_cell(), {.fire = &fire}).run(boards, 3, pool));
  EXPECT_THROW(BatchSimulator(life_cell(), {.fire = &fire}).run(boards, 4, pool), Error);
  EXPECT_THROW(BatchSimulator(life_cell(), {.fire = &fewer}).run(boards, 3, pool), Error);
  EXPECT_THROW(BatchSimulator(life_cell(), {.fire = &narrow}).run(boards, 3, pool), Error);
}

TEST(BoardBatch, HoldsBoardsOneByOneAndWordByWord) {
  BoardBatch batch(100, 3, 5, 2);
  Board board(3, 5, 2);
  board.randomize(4);
  batch.set_board(99, board);
  EXPECT_TRUE(batch.board(99) == board);
  EXPECT_EQ(batch.board(98).count(0), 0u);
  EXPECT_EQ(batch.word(1, 2, 4, 1), std::uint64_t{board.get(2, 4, 1)} << 35);
  batch.set_word(1, 0, 0, 0, ~std::uint64_t{0});
  EXPECT_EQ(batch.word(1, 0, 0, 0), batch.lanes(1));
  EXPECT_EQ(batch.lanes(1), (std::uint64_t{1} << 36) - 1);
  BoardBatch wanted(100, 3, 5, 1);
  for (std::size_t b = 64; b < 100; ++b) wanted.set(b, 0, 0, 0, true);
  wanted.set(3, 1, 1, 0, true);
  EXPECT_EQ(count_differences(batch, wanted), 1 + board.count(0) - board.get(0, 0, 0));
}

TEST(BoardBatch, RefusesWhatIsOutside) {
  EXPECT_THROW(BoardBatch(0, 1, 1, 1), Error);
  EXPECT_THROW(BoardBatch(1, 0, 1, 1), Error);
  EXPECT_THROW(BoardBatch(1, 1, 0, 1), Error);
  EXPECT_THROW(BoardBatch(1, 1, 1, 0), Error);
  EXPECT_THROW(BoardBatch(std::size_t{1} << 40, 8, 8, 1), Error);
  EXPECT_THROW(BoardBatch(1, std::size_t{1} << 50, std::size_t{1} << 50, 1), Error);
  BoardBatch batch(70, 3, 4, 2);
  EXPECT_THROW(batch.get(70, 0, 0, 0), Error);
  EXPECT_THROW(batch.get(0, 3, 0, 0), Error);
  EXPECT_THROW(batch.set(0, 0, 4, 0, true), Error);
  EXPECT_THROW(batch.set(0, 0, 0, 2, true), Error);
  EXPECT_THROW(batch.word(2, 0, 0, 0), Error);
  EXPECT_THROW(batch.set_word(0, 0, 0, -1, 1), Error);
  EXPECT_THROW(batch.set_board(0, Board(3, 4, 1)), Error);
  EXPECT_THROW(batch.board(70), Error);
  EXPECT_THROW(count_differences(batch, BoardBatch(70, 3, 4, 3)), Error);
  EXPECT_THROW(count_differences(batch, BoardBatch(71, 3, 4, 2)), Error);
}

// Inputs that stay where they are: a constant of each lane, such as which circuit a lane belongs to.
TEST(SimEngine, PlacesThatStayAreReadAgainForEveryBlock) {
  Netlist n;
  const Net x = n.add_input("x"), lane = n.add_input("lane");
  n.add_output("y", n.add_gate(Gate::kXor, x, lane));
  const SimProgram program = sim_program(n);
  constexpr std::size_t kWords = 200;
  AlignedVector<std::uint64_t> in(kWords), out(kWords), fixed(SimEngine::kBlockWords);
  for (std::size_t w = 0; w < kWords; ++w) in[w] = w * 0x9E3779B97F4A7C15u;
  for (std::size_t w = 0; w < fixed.size(); ++w) fixed[w] = w % 2 ? 0xF0F0 : 0x1234567;
  const SimPlaces places{{{SimPlace::kBoard, 0}, {SimPlace::kScratch, 0, false}}, {{SimPlace::kNext, 0}}, 512};
  std::vector<std::unique_ptr<SimEngine>> all;
  all.push_back(make_interpreter(program, places, 0));
  for (const int bits : {256, 512})
    if (auto native = make_native(program, places, bits)) all.push_back(std::move(native));
  for (const auto& engine : all) {
    std::fill(out.begin(), out.end(), 0);
    engine->run({reinterpret_cast<std::uint8_t*>(fixed.data()), reinterpret_cast<const std::uint8_t*>(in.data()),
                 reinterpret_cast<std::uint8_t*>(out.data()), nullptr},
                kWords);
    for (std::size_t w = 0; w < kWords; ++w) ASSERT_EQ(out[w], in[w] ^ fixed[w % 2]) << engine->word_bits();
  }
}

}  // namespace
}  // namespace espalier
