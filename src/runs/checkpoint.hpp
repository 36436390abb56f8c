// A training session frozen in one safetensors file, and a model file for users.
#pragma once

#include <string>

#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// Weights, best weights, optimizer moments, counters. `finished` marks a run with nothing left to do.
SafetensorsFile make_checkpoint(Trainer& trainer, bool finished);
// Puts everything back; an Error when the file is of another model. Returns whether the run had finished.
bool restore_checkpoint(Trainer& trainer, const SafetensorsFile& file);

// The best weights so far with all that is needed to use them; `config` is the run's config.json text.
SafetensorsFile make_model(const Trainer& trainer, const std::string& config);
// Copies the tensors named as the parameters out of a file; shapes must agree.
void load_parameters(Parameters& parameters, const SafetensorsFile& file);

}  // namespace espalier
