// A named job that `espalier train` can do. A task declares its options as data: the program makes flags,
// help, config.json and checks out of the same list.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "espalier/objective.hpp"

namespace espalier {

using Json = nlohmann::json;

// One option of a task: `--name VALUE` on the command line, "name" in config.json.
// The type of the default (integer, number, boolean, string) is the type of the option.
struct TaskOption {
  std::string name;  // with dashes, e.g. "fire-rate"
  Json value;        // default
  std::string help = {};
  double least = -1e300, most = 1e300;    // for numbers
  std::vector<std::string> choices = {};  // for strings; empty = any
};

class Task {
 public:
  virtual ~Task() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;  // one line
  // The task's own options; those of the trainer (epochs, lr, seed, ...) are shared, and a task sets its
  // defaults for them by naming them here too.
  virtual std::vector<TaskOption> options() const = 0;
  // Builds the model and data for one seed. `config` holds a value for every option, already type-checked.
  // Throws Error for anything impossible, before any work starts.
  virtual std::unique_ptr<Objective> make(const Json& config, std::uint64_t seed) const = 0;
};

// All tasks, in the order of `espalier train --list`.
const std::vector<std::unique_ptr<Task>>& all_tasks();
const Task& find_task(const std::string& name);  // an Error that names the nearest for an unknown one

}  // namespace espalier
