// A run trains a task: a session around model, data and trainer, with a folder, checkpoints, seeds, events, pause and
// stop. Front ends (the program, Python, a page) stand on this and hold no rules of their own.
// Example:
//   RunConfig config(find_task("checkerboard-small"));
//   config.set("train-steps", "300");
//   Run run = Run::create(config, {.folder = "runs/board"});  // no folder: all in memory
//   run.listen([](const RunEvent& e) {
//     if (e.kind == RunEvent::Kind::kEvaluated) std::puts("evaluated");
//   });
//   ThreadPool pool;
//   const RunReport report = run.train(pool);
//   if (report.best().solved) save_model("board.safetensors", *run.best_model());
#pragma once

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model.hpp"
#include "espalier/thread_pool.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// All settings of a run: a task's defaults, changed by name.
class RunConfig {
 public:
  explicit RunConfig(const Task& task);
  RunConfig(const RunConfig& other);
  RunConfig& operator=(const RunConfig& other);
  RunConfig(RunConfig&&) = default;
  RunConfig& operator=(RunConfig&&) = default;
  // From the text of a config.json. `what` names it in Errors.
  static RunConfig parse(std::string_view text, const std::string& what, std::span<const Task> tasks);

  std::string task;
  std::uint64_t seed = 1;   // the first one
  std::uint64_t seeds = 1;  // how many to train
  // Of one seed: when it ends unsolved, further ones that follow from it are tried until one is solved or so much work
  // is done, in optimizer steps; searches count by Objective::refine_work. 0: no further ones.
  std::uint64_t budget = 0;
  TrainOptions train;

  Fields fields();  // all but the task; valid as long as this object stays where it is
  void set(std::string_view name, const std::string& text) { fields().at(name).set_text(text); }
  TaskOptions& options() { return *options_; }
  const TaskOptions& options() const { return *options_; }
  std::unique_ptr<Objective> make_objective() const { return options_->make_objective(seed); }
  // The same for a new run: settings that follow from others, such as the shape of a model to begin with, take their
  // values here, so that config.json tells what is trained (of a refined model `kernels` stays what the file says,
  // though its circuit may take more). Those of a run that goes on stay as they were written.
  std::unique_ptr<Objective> resolve();
  std::string text() const;  // as config.json holds it

 private:
  std::unique_ptr<TaskOptions> options_;
  bool budget_named_ = false;  // somebody has set the field, be it to what it was
};
// A task's defaults with some settings changed: configure("life", {{"train-steps", "100"}}).
RunConfig configure(std::string_view task, std::span<const std::pair<std::string, std::string>> settings = {});
RunConfig configure(std::string_view task, std::initializer_list<std::pair<std::string, std::string>> settings);

// What happens in a run, told to listeners one event at a time, on the thread that trains.
struct RunEvent {
  enum class Kind {
    kSeedStarted,
    kStep,        // after every optimizer step
    kEvaluated,   // instead of kStep when the step was evaluated
    kCheckpoint,  // written
    kSearch,      // a piece of the search after training is done: `search`
    kSnapshot,    // asked for: `snapshot` is a model of its own with the current weights
    kSeedEnded,
    kMessage,  // something to tell the user, in `text`
  };
  Kind kind;
  std::uint64_t seed = 0;
  const Trainer* trainer = nullptr;   // null for kMessage, and for seeds that another rank trains
  const TrainState* state = nullptr;  // the trainer's; of another rank's without weights. Null for kMessage
  std::shared_ptr<const Model> snapshot = nullptr;
  std::string text = {};
  const SearchProgress* search = nullptr;
};
using RunListener = std::function<void(const RunEvent&)>;

class ControlSubscription;  // of a seed that is running

// Steers a run from any thread. What is asked takes effect within one chunk of work: the unfinished step counts for
// nothing and is done again. After that one step is finished before the next request is heard, so that a run moves on
// however often it is asked; only a stop does not wait for it.
class RunControl {
 public:
  void stop();   // saved, can be resumed
  void pause();  // until resume() or stop()
  void resume();
  void save();      // a checkpoint now
  void snapshot();  // an event with a model, once per running seed
  bool stopped() const;
  bool paused() const;

 private:
  friend class ControlSubscription;
  void ask(const std::function<void()>& change, bool at_once = false);
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false, paused_ = false;
  std::uint64_t saves_ = 0, snapshots_ = 0;
  std::vector<ControlSubscription*> subscriptions_;
};

struct RunOptions {
  std::string folder = {};             // empty: nothing is written
  bool force = false;                  // replace a run that is in the folder
  double checkpoint_seconds = 5;       // wall time between checkpoints ...
  std::uint64_t checkpoint_every = 0;  // ... or steps between them, when not 0
  // Processes that train together (ranks.hpp), or null. One seed's batches are shared out over them; of
  // several seeds each has its own. All must make the same run; files are those of rank 0, and only its report is
  // whole.
  Ranks* ranks = nullptr;
  bool check_ranks = false;  // compare the weights of all ranks after every step
};

PhaseSeconds sum(const PhaseSeconds& a, const PhaseSeconds& b);

// How one seed ended. What was chosen was chosen by the validation; what is said of it is its verdict.
struct SeedReport {
  std::uint64_t seed = 0, steps = 0, best_step = 0;
  double loss = 0;                                   // of the last step
  double validation_score = 0, validation_loss = 0;  // of the best model ...
  bool passed = false;                               // ... and whether nothing was wrong there
  Verdict verdict = {};                              // none of a seed that did not come to its end
  bool solved = false;                               // the verdict's
  bool started = false;
  // running, finished, solved, unconfirmed (passed, but not solved), hopeless, interrupted, failed; of several also
  // beaten, by a lower seed that has passed
  std::string outcome = "waiting";
  Provenance provenance = {};  // of the best model
  double seconds = 0;
  PhaseSeconds phases = {};       // of this call ...
  std::uint64_t phase_steps = 0;  // ... and the steps they belong to
  std::uint64_t bytes_sent = 0;   // in these steps alone, by this rank to the others that share them
  std::size_t num_parameters = 0;
  std::string model_hash = {};    // of the best model: its weights, or its circuit where weights did not make it
  std::string weights_hash = {};  // of the last weights; empty where the best model is such a circuit
  // Why the bits may not be those of a run that was never stopped (it was resumed with another build or on another kind
  // of processor); empty: they are.
  std::string other_bits = {};
  Facts facts = {};               // the objective's own report; of the winner only
  std::exception_ptr error = {};  // of a seed that failed
};

struct RunReport {
  std::vector<SeedReport> seeds;  // ascending
  std::size_t winner = 0;         // without meaning when interrupted
  bool interrupted = false;
  double seconds = 0;              // wall time of this call
  std::uint64_t work = 0;          // what attempts have taken of the budget
  const SeedReport& best() const;  // an Error when there is none
};

// One seed is trained in the folder itself, several in DIR/seed-N as full runs of their own, bit-equal to the same seed
// trained alone until it is solved; the best model is copied to DIR/model.safetensors.
//
// The winner depends neither on timing nor on the number of threads, and on the validation alone: the lowest seed that
// passes it, or when none does, the best score, then the lower loss, then the lower seed. Once a seed has passed,
// higher ones are stopped; how far those got does depend on timing, and nothing else does.
//
// One seed under a budget: every further attempt has a seed that follows from the first one and its number, is trained
// with all threads after the one before, and lies in DIR/seed-N.
class Run {
 public:
  // Checks that every setting is in its range and that the task can be done, and makes the folder. The whole run holds
  // the folder's lock.
  static Run create(RunConfig config, const RunOptions& options);
  // The run in a folder, at its last checkpoint. More training steps or a larger budget than it had may be given.
  static Run resume(const std::string& folder, const RunOptions& options = {}, std::uint64_t train_steps = 0,
                    std::uint64_t budget = 0);
  Run(Run&&) noexcept;  // what was moved from can be destroyed, no more
  ~Run();

  void listen(RunListener listener);
  RunControl& control();
  const RunConfig& config() const;
  const std::string& folder() const;  // empty when in memory

  // Trains to the end, or to a stop. min(seeds, workers) seeds run at the same time and share the workers. A seed that
  // fails does not stop the others; all failing is an Error.
  RunReport train(ThreadPool& pool);
  // The winner's, after train(). It is handed over: a second call is an Error.
  std::unique_ptr<Model> best_model();

 private:
  struct State;
  explicit Run(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier
