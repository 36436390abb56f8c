#include "bench/bench_case.hpp"

#include <limits>

#include "runs/config.hpp"
#include "espalier/optimizer.hpp"
#include "bench/bench_makers.hpp"

namespace espalier {
namespace {

struct Training {
  explicit Training(const Json& config)
      : options(train_options(config)),
        objective(find_task(config.at("task").get<std::string>()).make(config, config_seed(config))),
        optimizer(options.optimizer, objective->parameters().num_parameters()) {}

  void epoch(const ThreadPool& pool) {
    Parameters& parameters = objective->parameters();
    objective->begin_step(steps, 0, loss);  // every epoch as in the beginning of training
    parameters.zero_grad(pool);
    loss = objective->accumulate(steps, pool, phases);
    optimizer.step(parameters, options.schedule.at(steps, options.epochs), pool);
    ++steps;
  }

  TrainOptions options;
  std::unique_ptr<Objective> objective;
  Optimizer optimizer;
  PhaseSeconds phases;
  std::uint64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

const BenchList& all_bench_cases() {
  static const BenchList cases = [] {
    BenchList list;
    add_lattice_bench(list);
    add_lattice_scaling_bench(list);
    add_circuit_bench(list);
    add_graph_bench(list);
    add_train_bench(list);
    return list;
  }();
  return cases;
}

BenchBody training_body(const Json& config, int result_epochs) {
  const Json full = checked_config(config);
  const auto training = std::make_shared<Training>(full);
  return {[training](const ThreadPool& pool) { training->epoch(pool); },
          [full, result_epochs](const ThreadPool& pool) {
            Training fresh(full);
            for (int i = 0; i < result_epochs; ++i) fresh.epoch(pool);
            return fresh.objective->parameters().hash();
          }};
}

}  // namespace espalier
