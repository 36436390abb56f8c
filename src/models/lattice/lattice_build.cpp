// What a lattice objective makes without training: a picture's circuit, or the rule that given boards tell. And its
// verdict.
#include <fmt/format.h>

#include "base/text.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "models/lattice/lattice_verdict.hpp"
#include "models/lattice/lattice_view.hpp"
#include "models/lattice/refine_model.hpp"
#include "netlist/cell.hpp"

namespace espalier {

// Construction from a circuit without gates.
class LatticeObjective::Build : public Refinement {
 public:
  Build(const LatticeObjective& objective, const ThreadPool& pool)
      : objective_(objective),
        start_(LatticeModel(objective.automaton_, objective.options_.rollout, objective.goal_,
                            objective.parameters_.values(), objective.seed_)
                   .refined(gateless_cell(objective.options_.automaton.channels))),
        refiner_(*start_, {.seed = objective.seed_}, pool, LaneOptions{}, objective.options_.trials) {}
  SearchProgress progress() const override {
    const SearchScore& best = refiner_.search().state().best_score;
    return {1, 1, static_cast<double>(best.wrong) / refiner_.boards(), best.size.gates, 0};
  }
  std::optional<Evaluation> metrics() const override { return objective_.metrics_of(progress(), 0); }
  bool step(const ThreadPool& pool) override {
    const ThreadPool::Uninterrupted whole(pool);
    refiner_.search().construct(pool);
    return false;
  }
  std::unique_ptr<Model> model(const ThreadPool& pool) const override { return refiner_.best(pool); }
  Evaluation evaluate(const ThreadPool& pool) const override { return objective_.validate(*refiner_.best(pool), pool); }
  Provenance provenance() const override { return refiner_.provenance(); }

 private:
  static Netlist gateless_cell(int channels) {
    Netlist cell = empty_cell(channels);
    const Net none = cell.add_constant(false);
    for (int c = 0; c < channels; ++c) cell.add_output(fmt::format("next{}", c), none);
    return cell;
  }

  const LatticeObjective& objective_;
  std::unique_ptr<LatticeModel> start_;
  ModelRefiner refiner_;
};

// The rule that given boards tell, if they do: nothing is trained that can be read off.
class LatticeObjective::Identify : public Refinement {
 public:
  explicit Identify(const LatticeObjective& objective) : objective_(objective) {}
  SearchProgress progress() const override { return {1, 1, 0, 0, 0}; }
  bool step(const ThreadPool& pool) override {
    const LatticeOptions& o = objective_.options_;
    found_ = identify_pairs(*objective_.goal_->known_pairs(objective_.seed_), o.automaton.channels,
                            o.automaton.boundary == Boundary::kPeriodic, pool);
    return false;
  }
  bool found() const override { return found_.rule.has_value(); }
  std::string remark() const override {
    if (!found()) return fmt::format("no rule could be read off the boards: {}", found_.why_not);
    const IdentifiedRule& rule = *found_.rule;
    const std::string misfit =
        rule.not_noise.empty()
            ? fmt::format("noise {:.2f} %", 100 * rule.noise)
            : fmt::format("{:.2f} % of the cells are wrong, and not by noise: {}", 100 * rule.noise, rule.not_noise);
    // Of cells with one bit a state is that bit.
    const bool coded = found_.states.size() > 2 && found_.states.size() <= kNamedStates;
    return fmt::format("identified from the boards: {}{}; {} of {} cases occurred, {}", rule.words,
                       coded ? fmt::format(" ({})", fmt::join(found_.states, ", ")) : "", rule.seen, rule.entries,
                       misfit);
  }
  std::unique_ptr<Model> model(const ThreadPool&) const override { return identified(); }
  // Noise in the boards that choose is no reason to go on: what was identified is as good as any rule can be there.
  Evaluation evaluate(const ThreadPool& pool) const override {
    Evaluation result = objective_.validate(*identified(), pool);
    result.passed = true;
    return result;
  }
  Provenance provenance() const override {
    const IdentifiedRule& rule = *found_.rule;
    const RolloutOptions& r = objective_.options_.rollout;
    const double bits = static_cast<double>(r.height) * r.width * objective_.goal_->loss_channels();
    return {{"identification", rule.seen, bits, rule.bit_noise * bits, 0,
             static_cast<std::uint64_t>(live_gates(rule.cell))}};
  }

 private:
  std::unique_ptr<LatticeModel> identified() const {
    return LatticeModel(objective_.automaton_, objective_.options_.rollout, objective_.goal_,
                        objective_.parameters_.values(), objective_.seed_)
        .refined(found_.rule->cell);
  }

  static constexpr std::size_t kNamedStates = 8;
  const LatticeObjective& objective_;
  Identification found_;
};

// Fewer steps than any circuit needs: training may be tried all the same, and the user is told how it must end.
class LatticeObjective::NothingToBuild : public Refinement {
 public:
  explicit NothingToBuild(std::string why) : why_(std::move(why)) {}
  SearchProgress progress() const override { return {1, 1, 0, 0, 0}; }
  bool step(const ThreadPool&) override { return false; }
  bool found() const override { return false; }
  std::string remark() const override { return why_; }
  std::unique_ptr<Model> model(const ThreadPool&) const override { return nullptr; }
  Evaluation evaluate(const ThreadPool&) const override { return {}; }
  Provenance provenance() const override { return {}; }

 private:
  std::string why_;
};

// Pictures are built wherever anything goes: gradients and mutants have never done better there.
std::unique_ptr<Refinement> LatticeObjective::build(const ThreadPool& pool) const {
  const bool any = options_.by == MadeBy::kAny, built = options_.by == MadeBy::kConstruction;
  const int least = goal_->least_steps(options_.rollout, options_.automaton.boundary == Boundary::kPeriodic);
  if (options_.rollout.steps < least)  // which make_start() refuses where anything would be built
    return std::make_unique<NothingToBuild>(fmt::format(
        "{} for a {} cannot be enough: {}", counted(static_cast<std::uint64_t>(options_.rollout.steps), "step"),
        goal_->name(),
        least == LatticeGoal::kNever ? "the start does not tell cells apart that should differ"
                                     : fmt::format("cells that should differ are alike before step {}", least)));
  if (begins_with_model_ || !(any || built)) return nullptr;
  if (goal_->fits_a_part(seed_) && options_.rollout.steps == 1 && options_.rollout.fire_rate >= 1)
    return std::make_unique<Identify>(*this);
  if (goal_->fits_a_part(seed_) || !(built || goal_->one_start())) return nullptr;
  return std::make_unique<Build>(*this, pool);
}

void LatticeObjective::give_data(Model& read) const { dynamic_cast<LatticeModel&>(read).set_goal(goal_); }

Verdict LatticeObjective::judge(const Model& best, const ThreadPool& pool) const {
  return judge_model(dynamic_cast<const LatticeModel&>(best), kJudgingDraw, options_.trials, pool);
}

}  // namespace espalier
