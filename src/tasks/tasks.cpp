// The registry: the one place where a task is found by its name.
#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "tasks/task_families.hpp"

namespace espalier {

const std::vector<Task>& all_tasks() {
  static const std::vector<Task> tasks = [] {
    std::vector<Task> list;
    add_lattice_tasks(list);
    add_graph_tasks(list);
    return list;
  }();
  return tasks;
}

const Task& find_task(std::string_view name) {
  const std::vector<Task>& tasks = all_tasks();
  const auto found = std::ranges::find_if(tasks, [&](const Task& task) { return task.name == name; });
  if (found != tasks.end()) return *found;
  std::vector<std::string> names;
  for (const Task& task : tasks) names.push_back(task.name);
  const std::string nearest = nearest_word(name, names);
  fail("task", fmt::format("\"{}\"", name), "the name of a task",
       nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

}  // namespace espalier
