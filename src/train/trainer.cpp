#include "espalier/trainer.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/clock.hpp"
#include "espalier/error.hpp"

namespace espalier {

namespace {
constexpr const char* kDivergedHint = "lower --lr or set --clip-norm; the last good checkpoint is kept";
}

bool better(const Evaluation& a, const Evaluation& b) {
  return a.score != b.score ? a.score > b.score : a.loss < b.loss;
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
  if (options.accumulate < 1 || options.eval_every < 1) fail("trainer", "0 for accumulate or eval-every", "1 or more");
}

void Trainer::step() {
  Parameters& parameters = objective_.parameters();
  const std::uint64_t epoch = state_.epoch;
  const double total = static_cast<double>(std::max<std::uint64_t>(1, options_.epochs));
  objective_.begin_step(epoch, static_cast<double>(epoch) / total, state_.loss);
  parameters.zero_grad(pool_);
  double loss = 0;
  for (std::uint64_t k = 0; k < options_.accumulate; ++k)
    loss += objective_.accumulate(epoch * options_.accumulate + k, pool_, phases_);
  if (!std::isfinite(loss))
    fail("train", fmt::format("a loss of {} in epoch {}", loss, epoch + 1), "a finite number", kDivergedHint);
  const double start = seconds_now();
  optimizer_.step(parameters, options_.schedule.at(epoch, options_.epochs), pool_);
  phases_.optimizer += seconds_now() - start;
  state_.loss = loss;
  ++state_.epoch;
}

void Trainer::check_weights() const {
  for (const float w : objective_.parameters().values())
    if (!std::isfinite(w))
      fail("train", fmt::format("a weight of {} after epoch {}", w, state_.epoch), "a finite number", kDivergedHint);
}

void Trainer::evaluate() {
  check_weights();
  state_.last = objective_.evaluate(pool_);
  if (!state_.evaluated || better(state_.last, state_.best)) {
    state_.best = state_.last;
    state_.best_epoch = state_.epoch;
    state_.evaluations_since_best = 0;
    const auto values = objective_.parameters().values();
    state_.best_values.assign(values.begin(), values.end());
  } else {
    ++state_.evaluations_since_best;
  }
  state_.evaluated = true;
}

Outcome Trainer::ended() const {
  if (options_.until_solved && state_.evaluated && state_.best.solved) return Outcome::kSolved;
  if (options_.patience && state_.evaluations_since_best >= options_.patience) return Outcome::kHopeless;
  if (state_.epoch >= options_.epochs) return Outcome::kFinished;
  return Outcome::kRunning;
}

Outcome Trainer::run(const Watcher& watcher) {
  if (!state_.evaluated) evaluate();
  while (ended() == Outcome::kRunning) {
    const double start = seconds_now();
    step();
    const bool due = state_.epoch % options_.eval_every == 0 || state_.epoch == options_.epochs;
    if (due) evaluate();
    state_.seconds += seconds_now() - start;
    if (!watcher(*this, due)) return Outcome::kInterrupted;
  }
  return ended();
}

}  // namespace espalier
