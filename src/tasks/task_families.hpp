// The families of tasks, each adding its own in the order users see. A new family is one file and one line here and in
// tasks.cpp.
#pragma once

#include <vector>

#include "espalier/task.hpp"

namespace espalier {

void add_lattice_tasks(std::vector<Task>& tasks);
void add_graph_tasks(std::vector<Task>& tasks);

}  // namespace espalier
