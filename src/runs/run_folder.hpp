// The folder of one training run: config.json, metrics.csv, model.safetensors, checkpoint.safetensors.
// Every file but the metrics is replaced whole; metrics.csv grows by one line an evaluation.
#pragma once

#include <optional>
#include <string>

#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

class RunFolder {
 public:
  // A new run: refuses a folder that already holds one unless `force`, and then clears only files of ours.
  static RunFolder create(const std::string& path, const std::string& config, bool force);
  // An existing run; an Error when the folder was not made by this program.
  static RunFolder open(const std::string& path);
  static bool holds_run(const std::string& path);
  // Where a model is meant by its run's folder: the file in it; any other path as it is.
  static std::string model_file(const std::string& path);
  // Removes the files of a run from a folder, and nothing else.
  static void clear(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& config() const { return config_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Adds the state's last evaluation to metrics.csv (with a header first).
  void append_metrics(const TrainState& state);
  // Drops lines after `epoch`: evaluations made after the checkpoint that a resumed run starts from.
  void trim_metrics(std::uint64_t epoch);
  void write_checkpoint(Trainer& trainer, bool finished) const;
  void write_model(const Trainer& trainer) const;
  std::optional<SafetensorsFile> checkpoint() const;  // empty when the run was killed before its first

 private:
  RunFolder(std::string path, std::string config) : path_(std::move(path)), config_(std::move(config)) {}
  std::string path_, config_;
};

}  // namespace espalier
