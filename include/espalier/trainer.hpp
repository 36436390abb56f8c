// The one training loop, for lattices and graphs alike, and what it trains. A step: mini-batches -> gradients (each
// objective cuts its batch into fixed chunks and sums their slots in a fixed tree) -> clip and optimizer in one pass ->
// evaluation now and then, the best weights kept.
// Example:
//   struct Mean : Objective {  // one number that is to become 3
//     Mean() { p.add("mean", {1}); }
//     Parameters& parameters() override { return p; }
//     float error() const { return p.values()[0] - 3; }
//     double accumulate(std::uint64_t, const ThreadPool&, PhaseSeconds&) override {
//       p.gradients()[0] += error();
//       return 0.5 * static_cast<double>(error()) * static_cast<double>(error());
//     }
//     Evaluation evaluate(const ThreadPool&) override { return {.score = -std::abs(static_cast<double>(error()))}; }
//     std::unique_ptr<Model> snapshot(std::span<const float>, const SafetensorsFile&) const override {
//       throw std::logic_error("a number is no model that could be saved");
//     }
//     Parameters p;
//   };
//   const auto train = [](Mean& mean) {
//     const ThreadPool pool;  // all cores; the result does not depend on how many
//     Trainer trainer(mean, {.steps = 200}, pool);
//     return trainer.run([](const Trainer&, bool) { return true; });
//   };
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "espalier/fields.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class Model;

// Named figures for reports, in the order they are shown; dots nest: "test.accuracy".
using Facts = std::vector<std::pair<std::string, FieldValue>>;

// Where the time of steps, evaluations and searches went; filled in by objectives, the trainer and the run. What is in
// `whole` and in no phase is everything else.
struct PhaseSeconds {
  double data = 0, forward = 0, backward = 0, reduction = 0, optimizer = 0, evaluation = 0, search = 0, whole = 0;
};

// One judgement of the current weights, by the part of the data that chooses: it decides when to stop, which weights,
// which seed. It is no verdict.
struct Evaluation {
  double score = 0;     // fraction right, the larger the better
  bool passed = false;  // nothing left to learn on the validation set
  double loss = 0;      // validation loss; for logic tasks the hard loss; breaks ties of score
  std::vector<std::pair<std::string, double>> extra = {};  // further columns of the metrics, always the same ones

  // Higher score wins, then lower loss.
  bool better_than(const Evaluation& other) const {
    return score != other.score ? score > other.score : loss < other.loss;
  }
};

// What a finished model is worth: judged once, at the end, by data that neither fitting nor choosing has seen, or by
// all cases where these are finite. Its score is the one that is printed, stored and called solved.
struct Verdict {
  double score = 0, loss = 0;
  bool solved = false;         // right on everything that judged it, which is enough to say so
  bool explained = false;      // not solved, but what is wrong is no more than the noise of the data
  std::string data = {};       // what judged it: "1,024 boards that nothing has seen"; empty: nothing did
  std::string text = {};       // the score in the task's own words, and what keeps it from being solved
  std::string hint = {};       // what to do about that, where it is known
  std::string not_asked = {};  // names of trials that solved says nothing about, as they were switched off
  bool judged() const { return !data.empty(); }
};

// How a model came about: one entry for each thing that was done, in order.
struct Making {
  // "gradients", "mutation", "construction", "identification", "least-squares", or "start" alone
  std::string by = {};
  std::uint64_t count = 0;                          // optimizer steps, mutants, rounds of construction
  double wrong_before = 0, wrong_after = 0;         // validation loss: for logic tasks wrong bits per board
  std::uint64_t gates_before = 0, gates_after = 0;  // 0 where a model has none
  bool operator==(const Making&) const = default;
};
using Provenance = std::vector<Making>;
// For people: "gradients (374 steps: 1.5 wrong, 97 gates), mutation (20,480 mutants: 1.5 -> 0 wrong, 97 -> 31 gates)".
std::string text_of(const Provenance& provenance);
// By what put the wrong bits right: "learned" where gradients, mutants or least squares did, "built" or "identified"
// where that did more than they, "learned and built" where it did less; "untrained" of a mere start, "made" where
// nothing is known.
std::string word_for(const Provenance& provenance);
// As model files keep it, and back; an Error for anything else.
std::string format_provenance(const Provenance& provenance);
Provenance parse_provenance(const std::string& text);

// How far a search is.
struct SearchProgress {
  std::uint64_t done = 0, total = 0;  // mutants
  double wrong = 0;                   // bits per board of the best
  std::size_t gates = 0;
  std::uint64_t work = 0;  // what was done, in optimizer steps that take as long
};

// A search that goes on where training ended, on the best model: the same result for any pool.
class Refinement {
 public:
  virtual ~Refinement() = default;
  virtual SearchProgress progress() const = 0;
  // The best so far as a line of the metrics, with the columns of evaluations; none of a search that has no such lines.
  virtual std::optional<Evaluation> metrics() const { return std::nullopt; }
  // A piece of it, whole or, when the pool is cancelled, not at all; false when there is nothing left to do.
  virtual bool step(const ThreadPool& pool) = 0;
  // The best so far; at least as good as what it began with.
  virtual std::unique_ptr<Model> model(const ThreadPool& pool) const = 0;
  virtual Evaluation evaluate(const ThreadPool& pool) const = 0;
  // What it has done to what it began with.
  virtual Provenance provenance() const = 0;
  // Whether there is a best at all, and what is worth telling the user of it.
  virtual bool found() const { return true; }
  virtual std::string remark() const { return {}; }
};

// Anything that can add the gradients of a mini-batch to its Parameters and judge itself.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual Parameters& parameters() = 0;

  // Adds the gradients of mini-batch number `batch` to parameters().gradients() and returns its loss. A pure
  // function of (weights, state, batch): the same bits for any pool. May be cancelled through the pool and called
  // again.
  virtual double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) = 0;

  virtual Evaluation evaluate(const ThreadPool& pool) = 0;

  // Called before the first accumulate of a step: temperature, noise and other things that follow a plan.
  // `progress` is step / total steps. A cancelled step is begun again: changes of weights or state must happen once per
  // step number.
  virtual void begin_step(std::uint64_t /*step*/, double /*progress*/) {}
  // Called after the weights have moved, once per step: what its mini-batches have left becomes state, as accumulate()
  // alone may be cancelled and called again.
  virtual void end_step() {}
  // Whether training has diverged and is to go back to the best weights, with a lower rate from there on.
  // `progress` is that of the step that was judged.
  virtual bool diverged(double /*progress*/, const Evaluation& /*last*/, const Evaluation& /*best*/) const {
    return false;
  }

  // What changes in training but is not trained (a growing topology, a pool of boards), as tensors of the checkpoint.
  virtual SafetensorsFile state() const { return {}; }
  virtual void restore_state(const SafetensorsFile& /*state*/) {}

  // A model of its own with these weights and this state: what is saved, shown and hardened while training goes on.
  // weights: in the order of parameters().values().
  virtual std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const = 0;

  // What is tried when training ends without having solved the task (`round` 0) and, at greater length apart, after
  // every refine_every() steps of it (1, 2, ...); null for nothing. `best` is a snapshot of this objective, and
  // outlives it.
  virtual std::unique_ptr<Refinement> refine(const Model& /*best*/, std::uint64_t /*round*/,
                                             const ThreadPool& /*pool*/) const {
    return nullptr;
  }
  virtual std::uint64_t refine_every() const { return 0; }
  // What all searches of a seed cost at most, in optimizer steps: the measure of a run's budget.
  virtual std::uint64_t refine_work(std::uint64_t /*steps*/) const { return 0; }
  // Whether a model is whole only after refine(), even one that is solved as trained.
  virtual bool unfinished() const { return false; }

  // What can be had without training, tried before the first step; null for nothing.
  virtual std::unique_ptr<Refinement> build(const ThreadPool& /*pool*/) const { return nullptr; }
  // Whether optimizer steps are wanted at all.
  virtual bool by_gradients() const { return true; }
  // How the weights that training begins with came about, where they are not a plain start.
  virtual Provenance origin() const { return {}; }

  // Gives a model that was read from its file the data of this objective, of which a file may hold only a part.
  virtual void give_data(Model& /*read*/) const {}
  // The verdict on `best`, the model that was chosen: called once, when nothing is left to choose. An objective without
  // data that nothing has seen gives none, and is never solved.
  virtual Verdict judge(const Model& /*best*/, const ThreadPool& /*pool*/) const { return {}; }
  // Figures for the end of training: test sets, baselines, gate counts. `best` is a snapshot of this objective.
  virtual Facts report(const Model& /*best*/, const ThreadPool& /*pool*/) const { return {}; }
  // A score in words, where it is no fraction of right answers ("R² 0.9333").
  virtual std::string score_text(const Evaluation& evaluation) const;
};

struct TrainOptions {
  std::uint64_t steps = 100;      // optimizer steps
  std::uint64_t accumulate = 1;   // mini-batches whose gradients are added up for one step
  std::uint64_t eval_every = 10;  // steps between evaluations; the last step is always evaluated
  std::uint64_t patience = 0;     // give up after this many evaluations without a better one; 0 = never
  bool until_solved = false;      // stop at the first evaluation that is passed
  OptimizerOptions optimizer = {};
  Schedule schedule = {};
};
Fields fields_of(TrainOptions& options);

// All that changes while training, beside the objective's weights and state: what a checkpoint keeps.
struct TrainState {
  std::uint64_t step = 0;                                  // steps done
  double loss = std::numeric_limits<double>::quiet_NaN();  // of the last step, soft for logic tasks
  Evaluation first, last, best;  // first: of the weights that training began with, where they were judged
  std::uint64_t best_step = 0;
  std::uint64_t evaluations_since_best = 0;
  bool evaluated = false;            // at least once ...
  std::uint64_t evaluated_step = 0;  // ... after this many steps
  std::uint64_t returns = 0;         // to the best weights; each divides the learning rate by four
  std::uint64_t searched_step = 0;   // the last one after which Objective::refine() was tried
  double seconds = 0;                // over all sessions of the run
  AlignedVector<float> best_values;  // the weights of the best evaluation ...
  SafetensorsFile best_state;        // ... and the objective's state with them
};

enum class Outcome { kRunning, kFinished, kSolved, kHopeless, kInterrupted };
const char* outcome_name(Outcome outcome);

class Trainer {
 public:
  Trainer(Objective& objective, const TrainOptions& options, const ThreadPool& pool = calling_thread());

  // Called after every step, with true when that step was evaluated; returning false ends the run.
  using Watcher = std::function<bool(const Trainer&, bool evaluated)>;
  // Runs until an end is reached. Throws Error when the loss is no longer finite; the state then is that of the last
  // good step. A raised stop flag of the pool interrupts between chunks of work: the unfinished step counts for
  // nothing, and run() can go on from there.
  Outcome run(const Watcher& watcher);
  // One optimizer step; what run() repeats.
  void step();
  // Judges the current weights and remembers them when they are the best so far.
  void evaluate();
  // An Error when any weight is NaN or infinite: such weights are neither judged nor saved.
  void check_weights() const;
  // The best model so far; an Error before the first evaluation.
  std::unique_ptr<Model> best_model() const;

  Objective& objective() const { return objective_; }
  const TrainOptions& options() const { return options_; }
  TrainState& state() { return state_; }
  const TrainState& state() const { return state_; }
  Optimizer& optimizer() { return optimizer_; }
  const PhaseSeconds& phases() const { return phases_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }  // to other ranks, in steps alone

 private:
  Outcome ended() const;
  bool evaluation_due() const;
  double progress(std::uint64_t step) const;
  void go_back();

  Objective& objective_;
  TrainOptions options_;
  const ThreadPool& pool_;
  Optimizer optimizer_;
  TrainState state_;
  PhaseSeconds phases_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace espalier
