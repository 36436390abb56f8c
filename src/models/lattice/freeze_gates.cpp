#include "models/lattice/freeze_gates.hpp"

#include <algorithm>
#include <vector>

#include "espalier/gates.hpp"

namespace espalier {
namespace {

constexpr float kHardLogit = 60;  // e^-60 is nothing beside 1, yet no denormal
constexpr float kHardGap = 25;    // even after weight decay has worn the logit down for thousands of steps

// Largest logit minus the next largest: the larger, the more decided.
float gap(const float* l) {
  const float* top = std::max_element(l, l + kGates);
  float second = -1e30f;
  for (const float* x = l; x < l + kGates; ++x)
    if (x != top) second = std::max(second, *x);
  return *top - second;
}

}  // namespace

void freeze_gates(std::span<float> logits, std::size_t count) {
  struct Candidate {
    float gap;
    std::size_t at;
  };
  std::vector<Candidate> soft;
  std::size_t hard = 0;
  for (std::size_t at = 0; at < logits.size(); at += kGates) {
    const float g = gap(&logits[at]);
    if (g > kHardGap)
      ++hard;
    else
      soft.push_back({g, at});
  }
  if (hard >= count) return;
  const std::size_t more = std::min(count - hard, soft.size());
  // Ties by position, so that the choice does not depend on the sorting.
  std::partial_sort(
      soft.begin(), soft.begin() + static_cast<std::ptrdiff_t>(more), soft.end(),
      [](const Candidate& a, const Candidate& b) { return a.gap != b.gap ? a.gap > b.gap : a.at < b.at; });
  for (std::size_t i = 0; i < more; ++i) {
    float* l = &logits[soft[i].at];
    const auto top = std::max_element(l, l + kGates) - l;
    std::fill(l, l + kGates, 0.0f);
    l[top] = kHardLogit;
  }
}

}  // namespace espalier
