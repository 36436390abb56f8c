// The boards of lattice models, and claims about them put to the prover with the model's own circuit, boundary, start
// and target.
#include <fmt/format.h>

#include <optional>

#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "models/lattice/lattice_goal.hpp"
#include "synth/board_proof.hpp"

namespace espalier {
namespace {

// How often in a row a board may have to show its target before it must stay: channels that are not shown may still
// remember something else the first time.
constexpr int kInARow = 4;

// A synchronous model's circuit, boundary and shown channels; an asynchronous one's with the round, too.
BoardSystem board_system(const LatticeModel& model, int round) {
  return {model.raw_cell(), model.periodic(), model.loss_channels(), model.rollout().fire_rate < 1 ? round : 0};
}

Board start_board(const LatticeModel& model, int height, int width, std::uint64_t seed) {
  return board_of(model.start(height, width, seed));
}

int period_of(const ModelClaim& claim) { return claim.kind == ModelClaim::Kind::kFixed ? 1 : claim.period; }

// Long after its start.
Board settled_board(const LatticeModel& model, int height, int width, std::uint64_t seed) {
  Board board = start_board(model, height, width, seed);
  const std::uint64_t steps = model.goal().one_start()
                                  ? static_cast<std::uint64_t>(model.rollout().steps)
                                  : 4 * static_cast<std::uint64_t>(model.rollout().steps + height + width);
  SimulatorOptions options = run_options(model);
  options.seed = seed;
  Simulator(model.quick_cell(), board.height(), board.width(), options).run(board, steps);
  return board;
}

}  // namespace

std::optional<CellBoard> LatticeModel::board() const {
  const BoardView at = view();
  return CellBoard{.height = at.height,
                   .width = at.width,
                   .steps = static_cast<int>(at.steps),
                   .trained_steps = rollout_.steps,
                   .periodic = periodic(),
                   .visible = loss_channels(),
                   .one_start = goal_->one_start(),
                   .start = [this, at] { return start_board(*this, at.height, at.width, 1); }};
}

BoardExport export_board(const LatticeModel& model, const BoardExportOptions& o) {
  const BoardView view = model.view();
  const int height = o.height ? o.height : view.height, width = o.width ? o.width : view.width;
  const int steps = o.steps ? o.steps : model.rollout().steps;
  BoardProver prover(board_system(model, 1));
  prover.check_export(height, width, o.from_start);  // before boards are made that may be too large
  std::optional<Board> start;
  if (o.from_start) start = start_board(model, height, width, 1);
  return {prover.export_aiger(model.target(height, width), steps, start ? &*start : nullptr, o.binary),
          fmt::format("output 0 is 1 when the {} x {} board does not show the target after {} steps or later, from {}",
                      height, width, steps, o.from_start ? "the task's start" : "any start")};
}

bool counts_steps(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options) {
  switch (claim.kind) {
    case ModelClaim::Kind::kEquals: return false;
    case ModelClaim::Kind::kConverges:
    case ModelClaim::Kind::kHeals: return true;
    default: break;
  }
  // A board that does not stay as it is may still be reached and stay.
  return model.goal().one_start() || (period_of(claim) == 1 && options.proof_file.empty());
}

BoardProof prove(const LatticeModel& model, const ModelClaim& claim, const BoardProofOptions& options) {
  using Kind = ModelClaim::Kind;
  const LatticeGoal& goal = model.goal();
  if (claim.kind == Kind::kEquals) {
    if (!claim.rule.empty()) return prove_equals(model.raw_cell(), parse_life_rule(claim.rule), claim.rule);
    if (!goal.rule())
      fail("prove", fmt::format("a model of {} and no rule", model.learned()), "a rule to compare it with",
           "for example B3/S23");
    return prove_equals(model.raw_cell(), *goal.rule(), model.learned());
  }
  const BoardView view = model.view();
  const bool any_size = claim.height == 0;
  const int height = any_size ? view.height : claim.height, width = any_size ? view.width : claim.width;
  const int steps = claim.steps ? claim.steps : model.rollout().steps;
  const auto target = [&](int h, int w) { return model.target(h, w); };
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
  const int period = period_of(claim);
  if (period < 1) fail("prove", "no period", "1 or more");
  if (goal.one_start())
    return prover.repeats_from(start_board(model, height, width, options.seed), wanted, steps, period);
  BoardProof proof = any_size && goal.tile() > 0 ? prover.repeats_on_every_size(target, goal.tile(), period, kInARow)
                                                 : prover.repeats(wanted, period, kInARow);
  // Channels that are not shown may be anything in that claim, also what no run of the automaton ever leaves in them:
  // that a board reaches its target and stays there can hold all the same.
  if (proof.verdict == BoardProof::Verdict::kRefuted && counts_steps(model, claim, options))
    if (const BoardProof reached = prover.converges(wanted, steps); reached.verdict == BoardProof::Verdict::kProved)
      proof.how += fmt::format("; all the same it is proved that {}", reached.claim);
  return proof;
}

}  // namespace espalier
