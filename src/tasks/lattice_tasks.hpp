// The lattice tasks, added in the order users see.
#pragma once

#include <vector>

#include "espalier/task.hpp"

namespace espalier {

void add_lattice_tasks(std::vector<Task>& tasks);

}  // namespace espalier
