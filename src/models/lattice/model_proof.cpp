#include "models/lattice/model_proof.hpp"

#include "espalier/error.hpp"
#include "espalier/simulator.hpp"

namespace espalier {
namespace {

// How often in a row a board may have to show its target before it must stay: channels that are not shown may still
// remember something else the first time.
constexpr int kInARow = 4;

// Long after its start.
Board settled_board(const LatticeModel& model, int height, int width, std::uint64_t seed) {
  Board board = start_board(model, height, width, seed);
  const std::uint64_t steps = model.goal().one_start()
                                  ? static_cast<std::uint64_t>(model.rollout().steps)
                                  : 4 * static_cast<std::uint64_t>(model.rollout().steps + height + width);
  SimulatorOptions options;
  options.periodic = model.periodic();
  options.fire_rate = model.rollout().fire_rate;
  options.seed = seed;
  Simulator(model.quick_cell(), board.height(), board.width(), options).run(board, steps, ThreadPool(1));
  return board;
}

}  // namespace

BoardSystem board_system(const LatticeModel& model, int round) {
  return {model.raw_cell(), model.periodic(), model.goal().loss_channels(), model.rollout().fire_rate < 1 ? round : 0};
}

Board start_board(const LatticeModel& model, int height, int width, std::uint64_t seed) {
  const BoardState start = model.start(height, width, seed);
  Board board(static_cast<std::size_t>(height), static_cast<std::size_t>(width), model.channels());
  for (int c = 0; c < model.channels(); ++c)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) board.set(y, x, c, start.at(c, y, x) >= 0.5f);
  return board;
}

ChannelReport across_steps(const LatticeModel& model, const Netlist& simplified, bool from_start) {
  ChannelOptions options;
  options.visible = model.goal().loss_channels();
  options.periodic = model.periodic();
  options.steps = 4 * static_cast<std::uint64_t>(model.rollout().steps);
  if (from_start && model.goal().one_start())
    options.start = start_board(model, model.rollout().height, model.rollout().width, 1);
  options.from_any = from_start && !options.start;
  return reduce_channels(simplified, options);
}

BoardProof prove(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options) {
  using Kind = ModelClaim::Kind;
  const LatticeGoal& goal = model.goal();
  if (claim.kind == Kind::kEquals) {
    const std::string rule = claim.rule.empty() ? goal.name() : claim.rule;
    return prove_equals(model.raw_cell(), parse_life_rule(rule), rule);
  }
  const LatticeGoal::View view = goal.view(model.rollout());
  const bool any_size = claim.height == 0;
  const int height = any_size ? view.height : claim.height, width = any_size ? view.width : claim.width;
  const int steps = claim.steps ? claim.steps : model.rollout().steps;
  const auto target = [&](int h, int w) { return goal.target(model.rollout(), h, w); };
  const Board wanted = target(height, width);
  BoardSystem system = board_system(model, claim.round);
  if (claim.asynchronous) system.round = claim.round;
  BoardProver prover(std::move(system), options);
  switch (claim.kind) {
    case Kind::kConverges: return prover.converges(wanted, steps);
    case Kind::kHeals:
      return prover.heals(settled_board(model, height, width, options.seed), wanted, claim.damage_height,
                          claim.damage_width, steps);
    default: break;
  }
  const int period = claim.kind == Kind::kFixed ? 1 : claim.period;
  if (period < 1) fail("prove", "no period", "1 or more");
  if (goal.one_start())
    return prover.repeats_from(start_board(model, height, width, options.seed), wanted, steps, period);
  if (any_size && goal.tile() > 0) return prover.repeats_on_every_size(target, goal.tile(), period, kInARow);
  return prover.repeats(wanted, period, kInARow);
}

}  // namespace espalier
