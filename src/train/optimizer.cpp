// The fused update, and the same in separate passes. The fused loops are in flat_kernels.cpp.
#include "espalier/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/error.hpp"
#include "flat_kernels.hpp"

namespace espalier {
namespace {

Update make_update(const OptimizerOptions& o, std::uint64_t step, float lr, float scale) {
  const auto t = static_cast<double>(step);
  return {lr,
          1.0f - lr * o.weight_decay,
          scale,
          o.clip_value > 0 ? o.clip_value : std::numeric_limits<float>::infinity(),
          o.momentum,
          o.beta1,
          o.beta2,
          o.epsilon,
          static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(o.beta1), t))),
          static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(o.beta2), t)))};
}

float clip_scale(const OptimizerOptions& o, double norm) {
  return o.clip_norm > 0 && norm > o.clip_norm ? static_cast<float>(o.clip_norm / norm) : 1.0f;
}

void check(bool good, const char* name, float value, const char* expected) {
  if (!good) fail("optimizer", fmt::format("{} {}", name, value), expected);
}

// Every condition is false for a NaN.
void check_options(const OptimizerOptions& o) {
  if (o.kind != OptimizerKind::kSgd && o.kind != OptimizerKind::kAdamW)
    fail("optimizer", fmt::format("kind {}", static_cast<int>(o.kind)), "SGD or AdamW");
  check(o.momentum >= 0 && o.momentum < 1, "momentum", o.momentum, "at least 0 and below 1");
  check(o.beta1 >= 0 && o.beta1 < 1, "beta1", o.beta1, "at least 0 and below 1");
  check(o.beta2 >= 0 && o.beta2 < 1, "beta2", o.beta2, "at least 0 and below 1");
  check(o.epsilon > 0 && std::isfinite(o.epsilon), "epsilon", o.epsilon, "a small number above 0");
  check(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "weight_decay", o.weight_decay, "0 (none) or more");
  check(o.clip_value >= 0 && std::isfinite(o.clip_value), "clip_value", o.clip_value, "0 (none) or more");
  check(o.clip_norm >= 0 && std::isfinite(o.clip_norm), "clip_norm", o.clip_norm, "0 (none) or more");
}

void check_rate(const char* op, float lr) {
  if (!std::isfinite(lr)) fail(op, fmt::format("a learning rate of {}", lr), "a finite number");
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, std::size_t num_parameters) : options_(options) {
  check_options(options_);
  constexpr std::size_t kMaxParameters = std::size_t{1} << 48;  // far beyond any memory
  if (num_parameters > kMaxParameters)
    fail("optimizer", fmt::format("{} parameters", num_parameters), "as many as memory can hold");
  first_.resize(num_parameters);
  if (options.kind == OptimizerKind::kAdamW) second_.resize(num_parameters);
}

void Optimizer::step(Parameters& parameters, float lr, const ThreadPool& pool) {
  if (parameters.num_parameters() != first_.size())
    fail("optimizer step", fmt::format("{} parameters", parameters.num_parameters()),
         fmt::format("{} as at the start", first_.size()));
  check_rate("optimizer step", lr);
  const bool clips = options_.clip_norm > 0 || options_.clip_value > 0;
  const double norm = clips ? parameters.finite_gradient_norm("optimizer step", pool) : 0.0;
  ++steps_;
  const Update u = make_update(options_, steps_, lr, clip_scale(options_, norm));
  float* w = parameters.values().data();
  const float* g = parameters.gradients().data();
  pool.for_chunks(first_.size(), kFlatChunk, 0.4, [&](Chunk c) {
    parameters.for_trainable(c.begin, c.end, [&](std::size_t begin, std::size_t end) {
      if (options_.kind == OptimizerKind::kAdamW)
        adamw_kernel(u, end - begin, w + begin, g + begin, &first_[begin], &second_[begin]);
      else
        sgd_kernel(u, end - begin, w + begin, g + begin, &first_[begin]);
    });
  });
}

void sgd_step(Parameters& parameters, float lr, const ThreadPool& pool) {
  sgd_step(parameters, 0, parameters.num_parameters(), lr, pool);
}

void sgd_step(Parameters& parameters, std::size_t begin, std::size_t end, float lr, const ThreadPool& pool) {
  check_rate("sgd step", lr);
  if (begin > end || end > parameters.num_parameters())
    fail("sgd step", fmt::format("parameters {} to {}", begin, end),
         fmt::format("a part of {}", parameters.num_parameters()));
  float* values = parameters.values().data();
  const float* gradients = parameters.gradients().data();
  parameters.for_trainable(begin, end, [&](std::size_t first, std::size_t last) {
    pool.for_chunks(last - first, kFlatChunk, 0.3, [&](Chunk c) {
      for (std::size_t i = first + c.begin; i < first + c.end; ++i) values[i] -= lr * gradients[i];
    });
  });
}

void reference_step(const OptimizerOptions& o, std::uint64_t step, float lr, std::span<float> values,
                    std::span<const float> gradients, std::span<float> first, std::span<float> second) {
  check_options(o);
  check_rate("reference step", lr);
  if (gradients.size() != values.size() || first.size() != values.size() ||
      (o.kind == OptimizerKind::kAdamW && second.size() != values.size()))
    fail("reference step",
         fmt::format("{} gradients, moments of {} and {}", gradients.size(), first.size(), second.size()),
         fmt::format("{} as there are values", values.size()));
  const ThreadPool one(1);
  Parameters p;
  p.add("all", {values.size()});
  std::copy(gradients.begin(), gradients.end(), p.gradients().begin());
  if (o.clip_norm > 0) p.clip_gradients(o.clip_norm, one);
  if (o.clip_value > 0) p.clip_gradient_values(o.clip_value, one);
  const std::span<const float> g = p.gradients();
  const Update u = make_update(o, step, lr, 1.0f);
  if (o.kind == OptimizerKind::kSgd) {
    for (std::size_t i = 0; i < g.size(); ++i) first[i] = o.momentum * first[i] + g[i];
    for (std::size_t i = 0; i < g.size(); ++i) values[i] = values[i] * u.decay - lr * first[i];
    return;
  }
  for (std::size_t i = 0; i < g.size(); ++i) first[i] = o.beta1 * first[i] + (1.0f - o.beta1) * g[i];
  for (std::size_t i = 0; i < g.size(); ++i) second[i] = o.beta2 * second[i] + (1.0f - o.beta2) * g[i] * g[i];
  for (std::size_t i = 0; i < g.size(); ++i)
    values[i] = values[i] * u.decay - lr * (first[i] * u.correct1) / (std::sqrt(second[i] * u.correct2) + o.epsilon);
}

float Schedule::at(std::uint64_t step, std::uint64_t total) const {
  if (step < warmup) return static_cast<float>(lr * static_cast<double>(step + 1) / static_cast<double>(warmup));
  double factor = 1;
  if (kind == ScheduleKind::kStep) {
    factor = std::pow(gamma, static_cast<double>((step - warmup) / std::max<std::uint64_t>(1, step_every)));
  } else if (kind == ScheduleKind::kCosine) {
    const double span = static_cast<double>(total > warmup + 1 ? total - warmup - 1 : 1);
    const double done = std::min(1.0, static_cast<double>(step - warmup) / span);
    factor = final_fraction + (1 - final_fraction) * 0.5 * (1 + std::cos(3.141592653589793 * done));
  }
  return static_cast<float>(lr * factor);
}

}  // namespace espalier
