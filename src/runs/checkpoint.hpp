// A training session frozen in one safetensors file, sealed as a whole: a file with any bit changed is refused.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bit_traits.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"
#include "runs/metrics_file.hpp"

namespace espalier {

class Ranks;

// Files that a run reads, and their hashes.
using InputHashes = std::vector<std::pair<std::string, std::string>>;
InputHashes hash_inputs(const std::vector<std::string>& files);
// An Error when ranks (null: there are none) have other files.
void check_same_inputs(const std::vector<std::string>& files, Ranks* ranks);

struct CheckpointNotes {
  bool finished = false;    // a run with nothing left to do
  std::string config_hash;  // of the run's settings
  // The files its data come from, and a hash of each.
  InputHashes inputs = {};
  MetricsSeal metrics = {};        // of the lines that belong to it
  std::vector<Trait> traits = {};  // of the process that made it
  std::string other_bits = {};     // why its bits may not be those of an undisturbed run; empty: they are
};

// What was found without gradients, by construction or by a search over circuits: the file of its model, with its
// provenance. It is part of the session, as later searches go on from it.
struct RefinedModel {
  Evaluation evaluation;
  SafetensorsFile file;
};

// Weights, best weights, optimizer moments, the objective's state, counters, and the refined model when there is one.
SafetensorsFile make_checkpoint(Trainer& trainer, const CheckpointNotes& notes,
                                const std::optional<RefinedModel>& refined = {});

// What its metadata say; the tensors are not looked at.
struct CheckpointSummary {
  std::uint64_t step = 0;
  double seconds = 0;
  bool finished = false;
  std::optional<Evaluation> best = {};  // of the trained or of the refined model; none before the first
};
CheckpointSummary summarize_checkpoint(const SafetensorsFile& file);

struct Restored {
  bool finished = false;
  std::optional<RefinedModel> refined;
  MetricsSeal metrics = {};
  std::vector<Trait> traits = {};
  std::string other_bits = {};
};

// Puts everything back, or throws an Error and changes nothing: when the file is damaged, of another model, made with
// other settings or from other data than `expected` says.
Restored restore_checkpoint(Trainer& trainer, const SafetensorsFile& file, const CheckpointNotes& expected);

}  // namespace espalier
