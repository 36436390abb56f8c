// The linear model with the least squared error, and the luck of guessing.
#include "data/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace espalier {

bool enough_rows(bool classifies, std::span<const float> fit, std::size_t rows) {
  constexpr double kLuck = 1e-4;
  constexpr std::size_t kNumbers = 10;
  if (!classifies) return rows >= kNumbers;
  std::map<float, std::size_t> classes;
  std::size_t most = 0;
  for (const float y : fit) most = std::max(most, ++classes[y]);
  const double share = static_cast<double>(most) / static_cast<double>(std::max<std::size_t>(1, fit.size()));
  return std::pow(share, static_cast<double>(rows)) < kLuck;
}

// (X^T X + small) w = X^T y with a column of ones, by Cholesky in double.
std::vector<double> least_squares(std::size_t inputs, std::span<const float> x, std::span<const float> y) {
  const std::size_t n = inputs + 1, rows = y.size();
  std::vector<double> a(n * n), b(n);
  const auto at = [&](std::size_t r, std::size_t i) {
    return i < inputs ? static_cast<double>(x[r * inputs + i]) : 1.0;
  };
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < n; ++i) {
      b[i] += at(r, i) * static_cast<double>(y[r]);
      for (std::size_t j = 0; j <= i; ++j) a[i * n + j] += at(r, i) * at(r, j);
    }
  for (std::size_t i = 0; i < n; ++i)
    a[i * n + i] += 1e-6 * static_cast<double>(rows);  // one-hot columns add up to one
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / a[j * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return b;
}

std::vector<float> linear_outputs(std::span<const double> linear, std::span<const float> x) {
  const std::size_t inputs = linear.size() - 1;
  std::vector<float> outputs(x.size() / inputs);
  for (std::size_t r = 0; r < outputs.size(); ++r) {
    double sum = linear[inputs];
    for (std::size_t i = 0; i < inputs; ++i) sum += linear[i] * static_cast<double>(x[r * inputs + i]);
    outputs[r] = static_cast<float>(sum);
  }
  return outputs;
}

}  // namespace espalier
