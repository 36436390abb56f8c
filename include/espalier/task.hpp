// A task is data and defaults for a model, under a name: what `espalier train` can do, and what other front ends offer.
//
//   for (const Task& task : all_tasks()) std::printf("%s: %s\n", task.name.c_str(), task.summary.c_str());
//   const std::unique_ptr<Objective> objective = find_task("life").options->make_objective(1);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/fields.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// The typed settings of one task: data and defaults for a model.
class TaskOptions {
 public:
  virtual ~TaskOptions() = default;
  virtual std::unique_ptr<TaskOptions> clone() const = 0;
  virtual Fields fields() = 0;
  // Model and data for one seed. Throws Error for anything impossible, before any long work.
  virtual std::unique_ptr<Objective> make_objective(std::uint64_t seed) const = 0;
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
const std::vector<Task>& all_tasks();          // in the order users see
const Task& find_task(std::string_view name);  // an Error that names the nearest for an unknown one

}  // namespace espalier
