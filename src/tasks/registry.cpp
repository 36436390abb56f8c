// The list of tasks: one line each, in the order users see.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "espalier/error.hpp"
#include "tasks/task.hpp"
#include "tasks/task_makers.hpp"

namespace espalier {
namespace {

// Edit distance of two words, to guess what a mistyped name meant.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

const std::vector<std::unique_ptr<Task>>& all_tasks() {
  static const auto tasks = [] {
    std::vector<std::unique_ptr<Task>> list;
    add_lattice_tasks(list);
    add_graph_tasks(list);
    return list;
  }();
  return tasks;
}

const Task& find_task(const std::string& name) {
  const Task* nearest = nullptr;
  for (const auto& task : all_tasks()) {
    if (task->name() == name) return *task;
    if (!nearest || distance(name, task->name()) < distance(name, nearest->name())) nearest = task.get();
  }
  fail("task", fmt::format("\"{}\"", name), "a task that `espalier train --list` shows",
       fmt::format("did you mean {}?", nearest->name()));
}

}  // namespace espalier
