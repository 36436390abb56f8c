// SGD with momentum and AdamW, and how the learning rate moves. Clipping, moments and weights are one pass over memory.
// Example:
//   Parameters parameters;
//   parameters.add("weight", {2, 3});
//   Optimizer optimizer({.kind = OptimizerKind::kAdamW, .weight_decay = 0.01f}, parameters.num_parameters());
//   const Schedule schedule{.kind = ScheduleKind::kCosine, .lr = 0.05};
//   for (int step = 0; step < 100; ++step) {
//     parameters.zero_grad();
//     parameters.gradients()[0] = parameters.values()[0] - 1;  // of whatever is to become small
//     optimizer.step(parameters, schedule.at(step, 100));
//   }
#pragma once

#include <cstdint>
#include <span>

#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

enum class OptimizerKind { kSgd, kAdamW };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  float momentum = 0.0f;      // SGD
  float beta1 = 0.9f;         // AdamW
  float beta2 = 0.999f;       // AdamW
  float epsilon = 1e-8f;      // AdamW
  float weight_decay = 0.0f;  // decoupled: w -= lr * decay * w
  float clip_value = 0.0f;    // limit of each gradient element; 0 = none
  float clip_norm = 0.0f;     // limit of the global norm; 0 = none
};

class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, std::size_t num_parameters);

  // One update with learning rate lr from parameters.gradients(), which stay as they are. Frozen tensors and their
  // moments are left alone.
  void step(Parameters& parameters, float lr, const ThreadPool& pool = calling_thread());

  const OptimizerOptions& options() const { return options_; }
  // What a checkpoint keeps.
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }
  std::span<float> first_moment() { return first_; }    // momentum for SGD
  std::span<float> second_moment() { return second_; }  // empty for SGD

 private:
  OptimizerOptions options_;
  std::uint64_t steps_ = 0;
  AlignedVector<float> first_, second_;
};

// Plain SGD, which needs no state: values -= lr * gradients, for all or for a part of the flat arrays, but for what is
// frozen.
void sgd_step(Parameters& parameters, float lr, const ThreadPool& pool = calling_thread());
void sgd_step(Parameters& parameters, std::size_t begin, std::size_t end, float lr,
              const ThreadPool& pool = calling_thread());

// How the learning rate moves over the steps of a run: warm-up, then constant, step or cosine.
enum class ScheduleKind { kConstant, kStep, kCosine };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double lr = 0.01;                 // the highest rate
  double final_fraction = 0.0;      // cosine: rate at the end, as a fraction of lr
  std::uint64_t step_every = 1000;  // step: multiply by gamma after this many steps
  double gamma = 0.5;
  std::uint64_t warmup = 0;  // linear rise over the first steps

  // The rate of step `step` (0-based) out of `total`.
  float at(std::uint64_t step, std::uint64_t total) const;
};

// The numbers of Optimizer::step in separate plain passes: what the tests compare the fused pass with.
void reference_step(const OptimizerOptions& options, std::uint64_t step, float lr, std::span<float> values,
                    std::span<const float> gradients, std::span<float> first, std::span<float> second);

}  // namespace espalier
