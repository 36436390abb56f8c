// The one training loop, for lattices and graphs alike:
// mini-batches -> gradients (each objective cuts its batch into fixed chunks and sums their slots in a fixed
// tree) -> clip and optimizer in one pass -> evaluation now and then, the best weights kept.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "espalier/thread_pool.hpp"
#include "espalier/objective.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/schedule.hpp"

namespace espalier {

struct TrainOptions {
  std::uint64_t epochs = 100;     // optimizer steps
  std::uint64_t accumulate = 1;   // mini-batches whose gradients are added up for one step
  std::uint64_t eval_every = 10;  // epochs between evaluations; the last epoch is always evaluated
  std::uint64_t patience = 0;     // give up after this many evaluations without a better one; 0 = never
  bool until_solved = false;      // stop at the first evaluation that is solved
  OptimizerOptions optimizer;
  Schedule schedule;
};

// All that changes while training, beside the objective's weights: what a checkpoint keeps.
struct TrainState {
  std::uint64_t epoch = 0;                                 // steps done
  double loss = std::numeric_limits<double>::quiet_NaN();  // soft loss of the last step
  Evaluation last, best;
  std::uint64_t best_epoch = 0;
  std::uint64_t evaluations_since_best = 0;
  bool evaluated = false;
  double seconds = 0;  // over all sessions of the run
  AlignedVector<float> best_values;
};

enum class Outcome { kRunning, kFinished, kSolved, kHopeless, kInterrupted };
const char* outcome_name(Outcome outcome);

class Trainer {
 public:
  Trainer(Objective& objective, const TrainOptions& options, const ThreadPool& pool);

  // Called after every epoch, with true when that epoch was evaluated; returning false ends the run.
  using Watcher = std::function<bool(const Trainer&, bool evaluated)>;
  // Runs until an end is reached. Throws Error when the loss is no longer finite; the state then is that
  // of the last good epoch.
  Outcome run(const Watcher& watcher);
  // One optimizer step; what run() repeats.
  void step();
  // Judges the current weights and remembers them when they are the best so far.
  void evaluate();
  // An Error when any weight is NaN or infinite: such weights are neither judged nor saved.
  void check_weights() const;

  Objective& objective() const { return objective_; }
  const TrainOptions& options() const { return options_; }
  TrainState& state() { return state_; }
  const TrainState& state() const { return state_; }
  Optimizer& optimizer() { return optimizer_; }
  const PhaseSeconds& phases() const { return phases_; }

 private:
  Outcome ended() const;

  Objective& objective_;
  TrainOptions options_;
  const ThreadPool& pool_;
  Optimizer optimizer_;
  TrainState state_;
  PhaseSeconds phases_;
};

// Higher score wins, then lower loss.
bool better(const Evaluation& a, const Evaluation& b);

}  // namespace espalier
