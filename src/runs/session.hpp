// One training run from its configuration to its folder: build, restore, train, checkpoint, finish.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/thread_pool.hpp"
#include "runs/config.hpp"
#include "runs/run_folder.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

struct SessionOptions {
  double checkpoint_seconds = 5;       // wall time between checkpoints ...
  std::uint64_t checkpoint_every = 0;  // ... or epochs between them, when not 0
};

class Session {
 public:
  // Builds the model; continues from the folder's checkpoint when there is one.
  Session(RunFolder folder, const ThreadPool& pool, const SessionOptions& options = {});

  // Called after every epoch; returning false interrupts the run, which is checkpointed and can be resumed.
  using Watcher = Trainer::Watcher;
  Outcome run(const Watcher& watcher);

  Trainer& trainer() { return *trainer_; }
  const RunFolder& folder() const { return folder_; }
  const Json& config() const { return config_; }
  std::uint64_t first_epoch() const { return first_epoch_; }
  bool finished() const { return finished_; }  // by an earlier session: run() has nothing left to do
  // What `espalier train --json` prints of this run.
  Json summary(Outcome outcome) const;

 private:
  void save(bool finished);

  RunFolder folder_;
  Json config_;
  const ThreadPool& pool_;
  SessionOptions options_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Trainer> trainer_;
  bool finished_ = false;
  std::uint64_t first_epoch_ = 0;
};

}  // namespace espalier
