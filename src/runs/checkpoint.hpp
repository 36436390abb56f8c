// A training session frozen in one safetensors file, sealed as a whole: a file with any bit changed is refused.
#pragma once

#include <optional>
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

// What a search over circuits has found: the file of its model. It is part of the session, as later searches go on from
// it.
struct RefinedModel {
  Evaluation evaluation;
  SafetensorsFile file;
};

// Weights, best weights, optimizer moments, the objective's state, counters, and the refined model when there is one.
SafetensorsFile make_checkpoint(Trainer& trainer, const CheckpointNotes& notes,
                                const std::optional<RefinedModel>& refined = {});

struct Restored {
  bool finished = false;
  std::optional<RefinedModel> refined;
  bool tells_refined = true;  // whether there is one; older versions kept it in the folder's model alone
};

// Puts everything back, or throws an Error and changes nothing: when the file is damaged, of another model, made with
// other settings or from other data than `expected` says.
Restored restore_checkpoint(Trainer& trainer, const SafetensorsFile& file, const CheckpointNotes& expected);

}  // namespace espalier
