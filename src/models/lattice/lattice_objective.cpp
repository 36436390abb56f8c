#include "models/lattice/lattice_objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "espalier/error.hpp"
#include "models/lattice/automaton_reference.hpp"
#include "models/lattice/lattice_verdict.hpp"
#include "models/lattice/lattice_view.hpp"
#include "models/lattice/refine_model.hpp"
#include "models/lattice/soften_cell.hpp"
#include "models/lattice/trials.hpp"
#include "netlist/cell.hpp"

namespace espalier {

Fields fields_of(LatticeRecipe& r) {
  Fields f;
  f.add("start-logit", r.start_logit,
        "logit, at the start, of the gate that passes its first input on; all others are 0", -100, 100);
  f.add("start-wire-logit", r.start_wire_logit, "logit of the first candidate of a wire at the start; all others are 0",
        -100, 100);
  f.add("temperature", r.temperature, "softmax temperature at the start", 1e-3, 1e3);
  f.add("temperature-final", r.temperature_final, "softmax temperature at the end", 1e-3, 1e3);
  f.add("gumbel", r.gumbel, "scale of Gumbel noise on the logits at the start", 0, 100);
  f.add("gumbel-final", r.gumbel_final, "scale of Gumbel noise at the end", 0, 100);
  f.add("gumbel-from", r.gumbel_from, "progress (0 to 1) from which the noise moves to its final scale", 0, 1);
  f.add("straight-from", r.straight_from,
        "progress (0 to 1) from which the likeliest gates alone compute and gradients pass straight through; 1 = never",
        0, 1);
  return f;
}

Fields fields_of(LatticeOptions& o) {
  Fields f = fields_of(o.automaton);
  f.append(fields_of(o.rollout));
  f.append(fields_of(o.recipe));
  f.add("refine", o.refine, "mutants of the best circuit to try when training has not solved the task; 0 = none", 0,
        1e15);
  f.add("improve", o.improve,
        "further mutants for trials that can only be improved, not passed (resets), once all else is right; 0 = none",
        0, 1e15);
  f.add("refine-every", o.refine_every,
        "steps between searches during training, each with a fifth of the mutants of refine; 0 = only at its end", 0,
        1e9);
  f.add("trials", o.trials, "solved models must also pass the trials that their goal demands (larger boards, damage)");
  f.add("by", o.by,
        "how the circuit may come about: any (built or identified at once where that is possible, else training), "
        "gradients alone, training (gradients, then a search over circuits), search alone, or construction alone",
        {"any", "gradients", "training", "search", "construction"});
  f.add("reference", o.reference, "train with the plain sequential code (slow; for comparison)");
  return f;
}

LatticeObjective::Start LatticeObjective::make_start(LatticeOptions options, const LatticeGoal& goal,
                                                     std::uint64_t seed, const LatticeModel* from) {
  if (from) options.automaton = from->automaton().options();
  const bool periodic = options.automaton.boundary == Boundary::kPeriodic;
  goal.fit(options.rollout, options.automaton.channels, periodic);
  check_rollout(options.rollout, options.automaton.channels);  // before data take time and memory
  check_pool(options.pool, options.rollout, options.automaton.channels);
  const bool builds = options.by == MadeBy::kAny || options.by == MadeBy::kConstruction;
  if (const int least = goal.least_steps(options.rollout, periodic); builds && options.rollout.steps < least) {
    const std::string what =
        fmt::format("{} for a {}", counted(static_cast<std::uint64_t>(options.rollout.steps), "step"), goal.name());
    if (least == LatticeGoal::kNever)
      fail("steps", what, "a start that tells cells apart that should differ",
           "give the options \"seed-row\" and \"seed-column\", or a zero boundary");
    fail("steps", what, fmt::format("at least {}", least),
         "a cell hears of nothing that lies farther away than there are steps, and cells that should differ would be "
         "alike");
  }
  if (options.by == MadeBy::kConstruction && from)
    fail("by", "construction that begins with a model", "gradients, training or search",
         "what is built begins with nothing");
  if (options.by == MadeBy::kConstruction && goal.draws_boards())
    fail("by", fmt::format("construction of a {}", goal.name()), "gradients, search or any",
         "there is no way yet to build it");
  if (!from) return {options, Automaton(options.automaton, seed), {}};
  const auto trained = from->parameters().values();
  if (!from->is_refined()) return {options, from->automaton(), {trained.begin(), trained.end()}};
  if (options.automaton.candidates > 1 && options.recipe.start_wire_logit < 0)
    fail("from", fmt::format("a start of {} for wires", options.recipe.start_wire_logit), "0 or more",
         "the circuit's own wires are to be the likeliest");
  SoftCell soft = soften_cell(from->quick_cell(), options.automaton, options.recipe.start_logit,
                              options.recipe.start_wire_logit, seed);
  options.automaton = soft.automaton.options();
  options.automaton.kernels = from->automaton().options().kernels;  // the circuit may take more, by the seed
  return {options, std::move(soft.automaton), std::move(soft.logits)};
}

LatticeObjective::LatticeObjective(LatticeOptions options, std::shared_ptr<const LatticeGoal> goal, std::uint64_t seed,
                                   const LatticeModel* from, Provenance origin)
    : LatticeObjective(make_start(std::move(options), *goal, seed, from), goal, seed) {
  begins_with_model_ = from != nullptr;
  origin_ = std::move(origin);
}

LatticeObjective::LatticeObjective(Start start, std::shared_ptr<const LatticeGoal> goal, std::uint64_t seed)
    : options_(std::move(start.options)),
      goal_(std::move(goal)),
      seed_(seed),
      data_(goal_->data(options_.rollout, options_.automaton.channels, seed)),
      automaton_(std::move(start.automaton)),
      rollout_(automaton_, options_.rollout) {
  automaton_.add_parameters(parameters_, options_.recipe.start_logit, options_.recipe.start_wire_logit);
  if (!start.logits.empty()) std::ranges::copy(start.logits, parameters_.values().begin());
  const RolloutOptions& r = options_.rollout;
  const std::size_t cells = static_cast<std::size_t>(r.batch) * r.height * r.width;
  initial_.resize(cells * options_.automaton.channels);
  target_.resize(cells * goal_->loss_channels());
  if (options_.pool.boards) {
    data_.draw(0, initial_, target_);
    boards_.emplace(options_.pool, r, options_.automaton.channels, seed, initial_);
  }
  if (const double rate = goal_->judged_fire_rate(r); rate < 1)
    validation_fire_ = draw_fire(data_.validation, r.steps, rate, seed, kValidationFireStep);
}

void LatticeObjective::begin_step(std::uint64_t step, double progress) {
  if (boards_) boards_->forget();
  const LatticeRecipe& r = options_.recipe;
  choice_.temperature = r.temperature * std::pow(r.temperature_final / r.temperature, static_cast<float>(progress));
  const double share = std::max(0.0, (progress - r.gumbel_from) / std::max(1e-9, 1.0 - r.gumbel_from));
  choice_.gumbel_scale = r.gumbel + (r.gumbel_final - r.gumbel) * static_cast<float>(share);
  choice_.straight = progress >= r.straight_from;
  choice_.seed = seed_;
  choice_.step = static_cast<std::uint32_t>(step);
}

void LatticeObjective::end_step() {
  if (boards_) boards_->commit();
}

SafetensorsFile LatticeObjective::state() const { return boards_ ? boards_->state() : SafetensorsFile(); }

void LatticeObjective::restore_state(const SafetensorsFile& state) {
  if (boards_) boards_->restore(state);
}

// At its full rate the straight-through end has turned one wrong bit into hundreds within a few dozen steps.
bool LatticeObjective::diverged(double progress, const Evaluation& last, const Evaluation& best) const {
  return progress >= options_.recipe.straight_from && last.loss > 2 * best.loss + 1;
}

double LatticeObjective::accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) {
  PhaseClock book;
  data_.draw(batch, initial_, target_);
  BoardPool::Drawn drawn;
  if (boards_) drawn = boards_->draw(batch, target_, initial_);
  book(phases.data);
  if (options_.reference) return accumulate_reference(batch, std::move(drawn), pool, phases);
  rollout_.soften(parameters_.values(), choice_, pool);
  const ForwardPass pass = rollout_.forward(initial_, seed_, static_cast<std::uint32_t>(batch), pool);
  rollout_.begin_loss(target_, goal_->loss_channels(), pool);
  book(phases.forward);
  const double summed_before = rollout_.reduction_seconds();
  rollout_.backward(pass, pool);
  const double loss = rollout_.end_loss(pool);
  rollout_.add_gradients(parameters_.gradients(), pool);
  if (boards_) boards_->keep(std::move(drawn), rollout_.last_bits(pool));
  book(phases.backward);
  const double summed = rollout_.reduction_seconds() - summed_before;
  phases.backward -= summed;
  phases.reduction += summed;
  return loss;
}

double LatticeObjective::accumulate_reference(std::uint64_t batch, BoardPool::Drawn drawn, const ThreadPool& pool,
                                              PhaseSeconds& phases) {
  const double start = seconds_now();
  std::span<const float> logits = parameters_.values();
  AlignedVector<float> noisy;
  if (choice_.gumbel_scale > 0) {
    add_gumbel_noise(logits, choice_, noisy, pool, options_.automaton.parametrisation,
                     static_cast<std::size_t>(automaton_.update().wires()));
    logits = {noisy.data(), logits.size()};
  }
  reference::AutomatonReference<float> r(automaton_, logits, choice_.temperature, choice_.straight);
  r.forward(options_.rollout, initial_, seed_, static_cast<std::uint32_t>(batch));
  const double loss = r.loss(target_, goal_->loss_channels());
  const double middle = seconds_now();
  const std::vector<float> gradients = r.backward();
  for (std::size_t i = 0; i < gradients.size(); ++i) parameters_.gradients()[i] += gradients[i];
  if (boards_) {
    std::vector<std::uint8_t> last;
    for (const float value : r.state(options_.rollout.steps)) last.push_back(value >= 0.5f);
    boards_->keep(std::move(drawn), std::move(last));
  }
  phases.forward += middle - start;
  phases.backward += seconds_now() - middle;
  return loss;
}

Evaluation LatticeObjective::validate(const Netlist& cell, const LatticeData& data, const ThreadPool& pool) const {
  const BitScore score = score_boards(cell, data.validation, data.validation_target, options_.rollout.steps,
                                      options_.automaton.boundary == Boundary::kPeriodic,
                                      validation_fire_ ? &*validation_fire_ : nullptr, pool);
  return {score.fraction, score.all, score.wrong_per_board};
}

Evaluation LatticeObjective::validate(const LatticeModel& model, const ThreadPool& pool) const {
  Evaluation result = validate(model.quick_cell(), goal_->data(options_.rollout, model.channels(), seed_), pool);
  judge_trials(result, model, pool);
  return result;
}

// A trial that fails weighs less than any wrong bit, and keeps a model from passing.
void LatticeObjective::judge_trials(Evaluation& evaluation, const LatticeModel& model, const ThreadPool& pool) const {
  constexpr double kTrialLoss = 1e-3;
  if (!evaluation.passed) return;
  const std::vector<std::string> names = options_.trials ? demanded_trials(model) : std::vector<std::string>();
  const std::size_t failed = failed_trials(model, names, kChoosingDraw, pool).size();
  evaluation.passed = failed == 0;
  evaluation.loss += kTrialLoss * static_cast<double>(failed);
}

Evaluation LatticeObjective::evaluate(const ThreadPool& pool) {
  const Netlist cell = harden_folded(automaton_, parameters_.values());
  Evaluation result = validate(cell, data_, pool);
  if (result.passed)
    judge_trials(result, LatticeModel(automaton_, options_.rollout, goal_, parameters_.values(), seed_), pool);
  const Parametrisation form = options_.automaton.parametrisation;
  const std::span<const float> gates = parameters_.values().first(automaton_.gate_logits());
  const std::span<const float> wires = parameters_.values().subspan(gates.size());
  const GateCounts counts = count_gates(gates, form);
  result.extra = {{"active_gates", static_cast<double>(counts.active)},
                  {"live_gates", static_cast<double>(live_gates(cell))},
                  {"gate_entropy", mean_entropy(gates, form)},
                  {"mutants", 0}};
  if (!wires.empty()) result.extra.emplace_back("wire_entropy", mean_wire_entropy(automaton_.update(), wires));
  return result;
}

// A circuit has nothing undecided.
Evaluation LatticeObjective::metrics_of(const SearchProgress& progress, std::uint64_t mutants) const {
  const RolloutOptions& r = options_.rollout;
  const double bits = static_cast<double>(r.height) * r.width * goal_->loss_channels();
  const auto gates = static_cast<double>(progress.gates);
  Evaluation line{1 - progress.wrong / bits, false, progress.wrong, {}};
  line.extra = {
      {"active_gates", gates}, {"live_gates", gates}, {"gate_entropy", 0}, {"mutants", static_cast<double>(mutants)}};
  if (options_.automaton.candidates > 1) line.extra.emplace_back("wire_entropy", 0);
  return line;
}

constexpr std::uint64_t kMutantsPerStep = 400;  // that take about as long as an optimizer step
constexpr std::uint64_t kShorter = 5;           // a search in the middle of training

// How much better a grade gets depends on the circuit that its search begins with, and near some there is nothing
// better: where too much is lost in the end, the search begins again, by other mutants, for another circuit.
class LatticeObjective::Search : public Refinement {
 public:
  Search(const LatticeObjective& objective, const LatticeModel& from, std::uint64_t round, const ThreadPool& pool)
      : objective_(objective), from_(from), round_(round), refiner_(begin(pool)) {}
  SearchProgress progress() const override {
    const SearchOptions options = search_options();
    const SearchState& s = shown().search().state();
    const std::uint64_t total = s.improved_at + options.improve;  // of one that has nothing else to do any more
    const bool improves = options.improve && !s.best_score.wrong && !s.best_score.flaws;
    const std::uint64_t before = refiner_ ? mutants_ : mutants_ - s.evaluations;
    // What it counts for in a budget is one circuit's: others are tried only where the task is solved, and end it.
    return {before + s.evaluations, before + (improves ? total : options.evaluations),
            static_cast<double>(s.best_score.wrong) / shown().boards(), s.best_score.size.gates,
            std::min(before + s.evaluations, options.evaluations + options.improve) / kMutantsPerStep};
  }
  std::optional<Evaluation> metrics() const override {
    const SearchProgress now = progress();
    return objective_.metrics_of(now, now.done);
  }
  bool step(const ThreadPool& pool) override {
    if (!refiner_) return false;
    if (refiner_->search().ended()) return begin_again(pool);
    refiner_->search().step(pool);
    return true;
  }
  std::unique_ptr<Model> model(const ThreadPool& pool) const override { return best().best(pool); }
  Evaluation evaluate(const ThreadPool& pool) const override { return objective_.validate(*best().best(pool), pool); }
  Provenance provenance() const override { return best().provenance(); }

 private:
  static constexpr std::uint64_t kCircuits = 3;    // at most
  static constexpr std::uint64_t kPoor = 150'000;  // millionths that are lost
  static constexpr std::uint64_t kNotSolved = 1'000'001;

  SearchOptions search_options() const {
    const std::uint64_t all = objective_.mutants();
    return {.seed = objective_.seed_ + (round_ << 32) + (circuit_ << 48),
            .evaluations = round_ && !circuit_ ? all / kShorter : all,
            .improve = objective_.improve(),
            .construct = objective_.options_.by != MadeBy::kSearch};
  }
  std::unique_ptr<ModelRefiner> begin(const ThreadPool& pool) const {
    return std::make_unique<ModelRefiner>(from_, search_options(), pool, LaneOptions{}, objective_.options_.trials);
  }
  // Over longer runs than those that a search for a better grade is led by: what is lost in them may be lost late.
  bool begin_again(const ThreadPool& pool) {
    const SearchState& s = refiner_->search().state();
    const bool solved = !s.best_score.wrong && !s.best_score.flaws;
    if (!objective_.improve() || (!solved && !best_)) return false;
    const std::uint64_t lost =
        solved ? trial_losses(*refiner_->best(pool), objective_.goal_->graded(), pool, {.runs = 4, .steps = 4000})
               : kNotSolved;
    const ThreadPool::Uninterrupted whole(pool);
    mutants_ += s.evaluations;
    if (!best_ || lost < lost_) {
      lost_ = lost;
      best_ = std::move(refiner_);
    }
    refiner_ = lost_ > kPoor && ++circuit_ < kCircuits ? begin(pool) : nullptr;
    return refiner_ != nullptr;
  }
  const ModelRefiner& best() const { return best_ ? *best_ : *refiner_; }
  const ModelRefiner& shown() const { return refiner_ ? *refiner_ : *best_; }

  const LatticeObjective& objective_;
  const LatticeModel& from_;
  std::uint64_t round_, circuit_ = 0;
  std::uint64_t mutants_ = 0;                     // of circuits before
  std::unique_ptr<ModelRefiner> refiner_, best_;  // of this circuit, or none any more; of the best one before
  std::uint64_t lost_ = 0;                        // by the best one
};

std::unique_ptr<Refinement> LatticeObjective::refine(const Model& best, std::uint64_t round,
                                                     const ThreadPool& pool) const {
  if (!mutants() && !unfinished()) return nullptr;
  return std::make_unique<Search>(*this, dynamic_cast<const LatticeModel&>(best), round, pool);
}

std::uint64_t LatticeObjective::refine_work(std::uint64_t steps) const {
  const std::uint64_t rounds = refine_every() && steps ? (steps - 1) / refine_every() : 0;
  return (mutants() + rounds * (mutants() / kShorter) + improve()) / kMutantsPerStep;
}

std::string LatticeObjective::score_text(const Evaluation& e) const {
  // What is left of the loss of a model without wrong bits is the trials that it fails.
  if (e.loss < 0.5 / static_cast<double>(data_.validation.boards()))
    return fmt::format("every validation bit right, but not in {}",
                       fmt::join(goal_->demands().empty() ? goal_->kept() : goal_->demands(), ", "));
  return fmt::format("{:.2f} % right, {} per board", 100 * e.score, averaged(e.loss, "wrong bit"));
}

std::unique_ptr<Model> LatticeObjective::snapshot(std::span<const float> weights, const SafetensorsFile&) const {
  return std::make_unique<LatticeModel>(automaton_, options_.rollout, goal_, weights, seed_);
}

Facts LatticeObjective::report(const Model& best, const ThreadPool&) const { return best.facts(); }

}  // namespace espalier
