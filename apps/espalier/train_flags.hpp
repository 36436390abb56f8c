// What `espalier train` can be told beside the options of the task.
#pragma once

#include <cstdint>
#include <string>

#include "runs/session.hpp"

namespace espalier::app {

struct TrainFlags {
  std::string out, resume;
  std::uint64_t seed = 1;
  int threads = 0;
  bool force = false, quiet = false, json = false, timing = false, require_solved = false, list = false;
  SessionOptions session;
};

// `espalier train --seeds K`, new or resumed; returns the exit code.
int train_many(const RunFolder& folder, const ThreadPool& pool, const TrainFlags& flags);

}  // namespace espalier::app
