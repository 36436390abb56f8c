// Command-line flags made from a task's list of options.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "runs/config.hpp"

namespace espalier::app {

// Adds --NAME for every option of the task. The returned object receives what the user gave, as a config.
std::shared_ptr<Json> add_task_options(CLI::App& command, const Task& task);

}  // namespace espalier::app
