// Each family of tasks adds its own to the registry.
#pragma once

#include <memory>
#include <vector>

#include "tasks/task.hpp"

namespace espalier {

using TaskList = std::vector<std::unique_ptr<Task>>;

void add_lattice_tasks(TaskList& tasks);
void add_graph_tasks(TaskList& tasks);

}  // namespace espalier
