// Uses the installed library from end to end: train two weights, save them, read them back.
#include <cmath>
#include <cstdio>

#include "espalier/optimizer.hpp"
#include "espalier/safetensors.hpp"
#include "espalier/thread_pool.hpp"

int main() {
  const espalier::ThreadPool pool(2);
  espalier::Parameters parameters;
  parameters.add("w", {2});
  espalier::Optimizer optimizer({.kind = espalier::OptimizerKind::kSgd}, parameters.num_parameters());
  for (int step = 0; step < 100; ++step) {
    for (int i = 0; i < 2; ++i) parameters.gradients()[i] = parameters.values()[i] - static_cast<float>(i + 1);
    optimizer.step(parameters, 0.5f, pool);
  }
  espalier::SafetensorsFile file;
  file.add("w", {2}, parameters.values());
  espalier::write_safetensors("user.safetensors", file);
  const auto back = espalier::read_safetensors("user.safetensors").floats("w");
  const bool learned = std::abs(back[0] - 1) < 1e-4f && std::abs(back[1] - 2) < 1e-4f;
  std::puts(learned ? "learned" : "failed");
  return learned ? 0 : 1;
}
