// The tasks on graphs.
#include "models/dag/table_objective.hpp"
#include "models/message/simplify_objective.hpp"
#include "tasks/task_families.hpp"

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

}  // namespace

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

}  // namespace espalier
