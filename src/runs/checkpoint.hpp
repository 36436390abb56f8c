// A training session frozen in one safetensors file, sealed as a whole: a file with any bit changed is refused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// Files that a run reads, and their hashes.
using InputHashes = std::vector<std::pair<std::string, std::string>>;
InputHashes hash_inputs(const std::vector<std::string>& files);

struct CheckpointNotes {
  bool finished = false;    // a run with nothing left to do
  std::string config_hash;  // of the run's settings
  // The files its data come from, and a hash of each.
  InputHashes inputs = {};
};

// Weights, best weights, optimizer moments, the objective's state, counters.
SafetensorsFile make_checkpoint(Trainer& trainer, const CheckpointNotes& notes);

// Puts everything back, or throws an Error and changes nothing: when the file is damaged, of another model, made with
// other settings or from other data than `expected` says. Returns whether the run had finished.
bool restore_checkpoint(Trainer& trainer, const SafetensorsFile& file, const CheckpointNotes& expected);

}  // namespace espalier
