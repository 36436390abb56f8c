// A model is an object in memory: it can be made from typed options, trained, evaluated, saved, loaded, hardened, and
// snapshot while it trains. Model files are safetensors; nothing of a task is needed to use one. What each kind can do
// is in lattice_model.hpp, dag_nn.hpp and message_passing.hpp. A task is data and defaults for a model, under a name.
// Example:
//   for (const Task& task : all_tasks()) std::printf("%s: %s\n", task.name.c_str(), task.summary.c_str());
//   const std::unique_ptr<Objective> objective = find_task("life").options->make_objective(1);
//   const LoadedModel loaded = load_model("runs/board");  // a file, or the folder of a run
//   for (const auto& [name, value] : loaded.model->facts()) std::printf("%s\n", name.c_str());
//   save_model("copy.safetensors", *loaded.model, loaded.notes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/error.hpp"
#include "espalier/fields.hpp"
#include "espalier/parameters.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// A picture for the folder of a run; it is drawn while its model is there.
struct ModelPicture {
  std::string name;  // of its file
  std::function<std::vector<std::byte>(const ThreadPool& pool)> draw;
};
// How the losses of a training run are told.
struct LossWords {
  std::string training = "training", validation = "validation", unit = "loss";
  double samples = 0;  // over which the loss of a mini-batch is a sum, where the validation's is that of one; 0: not so
};

class Model {
 public:
  virtual ~Model() = default;

  virtual std::string kind() const = 0;  // as files name it: "logic automaton", "table network", "rewrite network"
  // Of its file, as load_model() knows them: a higher one where older versions would take it for something else.
  virtual int format() const { return 2; }
  virtual Parameters& parameters() = 0;
  virtual const Parameters& parameters() const = 0;
  // Of what it computes: the weights, or the circuit where weights did not make it.
  virtual std::string hash() const { return parameters().hash(); }
  // Adds what a file needs beside the weights: options, wiring, topology, vocabulary.
  virtual void describe(SafetensorsFile& file) const = 0;
  // What it is, for people.
  virtual Facts facts() const = 0;
  // The task that trained it, for kinds that keep its name.
  virtual void set_task(const std::string& /*name*/) {}
  // For the folder of a run, beside loss.svg. Runs know their own files by name (src/runs/own_files.cpp).
  virtual LossWords loss_words() const { return {}; }
  virtual std::vector<ModelPicture> pictures(const Provenance& /*made*/) const { return {}; }
};

// What a file says of a model's making, beside the model itself: "config", "step", "provenance", "score" and "loss" on
// the validation part, "solved" and "verdict.score" once it was judged, ...
using ModelNotes = std::map<std::string, std::string>;
void add_verdict(ModelNotes& notes, const Verdict& verdict);  // nothing where it was not judged
// How the model of a file came about; empty where the file does not tell.
Provenance provenance_of(const ModelNotes& notes);

SafetensorsFile model_file(const Model& model, const ModelNotes& notes = {});
void save_model(const std::string& path, const Model& model, const ModelNotes& notes = {});

// The right kind of model for the file's kind and format, unknown ones being Errors. `path` may be a run's folder.
struct LoadedModel {
  std::unique_ptr<Model> model;
  ModelNotes notes;
};
LoadedModel load_model(const std::string& path);
LoadedModel load_model(const SafetensorsFile& file, const std::string& name);
// A model that is a circuit, or a netlist, told apart by what is in the file: see circuit_model.hpp.
struct LoadedCircuit;
LoadedCircuit load_circuit(const std::string& path);
// The model of one kind, or an Error that says which other the file holds.
template <class Wanted>
std::unique_ptr<Wanted> load_model_as(const std::string& path, std::string_view hint = {}) {
  std::unique_ptr<Model> model = load_model(path).model;
  auto* wanted = dynamic_cast<Wanted*>(model.get());
  if (!wanted) fail("load model", path + ", a " + model->kind(), std::string("a ") + Wanted::kKind, hint);
  model.release();
  return std::unique_ptr<Wanted>(wanted);
}

// The typed settings of one task: data and defaults for a model.
class TaskOptions {
 public:
  virtual ~TaskOptions() = default;
  virtual std::unique_ptr<TaskOptions> clone() const = 0;
  virtual Fields fields() = 0;
  // Model and data for one seed. Throws Error for anything impossible, before any long work.
  virtual std::unique_ptr<Objective> make_objective(std::uint64_t seed) const = 0;
  // Takes over what the objective that was made from these options decided in their place, so that they say what is
  // trained.
  virtual void follow(const Objective& /*made*/) {}
  // Files that the data come from: a run that goes on checks that they are still the same.
  virtual std::vector<std::string> input_files() const { return {}; }
};

// A named job: what it is called, and its defaults.
struct Task {
  std::string name, summary;
  TrainOptions train;
  std::uint64_t seeds = 1;
  std::shared_ptr<const TaskOptions> options;
  std::uint64_t budget = 0;  // see RunConfig
  // What the publication that a task comes from did otherwise, by the names of settings.
  std::vector<std::pair<std::string, std::string>> published = {};
};
const std::vector<Task>& all_tasks();          // that come with the library, in the order users see
const Task& find_task(std::string_view name);  // an Error that names the nearest for an unknown one
// A task of the caller's own: from then on it is found by its name, and its runs can be resumed. On any thread; an
// Error for a name that is taken.
void register_task(Task task);

}  // namespace espalier
