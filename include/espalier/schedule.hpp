// How the learning rate moves over the steps of a run: warm-up, then constant, step or cosine.
#pragma once

#include <cstdint>
#include <string_view>

namespace espalier {

enum class ScheduleKind { kConstant, kStep, kCosine };
ScheduleKind schedule_kind(std::string_view name);  // "constant", "step" or "cosine"

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  double lr = 0.01;              // the highest rate
  double final_fraction = 0.0;   // cosine: rate at the end, as a fraction of lr
  std::uint64_t step_every = 1;  // step: multiply by gamma after this many steps
  double gamma = 0.5;
  std::uint64_t warmup = 0;  // linear rise over the first steps

  // The rate of step `step` (0-based) out of `total`.
  float at(std::uint64_t step, std::uint64_t total) const;
};

}  // namespace espalier
