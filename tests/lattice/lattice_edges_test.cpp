// What lattice models, their boards and steppers refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"

namespace espalier {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Pairs {
  Automaton automaton{{.channels = 1, .kernels = 2, .perceive = {8, 4, 2}, .update = {4, 2, 1}}, 1};
  Parameters parameters;
  RolloutOptions rollout{.batch = 1, .height = 4, .width = 4, .steps = 1};
  BoardPairs boards{"pairs", 2, 4, 4, 1, 1, std::vector<std::uint8_t>(32), std::vector<std::uint8_t>(32)};
  Pairs() { automaton.add_parameters(parameters, 2); }
  LatticeModel model() const { return {automaton, rollout, boards, parameters.values(), 1}; }
};

TEST(LatticeEdges, BoardStatesRefuseSizesAndCellsThatAreNone) {
  EXPECT_THROW(BoardState(-1, 4, 4), Error);
  EXPECT_THROW(BoardState(1, -4, 4), Error);
  EXPECT_THROW(BoardState(1, 4, -4), Error);
  EXPECT_THROW(BoardState(2'000'000'000, 2'000'000'000, 2'000'000'000), Error);
  BoardState state(2, 3, 4);
  EXPECT_EQ(state.values.size(), 24u);
  const int bad[][3] = {{2, 0, 0}, {-1, 0, 0}, {0, 3, 0}, {0, -1, 0}, {0, 0, 4}, {0, 0, -1}};
  for (const auto& [c, y, x] : bad) {
    EXPECT_THROW(state.at(c, y, x), Error) << c << y << x;
    EXPECT_THROW(std::as_const(state).at(c, y, x), Error) << c << y << x;
  }
  state.at(1, 2, 3) = 1;
  EXPECT_TRUE(board_of(state).get(2, 3, 1));
  state.values.resize(5);
  EXPECT_THROW(board_of(state), Error);
  EXPECT_THROW(state.at(1, 2, 3), Error);
}

TEST(LatticeEdges, ModelsAreMadeOfAGoalOfWeightsAndOfBits) {
  Pairs p;
  EXPECT_THROW(LatticeModel(p.automaton, p.rollout, nullptr, p.parameters.values(), 1), Error);
  EXPECT_THROW(LatticeModel(p.automaton, p.rollout, p.boards, p.parameters.values().first(3), 1), Error);
  EXPECT_NO_THROW(p.model());
  for (std::vector<std::uint8_t>* values : {&p.boards.start, &p.boards.target}) {
    values->at(7) = 2;
    EXPECT_THROW(p.model(), Error);
    values->at(7) = 1;
    values->pop_back();
    EXPECT_THROW(p.model(), Error);
    values->push_back(0);
  }
  p.boards.count = 0;
  EXPECT_THROW(p.model(), Error);
}

TEST(LatticeEdges, StartsAreOfRowsThatABoardHas) {
  const LatticeModel model = Pairs().model();
  EXPECT_EQ(model.start(4, 4, 1).values.size(), 16u);
  for (const auto& [height, width] : {std::pair{0, 4}, {4, 0}, {-1, 4}, {4, -1}})
    EXPECT_THROW(model.start(height, width, 1), Error) << height << " x " << width;
  for (const RowRange rows : {RowRange{3, 5}, {-1, 2}, {0, -2}, {5, 0}, {2'000'000'000, 2'000'000'000}})
    EXPECT_THROW(model.start(4, 4, 1, rows), Error) << rows.first << ", " << rows.count;
  EXPECT_THROW(export_board(model, {.height = -1}), Error);
  EXPECT_THROW(export_board(model, {.height = 2'000'000'000, .width = 2'000'000'000}), Error);
}

TEST(LatticeEdges, ARefinedCellIsAWholeCircuit) {
  const LatticeModel model = Pairs().model();
  Netlist cell = model.raw_cell();
  EXPECT_NO_THROW(model.refined(cell));
  cell.outputs[0].net = 9999;
  EXPECT_THROW(model.refined(cell), Error);
  EXPECT_THROW(model.refined(Netlist()), Error);
}

TEST(LatticeEdges, SteppersRefuseBoardsAndRatesThatAreNone) {
  const LatticeModel model = Pairs().model();
  const BoardState board(1, 4, 4);
  const SimulatorOptions options = run_options(model);
  for (const bool soft : {false, true}) {
    EXPECT_NO_THROW(make_stepper(model, board, options, soft)->advance(2, calling_thread()));
    EXPECT_THROW(make_stepper(model, 4, 4, StartRows(), options, soft), Error);
    EXPECT_THROW(make_stepper(model, BoardState(2, 4, 4), options, soft), Error);
    BoardState part = board;
    part.values.resize(3);
    EXPECT_THROW(make_stepper(model, part, options, soft), Error);
    const StartRows small = [](RowRange) { return BoardState(1, 2, 2); };
    EXPECT_THROW(make_stepper(model, 4, 4, small, options, soft), Error);
    EXPECT_THROW(make_stepper(model, -4, 4, small, options, soft), Error);
    for (const double rate : {static_cast<double>(kNan), -0.5, 1.5}) {
      SimulatorOptions odd = options;
      odd.fire_rate = rate;
      EXPECT_THROW(make_stepper(model, board, odd, soft), Error) << rate;
    }
    SimulatorOptions damage = options;  // off the board nothing is held
    damage.dead = {{3, 3, 99, 99, 0, 5}, {~std::size_t{0}, ~std::size_t{0}, 2, 2, 0, 5}};
    damage.random_reset = 99;
    EXPECT_NO_THROW(make_stepper(model, board, damage, soft)->advance(2, calling_thread()));
  }
}

}  // namespace
}  // namespace espalier
