// The tasks on graphs, as the registry and the command line see them.
#include "tasks/simplify_model.hpp"
#include "tasks/simplify_objective.hpp"
#include "tasks/task_makers.hpp"

namespace espalier {
namespace {

class SimplifyTask : public Task {
 public:
  std::string name() const override { return "simplify"; }
  std::string summary() const override { return "learn to simplify arithmetic expressions as local rewrites"; }

  std::vector<TaskOption> options() const override {
    return {
        {"epochs", 1000, ""},
        {"lr", 0.004, ""},
        {"schedule", "cosine", ""},
        {"clip-norm", 1.0, ""},
        {"beta2", 0.98, ""},
        {"eval-every", 50, ""},
        {"batch-size", 128, "expressions in a mini-batch", 1, 1e6, {}},
        {"train-examples", 20000, "expressions to learn from", 1, 1e7, {}},
        {"validation-examples", 1000, "expressions that choose the best weights", 1, 1e7, {}},
        {"test-examples", 2000, "expressions never seen in training", 0, 1e7, {}},
        {"deep-examples", 1000, "expressions of twice the depth", 0, 1e7, {}},
        {"depth", 5, "depth of the deepest training expression", 1, 12, {}},
        {"most-number", 9, "numbers are 0 to this one", 1, 99, {}},
        {"share", false, "one node for equal subexpressions", 0, 0, {}},
        {"features", 48, "width of the hidden layers", 1, 4096, {}},
        {"layers", 3, "message-passing layers: how far a node sees", 0, 64, {}},
        {"aggregation", "mean", "how messages are put together", 0, 0, {"mean", "sum", "max"}},
        {"norm", "layer", "normalisation", 0, 0, {"layer", "none"}},
        {"activation", "relu", "activation", 0, 0, {"linear", "relu", "leaky-relu", "tanh"}},
    };
  }

  std::unique_ptr<Objective> make(const Json& config, std::uint64_t seed) const override {
    return std::make_unique<SimplifyObjective>(simplify_data_options(config, seed), simplify_net_options(config),
                                               config.at("batch-size").get<std::size_t>(), seed);
  }
};

}  // namespace

void add_graph_tasks(TaskList& tasks) { tasks.push_back(std::make_unique<SimplifyTask>()); }

}  // namespace espalier
