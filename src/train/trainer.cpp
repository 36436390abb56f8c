#include "espalier/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "espalier/ranks.hpp"

namespace espalier {
namespace {

constexpr const char* kDivergedHint = "lower the learning rate or clip the gradient norm; the last checkpoint is good";

}  // namespace

Fields fields_of(TrainOptions& o) {
  Fields f;
  f.add("train-steps", o.steps, "optimizer steps", 0, 1e9);
  f.add("lr", o.schedule.lr, "learning rate", 0, 1e3);
  f.add("schedule", o.schedule.kind, "schedule of the learning rate after the warm-up", {"constant", "step", "cosine"});
  f.add("lr-final", o.schedule.final_fraction, "cosine: rate at the end, as a fraction of the learning rate", 0, 1);
  f.add("lr-step", o.schedule.step_every, "step: optimizer steps between drops", 1, 1e9);
  f.add("lr-gamma", o.schedule.gamma, "step: factor of each drop", 0, 1);
  f.add("warmup", o.schedule.warmup, "steps of linear rise at the start", 0, 1e9);
  f.add("accumulate", o.accumulate, "mini-batches whose gradients are added up for one step", 1, 1e6);
  f.add("optimizer", o.optimizer.kind, "the optimizer", {"sgd", "adamw"});
  f.add("momentum", o.optimizer.momentum, "SGD: momentum", 0, 1);
  f.add("beta1", o.optimizer.beta1, "AdamW: decay of the mean of gradients", 0, 0.999999);
  f.add("beta2", o.optimizer.beta2, "AdamW: decay of the mean of squared gradients", 0, 0.999999);
  f.add("epsilon", o.optimizer.epsilon, "AdamW: added to the root of the mean square", 0, 1);
  f.add("weight-decay", o.optimizer.weight_decay, "decoupled weight decay", 0, 10);
  f.add("clip-value", o.optimizer.clip_value, "limit of each gradient element; 0 = none", 0, 1e30);
  f.add("clip-norm", o.optimizer.clip_norm, "limit of the global gradient norm; 0 = none", 0, 1e30);
  f.add("eval-every", o.eval_every, "steps between evaluations", 1, 1e9);
  f.add("patience", o.patience, "give up after this many evaluations without a better one; 0 = never", 0, 1e9);
  f.add("until-solved", o.until_solved, "stop at the first evaluation that solves the task; several seeds always do");
  return f;
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRunning: return "running";
    case Outcome::kFinished: return "finished";
    case Outcome::kSolved: return "solved";
    case Outcome::kHopeless: return "hopeless";
    case Outcome::kInterrupted: return "interrupted";
  }
  return "";
}

Trainer::Trainer(Objective& objective, const TrainOptions& options, const ThreadPool& pool)
    : objective_(objective),
      options_(options),
      pool_(pool),
      optimizer_(options.optimizer, objective.parameters().num_parameters()) {
  if (options.accumulate < 1 || options.eval_every < 1)
    fail("trainer", "0 mini-batches per step, or 0 steps between evaluations", "1 or more");
}

void Trainer::step() {
  Parameters& parameters = objective_.parameters();
  const std::uint64_t step = state_.step;
  const std::uint64_t sent_before = pool_.ranks() ? pool_.ranks()->bytes_sent() : 0;
  const int returned = -2 * static_cast<int>(std::min<std::uint64_t>(state_.returns, 10));
  objective_.begin_step(step, progress(step));
  parameters.zero_grad(pool_);
  double loss = 0;
  for (std::uint64_t k = 0; k < options_.accumulate; ++k)
    loss += objective_.accumulate(step * options_.accumulate + k, pool_, phases_);
  if (!std::isfinite(loss))
    fail("train", fmt::format("a loss of {} in step {}", loss, step + 1), "a finite number", kDivergedHint);
  const double start = seconds_now();
  {
    const ThreadPool::Uninterrupted whole(pool_);  // half an update would be lost work at best
    optimizer_.step(parameters, std::ldexp(options_.schedule.at(step, options_.steps), returned), pool_);
    objective_.end_step();
  }
  phases_.optimizer += seconds_now() - start;
  if (pool_.ranks()) bytes_sent_ += pool_.ranks()->bytes_sent() - sent_before;
  state_.loss = loss;
  ++state_.step;
}

void Trainer::check_weights() const {
  for (const float w : objective_.parameters().values())
    if (!std::isfinite(w))
      fail("train", fmt::format("a weight of {} after step {}", w, state_.step), "a finite number", kDivergedHint);
}

void Trainer::evaluate() {
  check_weights();
  const double start = seconds_now();
  state_.last = objective_.evaluate(pool_);
  phases_.evaluation += seconds_now() - start;
  if (!state_.evaluated || state_.last.better_than(state_.best)) {
    state_.best = state_.last;
    state_.best_step = state_.step;
    state_.evaluations_since_best = 0;
    const auto values = objective_.parameters().values();
    state_.best_values.assign(values.begin(), values.end());
    state_.best_state = objective_.state();
  } else {
    ++state_.evaluations_since_best;
    if (state_.step > 0 && objective_.diverged(progress(state_.step - 1), state_.last, state_.best)) go_back();
  }
  state_.evaluated = true;
  state_.evaluated_step = state_.step;
}

double Trainer::progress(std::uint64_t step) const {
  return static_cast<double>(step) / static_cast<double>(std::max<std::uint64_t>(1, options_.steps));
}

void Trainer::go_back() {
  std::ranges::copy(state_.best_values, objective_.parameters().values().begin());
  objective_.restore_state(state_.best_state);
  std::ranges::fill(optimizer_.first_moment(), 0.0f);
  std::ranges::fill(optimizer_.second_moment(), 0.0f);
  ++state_.returns;
}

std::unique_ptr<Model> Trainer::best_model() const {
  if (!state_.evaluated) fail("best model", "a run before its first evaluation", "one that was evaluated");
  return objective_.snapshot(state_.best_values, state_.best_state);
}

std::string Objective::score_text(const Evaluation& evaluation) const {
  return fmt::format("score {:.2f} %", 100 * evaluation.score);
}

Outcome Trainer::ended() const {
  if (options_.until_solved && state_.evaluated && state_.best.passed) return Outcome::kSolved;
  if (options_.patience && state_.evaluations_since_best >= options_.patience) return Outcome::kHopeless;
  if (state_.step >= options_.steps) return Outcome::kFinished;
  return Outcome::kRunning;
}

// Also for weights that a cancelled evaluation left unjudged.
bool Trainer::evaluation_due() const {
  if (!state_.evaluated) return true;
  return state_.evaluated_step != state_.step &&
         (state_.step % options_.eval_every == 0 || state_.step == options_.steps);
}

Outcome Trainer::run(const Watcher& watcher) {
  if (!watcher) fail("trainer", "no function to call after a step", "one that says whether to continue");
  try {
    if (evaluation_due()) {
      const bool after_a_step = state_.step > 0;
      const double start = seconds_now();
      evaluate();
      phases_.whole += seconds_now() - start;
      if (after_a_step && !watcher(*this, true)) return Outcome::kInterrupted;
    }
    while (ended() == Outcome::kRunning) {
      const double start = seconds_now();
      step();
      const bool due = evaluation_due();
      if (due) evaluate();
      const double taken = seconds_now() - start;
      state_.seconds += taken;
      phases_.whole += taken;
      if (!watcher(*this, due)) return Outcome::kInterrupted;
    }
  } catch (const Cancelled&) {
    return Outcome::kInterrupted;
  }
  return ended();
}

}  // namespace espalier
