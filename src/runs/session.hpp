// One seed of a run from its configuration to its folder: build, restore, train, checkpoint, finish.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "espalier/ranks.hpp"
#include "espalier/run.hpp"
#include "runs/checkpoint.hpp"
#include "runs/run_folder.hpp"

namespace espalier {

// A running seed's place at the RunControl: a flag of its own for its pool, and what it has done of what was asked.
class ControlSubscription {
 public:
  ControlSubscription(RunControl& control, ThreadPool& pool);
  ~ControlSubscription();
  ControlSubscription(const ControlSubscription&) = delete;
  ControlSubscription& operator=(const ControlSubscription&) = delete;

  bool asked() const { return flag_.raised(); }
  struct Requests {
    bool stop = false, save = false, snapshot = false;
  };
  // What was asked since the last call; waits while the run is paused, after `before_wait`. The next step then runs to
  // its end unless a stop is asked for, or requests that come faster than steps would keep a run from ever moving on.
  Requests take(const std::function<void()>& before_wait);
  void step_done();

 private:
  friend class RunControl;
  RunControl& control_;
  ThreadPool& pool_;
  const StopFlag* watched_before_;
  StopFlag flag_;
  bool must_finish_step_ = false;  // written by this seed alone, under the control's mutex
  std::uint64_t saves_, snapshots_;
};

class Session {
 public:
  // Builds the model; continues from the folder's checkpoint when there is one. `emit` tells listeners.
  // `objective`: made from the config already, or null.
  Session(const RunConfig& config, std::unique_ptr<Objective> objective, std::unique_ptr<RunFolder> folder,
          const RunOptions& options, ThreadPool& pool, RunListener emit);

  // Until the end, a stop, or go_on() being false after a step: that is Outcome::kInterrupted.
  Outcome run(RunControl& control, const std::function<bool(const Trainer&)>& go_on);

  Trainer& trainer() { return *trainer_; }
  const Trainer& trainer() const { return *trainer_; }
  bool finished() const { return finished_; }  // by an earlier session: run() has nothing left to do
  void fill(SeedReport& report) const;
  // Of the training, or of what was built or searched before and after it.
  const Evaluation& best() const;
  bool evaluated() const { return trainer_->state().evaluated || refined_; }
  // Whether nothing is wrong with the best model as far as the validation tells.
  bool passed() const { return evaluated() && best().passed && (!objective_->unfinished() || refined_is_best()); }
  LoadedModel best_model() const;

 private:
  using GoOn = std::function<bool(const Trainer&)>;
  using Search = std::function<std::unique_ptr<Refinement>()>;
  // What can be had without training; false when it was stopped.
  bool build(RunControl& control, ControlSubscription& subscription, const GoOn& go_on);
  // The search when training has ended without having passed (round 0) or in the middle of it.
  bool refine(std::uint64_t round, RunControl& control, ControlSubscription& subscription, const GoOn& go_on);
  // Runs a search to its end, and keeps what it finds if that is the best. `before`: of what it begins with.
  bool search(const Search& make, const Provenance& before, RunControl& control, ControlSubscription& subscription,
              const GoOn& go_on);
  bool search_due() const;
  bool refined_is_best() const;
  Provenance trained_provenance() const;
  Provenance best_provenance() const;
  void restore();
  void restore_from_files();
  void take(Restored restored);
  void check_metrics();
  void write_metrics(const Evaluation& line);
  bool asked_anywhere(const ControlSubscription& subscription);
  bool handle_requests(RunControl& control,
                       ControlSubscription& subscription);  // saves, a snapshot, a pause; false for a stop
  bool asked_after_step(const ControlSubscription& subscription);
  void save(bool finished);
  ModelNotes model_notes(const Evaluation& evaluation, const Provenance& provenance) const;
  void write_model() const;
  void mend_model() const;
  RunEvent event(RunEvent::Kind kind) const;  // of this seed, with its trainer
  void tell(RunEvent::Kind kind) const;
  void say(const std::string& text) const;
  CheckpointNotes notes(bool finished) const;

  const RunConfig& config_;
  std::unique_ptr<RunFolder> folder_;
  RunOptions options_;
  ThreadPool& pool_;
  RunListener emit_;
  InputHashes inputs_;
  std::vector<Trait> traits_ = bit_traits();
  std::unique_ptr<Objective> objective_;
  std::uint64_t search_every_;  // steps between searches in the middle of training; 0: none
  std::unique_ptr<Trainer> trainer_;
  bool began_before_ = false, finished_ = false;
  std::optional<RefinedModel> refined_;
  Verdict verdict_;                                     // none before the end
  MetricsSeal metrics_;                                 // of the rows that were written
  std::string other_bits_;                              // as in CheckpointNotes
  std::uint64_t first_step_ = 0, agreement_bytes_ = 0;  // sent to agree after every step whether to go on
  double search_seconds_ = 0;
};

}  // namespace espalier
