// What a trained automaton is put through after training: the validation of its task and the published trials.
#pragma once

#include <string>
#include <vector>

#include "espalier/thread_pool.hpp"
#include "models/lattice/lattice_model.hpp"

namespace espalier {

struct Trial {
  std::string name, description;
  double score = 0;    // fraction of loss-channel bits right
  bool exact = false;  // all of them
};

struct TrialOptions {
  std::uint64_t seed = 1;
  std::uint64_t reset_steps = 4000;  // of the trial with a random reset at every step
};

std::vector<Trial> run_trials(const LatticeModel& model, const TrialOptions& options, const ThreadPool& pool);

}  // namespace espalier
