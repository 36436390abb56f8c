// What the registry is made of, and finding a task in a list by name: no other file compares names.
#pragma once

#include <span>
#include <vector>

#include "espalier/model.hpp"

namespace espalier {

void add_lattice_tasks(std::vector<Task>& tasks);  // in the order users see

// Of the given ones, or one that a user has registered; or null.
const Task* known_task(std::string_view name, std::span<const Task> tasks);
// An Error that names the nearest for an unknown one; `where` says where the name was found: " in config.json".
const Task& find_task(std::string_view name, std::span<const Task> tasks, std::string_view where);

}  // namespace espalier
