// What the folder of a run tells: settings, how far it is, metrics, pictures, model and seeds. Reading takes no lock
// and changes nothing, so a run may be looked at any number of times while another process trains it.
// Example:
//   const RunRecord record = RunRecord::read("runs/board");
//   std::printf("%s is %s, step %d\n", record.task.c_str(), record.state.c_str(), static_cast<int>(record.step));
//   if (const std::vector<double>* loss = record.metrics.find("loss"))
//     for (const double value : *loss) std::printf("%g\n", value);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// metrics.csv as numbers: step, seconds, loss, score, validation_loss, passed and what the task adds. A line that is
// not whole, because it is being written or was damaged, counts for nothing.
struct Metrics {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;  // one for each name, all of one length

  std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  const std::vector<double>* find(std::string_view name) const;  // null: no such column
};

struct RunRecord {
  // An Error where there is no run, or its files cannot be read.
  static RunRecord read(const std::string& folder);
  static Metrics read_metrics(const std::string& folder);  // these alone; empty where there are none yet

  std::string folder = {}, task = {};
  std::string config = {};  // the text of config.json
  std::uint64_t first_seed = 1, num_seeds = 1, train_steps = 0;
  // "running", "interrupted" (it can be resumed), "finished", or "solved". A run of several seeds, or under a budget,
  // has ended when its seeds have.
  std::string state = {};
  std::string process = {};  // that trains it: "process 7 on host"; empty: none
  // Of the last checkpoint: optimizer steps, time, and the best evaluation. A run of several seeds has none of its own.
  std::uint64_t step = 0;
  double seconds = 0;
  std::optional<Evaluation> best = {};
  Metrics metrics = {};
  std::vector<std::string> pictures = {};  // paths
  std::string model = {};                  // path; empty: none yet
  ModelNotes model_notes = {};             // all that the model's file says of itself
  std::vector<std::string> seeds = {};     // folders of seeds that are runs of their own, for read()
};

}  // namespace espalier
