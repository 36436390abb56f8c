// The linear model that tables are held against, and whether there are rows enough to tell learning from luck.
#include <algorithm>
#include <cmath>
#include <map>

#include "models/dag/table_objective.hpp"
#include "train/losses.hpp"

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

std::vector<float> linear_predictions(bool classifies, std::size_t inputs, std::size_t outputs,
                                      std::span<const float> x, std::span<const float> y, std::span<const float> x_test,
                                      const ThreadPool& pool) {
  const std::size_t test_rows = x_test.size() / inputs;
  if (!classifies) {
    const std::vector<double> w = least_squares(inputs, x, y);
    std::vector<float> result(test_rows);
    for (std::size_t r = 0; r < test_rows; ++r) {
      double sum = w[inputs];
      for (std::size_t i = 0; i < inputs; ++i) sum += w[i] * static_cast<double>(x_test[r * inputs + i]);
      result[r] = static_cast<float>(sum);
    }
    return result;
  }
  // Softmax regression is a network of two layers; the problem is convex, so the whole set at once and a falling rate.
  DagNN model = DagNN::layered({inputs, outputs});
  Optimizer optimizer({}, model.num_parameters());
  constexpr int kSteps = 600;
  std::vector<float> gradient;
  for (int step = 0; step < kSteps; ++step) {
    model.zero_grad(pool);
    mean_loss(true, model.forward(x, y.size(), pool), y, &gradient);
    model.backward_accumulate(gradient, pool);
    optimizer.step(model.parameters(), 0.1f * (1.0f - static_cast<float>(step) / kSteps), pool);
  }
  const auto result = model.forward(x_test, test_rows, pool);
  return {result.begin(), result.end()};
}

}  // namespace espalier
