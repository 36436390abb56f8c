#include "bench/bench_case.hpp"

#include <limits>

#include "espalier/optimizer.hpp"

namespace espalier {
namespace {

struct Training {
  explicit Training(const RunConfig& config)
      : options(config.train),
        objective(config.make_objective()),
        optimizer(options.optimizer, objective->parameters().num_parameters()) {}

  void step(const ThreadPool& pool) {
    Parameters& parameters = objective->parameters();
    objective->begin_step(steps, 0);  // every step as in the beginning of training
    parameters.zero_grad(pool);
    loss = objective->accumulate(steps, pool, phases);
    optimizer.step(parameters, options.schedule.at(steps, options.steps), pool);
    objective->end_step();
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
    add_refine_bench(list);
    add_circuit_bench(list);
    add_graph_bench(list);
    add_edit_bench(list);
    add_train_bench(list);
    add_run_bench(list);
    add_thread_bench(list);
    return list;
  }();
  return cases;
}

BenchBody training_body(const RunConfig& config, int result_steps) {
  const auto training = std::make_shared<Training>(config);
  return {[training](const ThreadPool& pool) { training->step(pool); },
          [config, result_steps](const ThreadPool& pool) {
            Training fresh(config);
            for (int i = 0; i < result_steps; ++i) fresh.step(pool);
            return fresh.objective->parameters().hash();
          }};
}

}  // namespace espalier
