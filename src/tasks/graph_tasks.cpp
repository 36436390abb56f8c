// The tasks on graphs, as the registry and the command line see them.
#include "models/message/simplify_model.hpp"
#include "models/message/simplify_objective.hpp"
#include "models/dag/table_objective.hpp"
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
        {"data", "",
         "expressions from a file of `espalier data simplify`, not generated; the rest of it is to learn from"},
        {"features", 48, "width of the hidden layers", 1, 4096, {}},
        {"layers", 3, "message-passing layers: how far a node sees", 0, 64, {}},
        {"aggregation", "mean", "how messages are put together", 0, 0, {"mean", "sum", "max"}},
        {"norm", "layer", "normalisation", 0, 0, {"layer", "none"}},
        {"activation", "relu", "activation", 0, 0, {"linear", "relu", "leaky-relu", "tanh"}},
        {"reference", false, "train with the plain sequential code (slow; for comparison)"},
    };
  }

  std::unique_ptr<Objective> make(const Json& config, std::uint64_t seed) const override {
    return std::make_unique<SimplifyObjective>(simplify_data_options(config, seed), simplify_net_options(config),
                                               config.at("batch-size").get<std::size_t>(), seed,
                                               config.at("reference").get<bool>());
  }
};

class TableTask : public Task {
 public:
  std::string name() const override { return "table"; }
  std::string summary() const override { return "learn a column of a CSV file with a network of any shape"; }

  std::vector<TaskOption> options() const override {
    return {
        {"epochs", 600, ""},
        {"lr", 0.01, ""},
        {"schedule", "cosine", ""},
        {"weight-decay", 0.3, ""},
        {"eval-every", 200, ""},
        {"csv", "", "the table: a first line of names, then rows"},
        {"target", "", "the column to predict"},
        {"kind", "auto", "auto: words are classes, numbers are regressed", 0, 0, {"auto", "classify", "regress"}},
        {"impute", false, "missing values become the mean or the most frequent word", 0, 0, {}},
        {"hidden", "16", "hidden layers, e.g. 16,8; empty for none"},
        {"density", 1.0, "fraction of the edges between neighbouring layers", 1e-6, 1, {}},
        {"activation", "tanh", "activation of hidden nodes", 0, 0, {"linear", "relu", "leaky-relu", "sigmoid", "tanh"}},
        {"no-skip", false, "leave out the edges from inputs to outputs that put a linear model within reach", 0, 0, {}},
        {"fan-in-scaling", false, "scale what a node hears by 1/sqrt(number of its edges)", 0, 0, {}},
        {"test-fraction", 0.25, "rows kept for the test", 0, 0.9, {}},
        {"validation-fraction", 0.2, "of the rest, rows that choose the best weights", 0, 0.9, {}},
        {"batch-size", 32, "rows in a mini-batch", 1, 1e6, {}},
        {"grow", 0, "edges to split and tie to further inputs in the first half of training", 0, 10000, {}},
        {"prune", 0.0, "per cent of the edges to cut in the second half", 0, 100, {}},
        {"reference", false, "train with the plain sequential code (slow; for comparison)"},
    };
  }

  std::unique_ptr<Objective> make(const Json& config, std::uint64_t seed) const override {
    return std::make_unique<TableObjective>(table_options(config, seed));
  }
};

}  // namespace

void add_graph_tasks(TaskList& tasks) {
  tasks.push_back(std::make_unique<SimplifyTask>());
  tasks.push_back(std::make_unique<TableTask>());
}

}  // namespace espalier
