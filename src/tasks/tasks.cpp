// The registry, the one place where a task is found by its name; and the tasks on graphs.
#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "models/dag/table_objective.hpp"
#include "models/message/simplify_objective.hpp"
#include "tasks/lattice_tasks.hpp"

namespace espalier {
namespace {

class SimplifyTask : public TaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<SimplifyTask>(*this); }
  Fields fields() override { return fields_of(options_); }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    return std::make_unique<SimplifyObjective>(options_, seed);
  }
  std::vector<std::string> input_files() const override {
    return options_.data.file.empty() ? std::vector<std::string>() : std::vector<std::string>{options_.data.file};
  }

 private:
  SimplifyTaskOptions options_;
};

class TableTask : public TaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<TableTask>(*this); }
  Fields fields() override { return fields_of(options_); }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    return std::make_unique<TableObjective>(options_, seed);
  }
  std::vector<std::string> input_files() const override {
    return options_.csv.empty() ? std::vector<std::string>() : std::vector<std::string>{options_.csv};
  }

 private:
  TableOptions options_;
};

void add_graph_tasks(std::vector<Task>& tasks) {
  TrainOptions simplify{.steps = 1000, .eval_every = 50};
  simplify.optimizer.beta2 = 0.98f;
  simplify.optimizer.clip_norm = 1.0f;
  simplify.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.004, .step_every = 1000};
  tasks.push_back({"simplify", "learn to simplify arithmetic expressions as local rewrites", simplify, 1,
                   std::make_shared<SimplifyTask>()});
  TrainOptions table{.steps = 600, .eval_every = 200};
  table.optimizer.weight_decay = 0.3f;
  table.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.01, .step_every = 1000};
  tasks.push_back(
      {"table", "learn a column of a CSV file with a network of any shape", table, 1, std::make_shared<TableTask>()});
}

}  // namespace

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
