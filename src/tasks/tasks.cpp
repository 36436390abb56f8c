// The registry, the one place where a task is found by its name; and the tasks on graphs.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "espalier/error.hpp"
#include "models/dag/table_objective.hpp"
#include "models/message/simplify_objective.hpp"
#include "tasks/registry.hpp"

namespace espalier {
namespace {

// The options of an objective that may learn from a file: kFile is its path, or empty.
template <class Options, class Made, auto kFile>
class GraphTask : public TaskOptions {
 public:
  std::unique_ptr<TaskOptions> clone() const override { return std::make_unique<GraphTask>(*this); }
  Fields fields() override { return fields_of(options_); }
  std::unique_ptr<Objective> make_objective(std::uint64_t seed) const override {
    return std::make_unique<Made>(options_, seed);
  }
  std::vector<std::string> input_files() const override {
    const std::string file = kFile(options_);
    return file.empty() ? std::vector<std::string>() : std::vector<std::string>{file};
  }

 private:
  Options options_;
};
using SimplifyTask =
    GraphTask<SimplifyTaskOptions, SimplifyObjective, [](const SimplifyTaskOptions& o) { return o.data.file; }>;
using TableTask = GraphTask<TableOptions, TableObjective, [](const TableOptions& o) { return o.csv; }>;

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

namespace {

// Tasks of users, which stay where they are.
struct OwnTasks {
  std::mutex mutex;
  std::deque<Task> list;
};
OwnTasks& own_tasks() {
  static OwnTasks own;
  return own;
}

const Task* named(std::string_view name, const auto& tasks) {
  const auto found = std::ranges::find(tasks, name, &Task::name);
  return found == tasks.end() ? nullptr : &*found;
}

}  // namespace

void register_task(Task task) {
  if (task.name.empty() || !task.options)
    fail("register task", fmt::format("\"{}\"{}", task.name, task.options ? "" : " without options"),
         "a name and options");
  OwnTasks& own = own_tasks();
  const std::lock_guard lock(own.mutex);
  if (named(task.name, all_tasks()) || named(task.name, own.list))
    fail("register task", fmt::format("\"{}\", the name of another task", task.name), "a name of its own");
  own.list.push_back(std::move(task));
}

const Task* known_task(std::string_view name, std::span<const Task> tasks) {
  if (const Task* given = named(name, tasks)) return given;
  OwnTasks& own = own_tasks();
  const std::lock_guard lock(own.mutex);
  return named(name, own.list);
}

const Task& find_task(std::string_view name, std::span<const Task> tasks, std::string_view where) {
  if (const Task* known = known_task(name, tasks)) return *known;
  std::vector<std::string> names;
  for (const Task& task : tasks) names.push_back(task.name);
  const std::string nearest = nearest_word(name, names);
  fail("task", fmt::format("\"{}\"{}", name, where), "the name of a task",
       nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

const Task& find_task(std::string_view name) { return find_task(name, all_tasks(), ""); }

}  // namespace espalier
