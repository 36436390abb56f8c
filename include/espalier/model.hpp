// A model is an object in memory: it can be made from typed options, trained, evaluated, saved, loaded, hardened, and
// snapshot while it trains. Model files are safetensors; nothing of a task is needed to use one.
//
//   const std::unique_ptr<Model> model = load_model("runs/board");  // a file, or the folder of a run
//   for (const auto& [name, value] : model->facts()) ...
//   if (const auto* lattice = dynamic_cast<const LatticeModel*>(model.get())) ...
#pragma once

#include <map>
#include <memory>
#include <string>

#include "espalier/parameters.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string kind() const = 0;  // as files name it: "logic automaton", "table network", "rewrite network"
  virtual Parameters& parameters() = 0;
  virtual const Parameters& parameters() const = 0;
  // Adds what a file needs beside the weights: options, wiring, topology, vocabulary.
  virtual void describe(SafetensorsFile& file) const = 0;
  // What it is, for people.
  virtual Facts facts() const = 0;
};

// What a file says of a model's making, beside the model itself: "config", "step", "score", "loss", "solved", ...
using ModelNotes = std::map<std::string, std::string>;

SafetensorsFile model_file(const Model& model, const ModelNotes& notes = {});
void save_model(const std::string& path, const Model& model, const ModelNotes& notes = {});

// The right kind of model for the file's kind and format, unknown ones being Errors. `path` may be a run's folder.
struct LoadedModel {
  std::unique_ptr<Model> model;
  ModelNotes notes;
};
LoadedModel load_model(const std::string& path);
LoadedModel load_model(const SafetensorsFile& file, const std::string& name);

}  // namespace espalier
