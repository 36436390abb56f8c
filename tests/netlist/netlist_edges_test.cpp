// What netlists and their builders refuse.
#include <gtest/gtest.h>

#include <cmath>

#include "espalier/error.hpp"
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"

namespace espalier {
namespace {

TEST(NetlistEdges, OnlyGatesHaveAGate) {
  Netlist n;
  n.add_input("a");
  n.add_input("b");
  const Net both = n.add_gate(Gate::kAnd, 0, 1);
  EXPECT_EQ(n.gate_of_net(both).gate, Gate::kAnd);
  EXPECT_THROW(n.gate_of_net(0), Error);
  EXPECT_THROW(n.gate_of_net(1), Error);
  EXPECT_THROW(n.gate_of_net(3), Error);
  EXPECT_THROW(n.gate_of_net(kNoNet), Error);
  EXPECT_THROW(Netlist().gate_of_net(0), Error);
}

TEST(NetlistEdges, ABuilderRefusesNetsThatItDoesNotHave) {
  CleanBuilder builder(2);
  EXPECT_THROW(builder.add(Gate::kAnd, 0, 2), Error);
  EXPECT_THROW(builder.add(Gate::kAnd, 7, 0), Error);
  EXPECT_THROW(builder.add(static_cast<Gate>(16), 0, 1), Error);
  EXPECT_EQ(builder.add(Gate::kA, 0, 99), 0u);  // what a gate ignores may be anything
  const Net both = builder.add(Gate::kAnd, 0, 1);
  EXPECT_THROW(builder.finish({"n", {"a"}, {}, {{"y", both}}}), Error);                         // an input too few
  EXPECT_THROW(builder.finish({"n", {"a", "b"}, {}, {{"y", both + 1}}}), Error);                // unknown
  EXPECT_THROW(builder.finish({"n", {"a", "b"}, {{Gate::kAnd, 0, 1}}, {{"y", both}}}), Error);  // has gates
  EXPECT_EQ(builder.finish({"n", {"a", "b"}, {}, {{"y", both}, {"z", CleanBuilder::kTrue}}}).gates.size(), 2u);
}

TEST(NetlistEdges, RatesThatAreNoNumberDrawNothing) {
  const BoardBatch boards(3, 4, 5, 1);
  for (const double bad : {std::nan(""), -0.5, 1.5}) EXPECT_THROW(draw_fire(boards, 2, bad, 1, 0), Error) << bad;
  EXPECT_THROW(draw_fire(boards, -1, 0.5, 1, 0), Error);
}

TEST(NetlistEdges, WordsOfABatchEndWithItsBoards) {
  BoardBatch boards(65, 2, 2, 1);
  boards.set_word(1, 0, 0, 0, 1);
  EXPECT_EQ(boards.word(1, 0, 0, 0), 1u);
  // 64 times the last two wraps around to a board that there is.
  for (const std::size_t word : {std::size_t{2}, std::size_t{1} << 58, (std::size_t{1} << 58) + 1}) {
    EXPECT_THROW(boards.word(word, 0, 0, 0), Error) << word;
    EXPECT_THROW(boards.set_word(word, 0, 0, 0, 1), Error) << word;
  }
}

TEST(NetlistEdges, ASimulatorKnowsItsRanks) {
  Netlist cell;
  for (int i = 0; i < 9; ++i) cell.add_input("i" + std::to_string(i));
  cell.add_output("o", 4);
  const Simulator simulator(cell, 3, 5);
  EXPECT_EQ(simulator.rows_of(0), 3u);
  EXPECT_THROW(simulator.rows_of(1), Error);
  EXPECT_THROW(simulator.rows_of(-1), Error);
}

}  // namespace
}  // namespace espalier
