#include "runs/run_folder.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "espalier/error.hpp"
#include "base/hash.hpp"
#include "base/files.hpp"
#include "runs/checkpoint.hpp"

namespace espalier {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = "config.json";
constexpr const char* kMetrics = "metrics.csv";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kCheckpoint = "checkpoint.safetensors";
// All that a run writes but its config.
constexpr const char* kMade[] = {kCheckpoint, kModel, kMetrics, "loss.svg", "gates.svg", "growth.gif"};

}  // namespace

bool RunFolder::holds_run(const std::string& path) { return fs::exists(path + "/" + kConfig); }

std::string RunFolder::model_file(const std::string& path) {
  return fs::is_directory(path) ? path + "/model.safetensors" : path;
}

RunFolder RunFolder::create(const std::string& path, const std::string& config, bool force) {
  if (holds_run(path) && !force)
    fail("train", fmt::format("the run folder {}, which holds a run", path), "a new folder",
         "continue it with --resume, or replace it with --force, or name another with --out");
  make_folder(path);
  remove_stale_temporaries(path);
  if (!holds_run(path) && !force && !fs::is_empty(path))
    fail("train", fmt::format("the folder {}, which holds other files", path), "a new or an empty folder",
         "name another with --out, or write among them with --force");
  RunFolder run(path, config);
  // First what may fail (a full or read-only disk), then the removal of the old run: nothing is lost early.
  // A kill in between leaves a checkpoint of the old run, which checkpoint() refuses by its config hash.
  write_atomically(run.file(kConfig), std::string_view(config));
  for (const char* name : kMade) fs::remove(run.file(name));
  return run;
}

void RunFolder::clear(const std::string& path) {
  // The config last: as long as it is there, the folder is known as a run.
  for (const char* name : kMade) fs::remove(path + "/" + name);
  fs::remove(path + "/" + kConfig);
}

RunFolder RunFolder::open(const std::string& path) {
  if (!fs::is_directory(path)) fail("resume", path, "a run folder", "give the folder named by --out");
  if (!holds_run(path))
    fail("resume", fmt::format("{}, which has no config.json", path), "a folder made by espalier train");
  remove_stale_temporaries(path);  // what a kill in the middle of a write left behind
  return RunFolder(path, read_text(path + "/" + kConfig, 1 << 24));
}

void RunFolder::append_metrics(const TrainState& state) {
  const bool fresh = !fs::exists(file(kMetrics));
  std::string text;
  if (fresh) {
    text = "epoch,seconds,loss,score,validation_loss,solved";
    for (const auto& [name, value] : state.last.extra) text += "," + name;
    text += "\n";
  }
  text += fmt::format("{},{:.3f},{},{},{},{}", state.epoch, state.seconds, state.loss, state.last.score,
                      state.last.loss, state.last.solved ? 1 : 0);
  for (const auto& [name, value] : state.last.extra) text += fmt::format(",{}", value);
  append_text(file(kMetrics), text + "\n");
}

void RunFolder::trim_metrics(std::uint64_t epoch) {
  std::ifstream in(file(kMetrics));
  if (!in) return;
  std::string kept, line;
  bool header = true;
  while (std::getline(in, line) && !in.eof()) {  // a last line without its end was cut off by a kill
    if (header || std::strtoull(line.c_str(), nullptr, 10) <= epoch) kept += line + "\n";
    header = false;
  }
  in.close();
  if (kept.empty())
    fs::remove(file(kMetrics));
  else
    write_atomically(file(kMetrics), std::string_view(kept));
}

void RunFolder::write_checkpoint(Trainer& trainer, bool finished) const {
  SafetensorsFile checkpoint = make_checkpoint(trainer, finished);
  checkpoint.metadata["config_hash"] = Hasher().add(config_).hex();
  write_safetensors(file(kCheckpoint), checkpoint);
}

void RunFolder::write_model(const Trainer& trainer) const {
  write_safetensors(file(kModel), make_model(trainer, config_));
}

std::optional<SafetensorsFile> RunFolder::checkpoint() const {
  if (!fs::exists(file(kCheckpoint))) return std::nullopt;
  SafetensorsFile checkpoint = read_safetensors(file(kCheckpoint));
  if (checkpoint.meta("config_hash") != Hasher().add(config_).hex())
    fail("resume", fmt::format("a checkpoint in {} that was made with another config.json", path_),
         "one made with this config", "restore config.json, or start anew with --force");
  return checkpoint;
}

}  // namespace espalier
