// The configuration of a run: one flat JSON object with the task's name, the seed and a value for every
// option. The command line, config.json and the metadata of a model all hold the same object.
#pragma once

#include <string>
#include <vector>

#include "tasks/task.hpp"
#include "espalier/trainer.hpp"

namespace espalier {

// The trainer's options, shared by all tasks, with this task's defaults; then the task's own.
std::vector<TaskOption> all_options(const Task& task);
Json default_config(const Task& task);
// Type, range and choice of every value; missing ones are filled in; unknown ones are errors.
Json checked_config(const Json& config);
Json parse_config(const std::string& text, const std::string& what);
void check_option(const TaskOption& option, const Json& value);

TrainOptions train_options(const Json& config);
std::uint64_t config_seed(const Json& config);

}  // namespace espalier
