// Uses the installed library from end to end, through public headers alone: trains a task in memory, saves its model,
// reads it back, and trains two weights by hand.
#include <cmath>
#include <cstdio>

#include "espalier/model.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/run.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/thread_pool.hpp"

int main() {
  using namespace espalier;
  ThreadPool pool(2);
  Run run = Run::create(configure("checkerboard-small", {{"train-steps", "5"}}), {});
  const RunReport report = run.train(pool);
  const auto best = run.best_model();
  save_model("model.safetensors", *best);
  const LoadedModel loaded = load_model("model.safetensors");
  const bool same = loaded.model->parameters().hash() == best->parameters().hash() && report.best().steps == 5;

  Parameters parameters;
  parameters.add("w", {2});
  Optimizer optimizer({.kind = OptimizerKind::kSgd}, parameters.num_parameters());
  for (int step = 0; step < 100; ++step) {
    for (int i = 0; i < 2; ++i) parameters.gradients()[i] = parameters.values()[i] - static_cast<float>(i + 1);
    optimizer.step(parameters, 0.5f, pool);
  }
  SafetensorsFile file;
  file.add("w", {2}, parameters.values());
  write_safetensors("user.safetensors", file);
  const auto back = read_safetensors("user.safetensors").floats("w");
  const bool learned = std::abs(back[0] - 1) < 1e-4f && std::abs(back[1] - 2) < 1e-4f;

  std::printf("%s, %s, %zu tasks\n", learned ? "learned" : "failed", same ? "same" : "changed", all_tasks().size());
  return learned && same && !all_tasks().empty() ? 0 : 1;
}
