// The folder of one training run: config.json, metrics.csv, model.safetensors and two generations of checkpoints.
// Every file but the metrics is replaced whole; metrics.csv grows by one line per evaluation. A run that is being
// trained owns its folder by a handle and a lock, which die with its process: files go into that folder, whatever
// becomes of its name, and a run whose folder was moved, removed or taken over is saved and then stopped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "espalier/model.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/trainer.hpp"
#include "runs/metrics_file.hpp"
#include "runs/own_files.hpp"

namespace espalier {

class RunFolder {
 public:
  // A new run. Refuses a folder with anything in it; with `force` one that holds a run, and nothing but what this
  // program has written, will do: the old run is put aside, and removed by drop_replaced(). Without that it comes back
  // when the last copy of this object is gone.
  static RunFolder create(const std::string& path, const std::string& config, bool force);
  // An existing run; an Error when the folder was not made by this library.
  static RunFolder open(const std::string& path);
  static bool holds_run(const std::string& path);
  static bool owns(const std::string& path);  // a file that a run has written in its folder, or would
  static std::string seed_folder(const std::string& path, std::uint64_t seed);

  virtual ~RunFolder() = default;
  RunFolder(const RunFolder&) = default;
  RunFolder(RunFolder&&) = default;
  RunFolder& operator=(const RunFolder&) = default;
  RunFolder& operator=(RunFolder&&) = default;

  const std::string& path() const { return path_; }
  const std::string& config() const { return config_; }
  const std::string& remark() const { return remark_; }  // for the user, about what was found here; or empty
  void replace_config(const std::string& config);
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  static constexpr const char* kModel = kModelFile;
  std::string model() const { return file(kModel); }

  // The new run is there to stay.
  void drop_replaced() const;
  // An Error when the folder was moved, removed or taken over by another process, which says where the run is saved.
  void check_place() const;

  // One of its files, as checkpoint() names it; what may lie with another rank is read and written here only.
  virtual SafetensorsFile read(const std::string& path) const;
  // Files are given as their bytes, which is how they travel: nothing holds them twice.
  virtual void write(const std::string& name, std::span<const std::byte> file) const;
  virtual bool has(const std::string& name) const;  // one that is not empty

  // Adds the state's last evaluation to metrics.csv (with a header first).
  virtual void append_metrics(const TrainState& state) const;
  // Drops lines after a checkpoint that a resumed run starts from: see trim_metrics in metrics_file.hpp.
  virtual MetricsCheck trim_metrics(std::uint64_t step, const MetricsSeal& expected) const;
  // The file, of a long one every second line, or every fourth, ...; empty where there is none.
  virtual std::string metrics() const;

  // The old checkpoint stays as the previous one until the next is written. With the checkpoint on disk, check_place().
  virtual void write_checkpoint(std::span<const std::byte> checkpoint) const;
  virtual std::optional<std::string> checkpoint() const;           // its path, when there is one ...
  virtual std::optional<std::string> previous_checkpoint() const;  // ... and that of the one before
  virtual void drop_checkpoint() const;                            // a damaged one: the one before takes its place

 protected:
  RunFolder(std::string path, std::string config);  // that lies elsewhere

 private:
  struct Held;
  RunFolder(std::string path, std::shared_ptr<Held> held);
  const Folder& folder() const;  // to read from
  const Folder& place() const;   // to write to: where the run is, or is saved
  // Writes there, and once more if the folder's files were being deleted meanwhile.
  void put(const std::function<void(const Folder& to)>& write) const;

  std::string path_, config_, remark_;
  std::shared_ptr<Held> held_;
};

// Pictures of a finished run, beside its files: loss.svg from metrics.csv, and those that its model draws.
void write_run_pictures(const RunFolder& folder, const LoadedModel& best, const ThreadPool& pool, bool only_missing);

}  // namespace espalier
