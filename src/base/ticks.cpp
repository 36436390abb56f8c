// Where the marks of an axis go.
#include <algorithm>
#include <cmath>

#include "base/plot.hpp"

namespace espalier {
namespace {

// 10^k by an exact decimal text would be overkill: pow is exact enough here, and ticks are printed rounded.
double power_of_ten(int k) { return std::pow(10.0, k); }

std::vector<double> linear_ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double decade = power_of_ten(static_cast<int>(std::floor(std::log10(rough))));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= rough * 0.75) {
      step = factor * decade;
      break;
    }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last && ticks.size() < 100; ++k) ticks.push_back(k * step + 0.0);  // + 0.0: no "-0"
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int count) {
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const int stride = std::max(1, (last - first + count - 1) / count);
  std::vector<double> ticks;
  for (int k = first; k <= last; k += stride)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power_of_ten(k);
      const bool wanted = factor == 1.0 || last - first <= 2;
      if (wanted && tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  return ticks;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count, bool log) {
  if (!std::isfinite(low) || !std::isfinite(high) || !(low < high) || count < 1 || (log && low <= 0)) return {};
  return log ? log_ticks(low, high, count) : linear_ticks(low, high, count);
}

}  // namespace espalier
