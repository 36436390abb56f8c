// Losses and scores. The order of operations is part of what trained models are.
#include "train/losses.hpp"

#include <algorithm>
#include <cmath>

namespace espalier {

void softmax(std::span<double> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (double& x : logits) sum += x = std::exp(x - most);
  for (double& x : logits) x /= sum;
}

double cross_entropy(std::span<const float> logits, std::size_t right, float scale, float* gradient) {
  const float most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - most));
  const double loss = std::log(sum) - static_cast<double>(logits[right] - most);
  if (!gradient) return loss;
  for (std::size_t k = 0; k < logits.size(); ++k)
    gradient[k] = scale * (static_cast<float>(std::exp(static_cast<double>(logits[k] - most)) / sum) -
                           (k == right ? 1.0f : 0.0f));
  return loss;
}

double cross_entropy_in_floats(std::span<const float> logits, std::size_t right, float scale, float* gradient) {
  const float most = *std::ranges::max_element(logits), of_right = logits[right];
  float sum = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    const float x = std::exp(logits[k] - most);
    if (gradient) gradient[k] = x;
    sum += x;
  }
  const double loss = std::log(static_cast<double>(sum)) + static_cast<double>(most) - static_cast<double>(of_right);
  if (!gradient) return loss;
  const float factor = scale / sum;
  for (std::size_t k = 0; k < logits.size(); ++k) gradient[k] *= factor;
  gradient[right] -= scale;
  return loss;
}

double mean_loss(bool classifies, std::span<const float> outputs, std::span<const float> targets,
                 std::vector<float>* gradient) {
  const std::size_t rows = targets.size(), width = rows ? outputs.size() / rows : 0;
  const auto scale = static_cast<float>(1.0 / static_cast<double>(std::max<std::size_t>(1, rows)));
  if (gradient) gradient->resize(outputs.size());
  double loss = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    if (classifies) {
      loss += cross_entropy(outputs.subspan(r * width, width), static_cast<std::size_t>(targets[r]), scale,
                            gradient ? &(*gradient)[r * width] : nullptr);
      continue;
    }
    const float error = outputs[r * width] - targets[r];
    loss += 0.5 * static_cast<double>(error) * static_cast<double>(error);
    if (gradient) (*gradient)[r] = error * scale;
  }
  return loss * static_cast<double>(scale);
}

double score_of(bool classifies, std::span<const float> outputs, std::span<const float> targets) {
  const std::size_t rows = targets.size();
  if (rows == 0) return 0;
  const std::size_t width = outputs.size() / rows;
  if (classifies) {
    std::size_t right = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const float* y = &outputs[r * width];
      right += static_cast<std::size_t>(std::max_element(y, y + width) - y) == static_cast<std::size_t>(targets[r]);
    }
    return static_cast<double>(right) / static_cast<double>(rows);
  }
  double mean = 0, total = 0, rest = 0;
  for (const float t : targets) mean += static_cast<double>(t) / static_cast<double>(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    total += std::pow(static_cast<double>(targets[r]) - mean, 2);
    rest += std::pow(static_cast<double>(targets[r]) - static_cast<double>(outputs[r]), 2);
  }
  return total > 0 ? 1 - rest / total : 0;
}

Evaluation judge_outputs(bool classifies, std::span<const float> outputs, std::span<const float> targets) {
  Evaluation e;
  e.score = score_of(classifies, outputs, targets);
  e.passed = e.score >= (classifies ? 1.0 : 0.9999);
  e.loss = mean_loss(classifies, outputs, targets, nullptr);
  return e;
}

}  // namespace espalier
