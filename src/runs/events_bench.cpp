// What a session costs a training step: the shortest one there is, a step of life, by itself, in a run that nobody
// listens to, and in one with eight listeners.

#include "bench/bench_case.hpp"

namespace espalier {
namespace {

constexpr int kSteps = 400;

RunConfig steps_of_life() {
  const std::string steps = std::to_string(kSteps);
  return configure("life", {{"train-steps", steps}, {"eval-every", steps}, {"refine", "0"}, {"budget", "0"}});
}

// Listeners look at what they are told, as a progress line would.
std::string train_with(std::size_t listeners, int workers) {
  Run run = Run::create(steps_of_life(), {});
  double seen = 0;
  for (std::size_t i = 0; i < listeners; ++i)
    run.listen([&seen](const RunEvent& event) { seen += event.state ? event.state->loss : 0; });
  ThreadPool pool(workers);
  return run.train(pool).best().weights_hash;
}

BenchBody prepare_run(std::size_t listeners) {
  return {[listeners](const ThreadPool& pool) { train_with(listeners, pool.workers()); },
          [listeners](const ThreadPool& pool) { return train_with(listeners, pool.workers()); }};
}

BenchBody prepare_steps() {
  const BenchBody one = training_body(steps_of_life());
  return {[one](const ThreadPool& pool) {
            for (int i = 0; i < kSteps; ++i) one.run(pool);
          },
          one.result};
}

}  // namespace

void add_run_bench(BenchList& cases) {
  cases.push_back({"runs/life-steps-alone", "steps/s", kSteps, 0, 0, prepare_steps});
  cases.push_back({"runs/life-no-listener", "steps/s", kSteps, 0, 0, [] { return prepare_run(0); }});
  cases.push_back({"runs/life-8-listeners", "steps/s", kSteps, 0, 0, [] { return prepare_run(8); }});
}

}  // namespace espalier
