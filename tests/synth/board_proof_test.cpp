// Theorems about whole boards, held to all starts tried one by one, to abc, and to an independent checker of proofs.
#include "synth/board_proof.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "netlist/cell.hpp"
#include "netlist/circuits.hpp"
#include "places.hpp"
#include "synth/tools.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using Verdict = BoardProof::Verdict;
using test::Ran;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What a checkerboard with zeros around it comes down to once it is trained: channel 0 is shown, channel 1 remembers
// it.
Netlist checkerboard_cell() {
  Netlist n = empty_cell(2);
  const Net corners = n.add_gate(Gate::kOr, patch_net(0, 1, 2), patch_net(8, 1, 2));
  n.add_output("next0", n.add_gate(Gate::kAOrNotB, patch_net(2, 1, 2), corners));
  n.add_output("next1", patch_net(2, 0, 2));
  return n;
}

Board checkerboard(int height, int width) {
  Board board(height, width, 1);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) board.set(y, x, 0, (y / 2 + x / 2) % 2 == 1);
  return board;
}

Netlist random_cell(std::uint64_t seed, int channels) {
  const Netlist any = test::random_netlist(seed, 9 * channels, 14, channels);
  Netlist cell = empty_cell(channels);
  cell.gates = any.gates;
  for (int c = 0; c < channels; ++c) cell.add_output("next" + std::to_string(c), any.outputs[c].net);
  return cell;
}

Board board_of_bits(std::uint64_t bits, int height, int width, int channels) {
  Board board(height, width, channels);
  for (int i = 0; i < height * width * channels; ++i)
    board.set(i / width % height, i % width, i / (width * height), i < 64 && (bits >> i & 1));
  return board;
}

bool shows(const Board& board, const Board& target) {
  for (int c = 0; c < target.channels(); ++c)
    for (std::size_t y = 0; y < target.height(); ++y)
      for (std::size_t x = 0; x < target.width(); ++x)
        if (board.get(y, x, c) != target.get(y, x, c)) return false;
  return true;
}

Board stepped(const Netlist& cell, bool periodic, Board board, std::uint64_t steps) {
  Simulator(cell, board.height(), board.width(), {.periodic = periodic}).run(board, steps, ThreadPool(1));
  return board;
}

// The first channel of a board.
Board shown(const Board& board) {
  Board part(board.height(), board.width(), 1);
  for (std::size_t y = 0; y < board.height(); ++y)
    for (std::size_t x = 0; x < board.width(); ++x) part.set(y, x, 0, board.get(y, x, 0));
  return part;
}

TEST(BoardProof, AnswersOnRandomCellsAreThoseOfAllStartsTriedOneByOne) {
  int proved = 0, refuted = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const int channels = 1 + static_cast<int>(seed % 2), height = 2, width = 3;
    const bool periodic = seed % 3 == 0;
    const Netlist cell = random_cell(seed, channels);
    const int steps = 1 + static_cast<int>(seed % 5);
    const Board target = shown(stepped(cell, periodic, Board(height, width, channels), 7));
    bool all = true;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (height * width * channels); ++bits)
      all = all && shows(stepped(cell, periodic, board_of_bits(bits, height, width, channels), steps), target);
    const BoardProof proof = BoardProver({cell, periodic, 1}).converges(target, steps);
    ASSERT_EQ(proof.verdict, all ? Verdict::kProved : Verdict::kRefuted) << seed << ": " << proof.how;
    ++(all ? proved : refuted);
    if (!all) {
      ASSERT_TRUE(proof.counter_example);
      EXPECT_FALSE(shows(stepped(cell, periodic, proof.counter_example->start, steps), target)) << seed;
    }
  }
  EXPECT_GE(proved, 5);  // else the test says nothing
  EXPECT_GE(refuted, 5);
}

TEST(BoardProof, WithoutSettlingAndSimulationTheSolverSaysTheSame) {
  TempFolder folder;
  BoardProofOptions recorded;  // with a proof to write nothing is settled: the solver decides
  recorded.proof_file = folder / "proof";
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Netlist cell = random_cell(seed, 2);
    const Board target = shown(stepped(cell, false, Board(3, 3, 2), 9));
    const BoardProof quick = BoardProver({cell, false, 1}).converges(target, 4);
    const BoardProof full = BoardProver({cell, false, 1}, recorded).converges(target, 4);
    ASSERT_EQ(quick.verdict, full.verdict) << seed << ": " << quick.how << "; " << full.how;
  }
}

TEST(BoardProof, ACheckerboardConvergesFromEveryStartOnLargeBoards) {
  for (const auto& [side, steps] : {std::pair{16, 20}, std::pair{32, 60}, std::pair{64, 80}}) {
    BoardProver prover({checkerboard_cell(), false, 1});
    EXPECT_EQ(prover.converges(checkerboard(side, side), steps).verdict, Verdict::kProved) << side;
    EXPECT_EQ(prover.converges(checkerboard(side, side), side - 2).verdict, Verdict::kRefuted) << side;
  }
}

// Two moments to a round on a board of four cells: every schedule and every start, one by one.
TEST(BoardProof, AsynchronousAnswersAreThoseOfAllSchedulesTriedOneByOne) {
  int proved = 0, refuted = 0;
  constexpr int kSide = 2, kRounds = 2, kRound = 2, kMoments = kRounds * kRound, kCells = kSide * kSide;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Netlist cell = random_cell(seed, 1);
    const Board target = stepped(cell, false, Board(kSide, kSide, 1), 6);
    // next[b]: all cells of board b updated
    std::array<unsigned, 1 << kCells> next{};
    for (unsigned b = 0; b < next.size(); ++b) {
      const Board after = stepped(cell, false, board_of_bits(b, kSide, kSide, 1), 1);
      for (int i = 0; i < kCells; ++i) next[b] |= unsigned{after.get(i / kSide, i % kSide, 0)} << i;
    }
    bool all = true;
    for (unsigned start = 0; start < next.size(); ++start)
      for (unsigned schedule = 0; schedule < 1u << (kCells * kMoments); ++schedule) {
        unsigned board = start;
        bool fair = true;
        for (int r = 0; r < kRounds; ++r)
          fair = fair && ((schedule >> (2 * r * kCells) | schedule >> ((2 * r + 1) * kCells)) & 15u) == 15u;
        if (!fair) continue;
        for (int m = 0; m < kMoments; ++m) {
          const unsigned fire = schedule >> (m * kCells) & 15u;
          board = (board & ~fire) | (next[board] & fire);
        }
        all = all && shows(board_of_bits(board, kSide, kSide, 1), target);
      }
    const BoardProof proof = BoardProver({cell, false, 1, kRound}).converges(target, kRounds);
    ASSERT_EQ(proof.verdict, all ? Verdict::kProved : Verdict::kRefuted) << seed << ": " << proof.how;
    if (!all) {
      EXPECT_EQ(proof.counter_example->fires.size(), static_cast<std::size_t>(kMoments));
    }
    ++(all ? proved : refuted);
  }
  EXPECT_GE(proved, 5);
  EXPECT_GE(refuted, 5);
}

// Two cells side by side, of two channels each, that wait for each other: next[own state][the neighbour's], the
// neighbour to the east and to the west. Six rounds of two moments always end at 0, rounds of three need not.
Netlist waiting_cell() {
  constexpr int kEast[4][4] = {{2, 0, 0, 1}, {0, 1, 0, 1}, {0, 2, 2, 1}, {2, 2, 3, 2}};
  constexpr int kWest[4][4] = {{2, 0, 0, 1}, {0, 0, 2, 3}, {0, 2, 2, 0}, {2, 2, 1, 2}};
  Netlist n = empty_cell(2);
  const auto is = [&](int place, int state) {
    constexpr Gate kBoth[] = {Gate::kNor, Gate::kAAndNotB, Gate::kNotAAndB, Gate::kAnd};
    return n.add_gate(kBoth[state], patch_net(place, 0, 2), patch_net(place, 1, 2));
  };
  Net next[2] = {n.add_constant(false), n.add_constant(false)};
  for (int west = 0; west < 4; ++west)
    for (int east = 0; east < 4; ++east)
      for (int own = 0; own < 4; ++own) {
        if (west && east) continue;
        const int after = west ? kWest[own][west] : kEast[own][east];
        const Net here = n.add_gate(Gate::kAnd, n.add_gate(Gate::kAnd, is(3, west), is(5, east)), is(4, own));
        for (int bit = 0; bit < 2; ++bit)
          if (after >> bit & 1) next[bit] = n.add_gate(Gate::kOr, next[bit], here);
      }
  n.add_output("next0", next[0]);
  n.add_output("next1", next[1]);
  return n;
}

TEST(BoardProof, WhatASearchThroughSchedulesProvesIsClaimedOfRoundsOfThatLengthAlone) {
  const Board target(1, 2, 1);
  const auto ask = [&](int round, const std::string& file) {
    BoardProofOptions options;
    options.proof_file = file;
    return BoardProver({waiting_cell(), false, 1, round}, options);
  };
  TempFolder folder;
  for (const std::string& file : {std::string(), folder / "proof"}) {
    const BoardProof two = ask(2, file).converges(target, 6), three = ask(3, file).converges(target, 6);
    EXPECT_EQ(two.verdict, Verdict::kWeaker) << two.how;
    EXPECT_EQ(two.moments, 2);
    EXPECT_THAT(two.weaker, HasSubstr("in a round of at most 2 moments"));
    EXPECT_THAT(two.weaker, Not(HasSubstr("ever after")));
    EXPECT_THAT(two.claim, AllOf(HasSubstr("in a round, the 1 x 2 board"), HasSubstr("ever after")));
    EXPECT_EQ(three.verdict, Verdict::kRefuted) << three.how;
    EXPECT_THAT(three.claim, HasSubstr("in a round, the 1 x 2 board"));
    // Damage that is the whole board is any start.
    const BoardProof healed = ask(2, file).heals(Board(1, 2, 2), target, 1, 2, 6);
    EXPECT_EQ(healed.verdict, Verdict::kWeaker) << healed.how;
    EXPECT_EQ(healed.moments, 2);
    EXPECT_THAT(healed.weaker, HasSubstr("of at most 2 moments"));
    EXPECT_THAT(healed.claim, Not(HasSubstr("moments")));
    EXPECT_EQ(ask(3, file).heals(Board(1, 2, 2), target, 1, 2, 6).verdict, Verdict::kRefuted);
  }
  // What settles does so however long a round is.
  const BoardProof settled = BoardProver({checkerboard_cell(), false, 1, 2}).converges(checkerboard(8, 8), 16);
  EXPECT_EQ(settled.verdict, Verdict::kProved) << settled.how;
  EXPECT_EQ(settled.moments, 0);
  EXPECT_THAT(settled.claim, HasSubstr("at least once in a round, the 8 x 8 board"));
  EXPECT_THAT(settled.claim, HasSubstr("ever after"));
}

TEST(BoardProof, WhatIsShownStaysOnEverySizeThatIsAMultipleOfTheTile) {
  BoardProver prover({checkerboard_cell(), false, 1});
  const BoardProof proof = prover.repeats_on_every_size(checkerboard, 4, 1, 3);
  EXPECT_EQ(proof.verdict, Verdict::kWeaker) << proof.how;
  EXPECT_THAT(proof.weaker, HasSubstr("multiples of 4"));
  EXPECT_THAT(proof.weaker, HasSubstr("2 times in a row"));  // what channel 1 remembers may be anything at first
  EXPECT_THAT(proof.claim, AllOf(HasSubstr("of any size"), Not(HasSubstr("in a row"))));
  // The claim itself is broken by a board that shows the target, which the circuit then leaves.
  const BoardProof twice = prover.repeats(checkerboard(12, 20), 1, 3);
  EXPECT_EQ(twice.verdict, Verdict::kWeaker);
  EXPECT_THAT(twice.weaker, HasSubstr("12 x 20 board that shows the target 2 times in a row"));
  EXPECT_THAT(twice.claim, HasSubstr("12 x 20 board that shows the target shows it ever after"));
  ASSERT_TRUE(twice.counter_example);
  EXPECT_TRUE(shows(twice.counter_example->start, checkerboard(12, 20)));
  EXPECT_FALSE(shows(stepped(checkerboard_cell(), false, twice.counter_example->start, 1), checkerboard(12, 20)));
  // Without anything to remember, the claim itself is proved.
  const Netlist still = [] {
    Netlist n = empty_cell(1);
    n.add_output("next0", patch_net(4, 0, 1));
    return n;
  }();
  EXPECT_EQ(BoardProver({still, false, 1}).repeats_on_every_size(checkerboard, 4, 1, 3).verdict, Verdict::kProved);
  EXPECT_EQ(prover.repeats(checkerboard(12, 20), 1, 1).verdict, Verdict::kRefuted);
  EXPECT_EQ(prover.repeats(checkerboard(12, 20), 2, 1).verdict, Verdict::kProved);
  EXPECT_EQ(prover.repeats(checkerboard(13, 13), 1, 3).verdict, Verdict::kRefuted);
}

TEST(BoardProof, OneStartIsFollowedUntilItComesBack) {
  BoardProver prover({life_cell(), true, 1});
  Board blinker(6, 6, 1);
  for (int i = 1; i < 4; ++i) blinker.set(2, i, 0, true);
  const Board turned = stepped(life_cell(), true, blinker, 1);
  EXPECT_EQ(prover.repeats_from(blinker, blinker, 2, 2).verdict, Verdict::kProved);
  EXPECT_EQ(prover.repeats_from(blinker, turned, 3, 2).verdict, Verdict::kProved);
  const BoardProof refuted = prover.repeats_from(blinker, blinker, 2, 1);
  EXPECT_EQ(refuted.verdict, Verdict::kRefuted);
  EXPECT_EQ(refuted.counter_example->steps, 3u);
}

TEST(BoardProof, DamageIsRepairedExactlyWhenEveryDamageTriedIs) {
  const Netlist cell = checkerboard_cell();
  const Board target = checkerboard(8, 8), settled = stepped(cell, false, Board(8, 8, 2), 40);
  int healed = 0, broken = 0;
  for (int steps = 1; steps <= 8; ++steps) {
    bool all = true;
    for (int top = 0; top + 1 < 8; ++top)
      for (int left = 0; left < 8; ++left)
        for (unsigned values = 0; values < 16; ++values) {  // 2 x 1 cells of 2 channels
          Board board = settled;
          for (int i = 0; i < 4; ++i) board.set(top + i / 2, left, i % 2, values >> i & 1);
          all = all && shows(stepped(cell, false, board, steps), target);
        }
    const BoardProof proof = BoardProver({cell, false, 1}).heals(settled, target, 2, 1, steps);
    ASSERT_EQ(proof.verdict, all ? Verdict::kProved : Verdict::kRefuted) << steps << ": " << proof.how;
    ++(all ? healed : broken);
  }
  EXPECT_GT(healed, 0);
  EXPECT_GT(broken, 0);
  EXPECT_THROW(BoardProver({cell, false, 1}).heals(Board(8, 8, 2), target, 2, 2, 3), Error);
}

TEST(BoardProof, ACellIsARuleOrAPatchShowsThatItIsNot) {
  const RuleTable life = parse_life_rule("B3/S23"), highlife = parse_life_rule("B36/S23");
  EXPECT_EQ(prove_equals(test::clumsy_life(), life, "B3/S23").verdict, Verdict::kProved);
  const BoardProof no = prove_equals(test::clumsy_life(), highlife, "B36/S23");
  EXPECT_EQ(no.verdict, Verdict::kRefuted);
  EXPECT_EQ(no.counter_example->start.count(0) - no.counter_example->start.get(2, 2, 0), 6u);
  for (const bool periodic : {false, true})  // there is so much room around the patch that the boundary does not matter
    EXPECT_EQ(stepped(test::clumsy_life(), periodic, no.counter_example->start, 1), no.counter_example->end);
  // A second channel that is ignored, and one that is not but stays 0.
  const auto with_channel = [](Gate gate) {
    const Netlist one = life_cell();
    Netlist two = empty_cell(2);
    std::vector<Net> now;
    for (int p = 0; p < kPatch; ++p) now.push_back(patch_net(p, 0, 2));
    for (const auto& [type, a, b] : one.gates) now.push_back(two.add_gate(type, now[a], now[b]));
    const Net own = two.add_gate(gate, now[one.outputs[0].net], patch_net(4, 1, 2));
    two.add_output("next0", own);
    two.add_output("next1", patch_net(4, 1, 2));
    return two;
  };
  EXPECT_THAT(prove_equals(with_channel(Gate::kA), life, "B3/S23").claim, HasSubstr("whatever"));
  const BoardProof quiet = prove_equals(with_channel(Gate::kXor), life, "B3/S23");
  EXPECT_EQ(quiet.verdict, Verdict::kWeaker);
  EXPECT_THAT(quiet.weaker, HasSubstr("while its other channels are 0"));
  EXPECT_THAT(quiet.claim, HasSubstr("whatever its other channels are"));
  EXPECT_GT(quiet.counter_example->start.count(1), 0u);
  const BoardProof never = prove_equals(with_channel(Gate::kAOrNotB), life, "B3/S23");
  EXPECT_EQ(never.verdict, Verdict::kRefuted);
  EXPECT_EQ(never.counter_example->start.count(1), 0u);  // wrong even then
}

TEST(BoardProof, ProofsPassACheckerThatSharesNothingWithTheSolver) {
  TempFolder folder;
  const std::string proof = folder / "proof", check = "python3 " + test::source_dir() + "/tests/python/check_drat.py ";
  BoardProofOptions options;
  options.proof_file = proof;
  BoardProver prover({checkerboard_cell(), false, 1}, options);
  const Board settled = stepped(checkerboard_cell(), false, Board(8, 8, 2), 40);
  const std::vector<std::function<BoardProof()>> claims{
      [&] { return prover.converges(checkerboard(8, 8), 8); }, [&] { return prover.repeats(checkerboard(8, 8), 1, 2); },
      [&] { return prover.heals(settled, checkerboard(8, 8), 3, 2, 8); }};
  for (const auto& claim : claims) {
    const BoardProof said = claim();
    ASSERT_EQ(said.verdict, said.weaker.empty() ? Verdict::kProved : Verdict::kWeaker);
    const Ran ran = test::run(check + proof + ".cnf " + proof);
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("VERIFIED"));
  }
  // Without its steps it is no proof.
  ASSERT_EQ(claims[0]().verdict, Verdict::kProved);
  test::write_file(proof, "");
  EXPECT_NE(test::run(check + proof + ".cnf " + proof).code, 0);
  // A claim that fails leaves no proof behind.
  std::filesystem::remove(proof);
  EXPECT_EQ(prover.converges(checkerboard(8, 8), 6).verdict, Verdict::kRefuted);
  EXPECT_FALSE(std::filesystem::exists(proof));
  EXPECT_FALSE(std::filesystem::exists(proof + ".part"));
}

TEST(BoardProof, AbcJudgesTheExportedBoard) {
  TempFolder folder;
  BoardProver prover({checkerboard_cell(), false, 1});
  const Board start = stepped(checkerboard_cell(), false, board_of_bits(0x123456789abcdef, 8, 8, 2), 2);
  const auto judge = [&](int steps, const Board* from, bool binary, const std::string& how) {
    const std::string file = folder / (binary ? "board.aig" : "board.aag");
    test::write_file(file, prover.export_aiger(checkerboard(8, 8), steps, from, binary));
    const std::string read = binary ? "read_aiger " + file : "read_aiger " + (folder / "made.aig");
    if (!binary) {
      const Ran made =
          test::run("yosys -q -p 'read_aiger " + file + "; write_aiger -zinit " + (folder / "made.aig") + "'");
      EXPECT_EQ(made.code, 0) << made.output;
    }
    return test::run("berkeley-abc -c '" + read + "; " + how + "'").output;
  };
  for (const bool binary : {true, false}) {
    EXPECT_THAT(judge(8, nullptr, binary, "pdr"), HasSubstr("Property proved"));
    EXPECT_THAT(judge(7, nullptr, binary, "bmc3 -F 12"), HasSubstr("asserted in frame 7"));
  }
  int in_time = 0;
  while (!shows(stepped(checkerboard_cell(), false, start, in_time), checkerboard(8, 8))) ++in_time;
  ASSERT_GT(in_time, 0);
  EXPECT_THAT(judge(8, &start, true, "pdr"), HasSubstr("Property proved"));
  EXPECT_THAT(judge(in_time - 1, &start, true, "bmc3 -F 12"),
              HasSubstr("asserted in frame " + std::to_string(in_time - 1)));
}

TEST(BoardProof, SaysUndecidedRatherThanGuessWhenTimeRunsOut) {
  BoardProofOptions options;
  options.seconds = 1e-9;
  const BoardProof proof = BoardProver({checkerboard_cell(), false, 1}, options).converges(checkerboard(64, 64), 64);
  EXPECT_EQ(proof.verdict, Verdict::kUndecided);
  EXPECT_THAT(proof.how, HasSubstr("in time"));
}

}  // namespace
}  // namespace espalier
