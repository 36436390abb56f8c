// Many seeds of one task at once, each in DIR/seed-N as a full run of its own, bit-equal to the same seed
// trained alone with --until-solved. The best model is copied to DIR/model.safetensors.
//
// The winner does not depend on timing: the solved seed with the fewest epochs (of equals the lower seed), or,
// when none is solved, the best score, then the lower validation loss, then the lower seed. A seed that has
// run as many epochs as the best solved one needed can no longer win and is stopped; how far it got by then
// does depend on timing, and nothing else does.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "runs/session.hpp"

namespace espalier {

struct SeedRow {
  std::uint64_t seed = 0;
  std::uint64_t epochs = 0;
  double score = 0, validation_loss = 0;  // of the best evaluation
  bool solved = false, started = false;
  std::string outcome = "waiting";  // running, finished, solved, hopeless, interrupted, failed
  std::string weights_hash = {};
  Json summary = {};              // as of the same seed trained alone
  std::exception_ptr error = {};  // of a seed that failed
};

struct SeedsReport {
  std::vector<SeedRow> rows;  // by seed
  std::size_t winner = 0;     // index into rows; without meaning when interrupted
  bool interrupted = false;
  double seconds = 0;  // wall time of this call

  // What `espalier train --seeds K --json` prints: the winner's summary and a list of all seeds.
  Json summary(const RunFolder& folder, int threads) const;
};

// Called after every epoch of any seed, one call at a time; returning false interrupts all of them.
using SeedsWatcher = std::function<bool(const std::vector<SeedRow>& rows)>;

// Trains or continues the seeds of a folder whose config has "seeds" > 1. min(K, workers) seeds run at the
// same time and share the workers. A seed that fails does not stop the others; all failing is an Error.
SeedsReport train_seeds(const RunFolder& folder, const ThreadPool& pool, const SessionOptions& options,
                        const SeedsWatcher& watcher);

// A new run of either kind: makes the folder and writes its config.json. With `force` an old run in it, of
// either kind, is removed; files that are not ours stay.
RunFolder create_run(const std::string& path, const Json& config, bool force);

// Whether `a` wins against `b`.
bool wins(const SeedRow& a, const SeedRow& b);

}  // namespace espalier
