// SGD with momentum and AdamW. Clipping, moments and weights are one pass over memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "espalier/aligned.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

enum class OptimizerKind { kSgd, kAdamW };
OptimizerKind optimizer_kind(std::string_view name);  // "sgd" or "adamw"

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
  void step(Parameters& parameters, float lr, const ThreadPool& pool);

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

// The numbers of Optimizer::step in separate plain passes: what the tests compare the fused pass with.
void reference_step(const OptimizerOptions& options, std::uint64_t step, float lr, std::span<float> values,
                    std::span<const float> gradients, std::span<float> first, std::span<float> second);

}  // namespace espalier
