#include "espalier/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"

namespace espalier {

ScheduleKind schedule_kind(std::string_view name) {
  if (name == "constant") return ScheduleKind::kConstant;
  if (name == "step") return ScheduleKind::kStep;
  if (name == "cosine") return ScheduleKind::kCosine;
  fail("schedule", fmt::format("\"{}\"", name), "constant, step or cosine");
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
