#include "espalier/train/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "espalier/core/error.hpp"
#include "espalier/core/hash.hpp"

namespace espalier {

std::size_t Parameters::add(std::string name, std::vector<std::size_t> shape) {
  for (const TensorInfo& t : tensors_)
    if (t.name == name) fail("add parameter", fmt::format("\"{}\" twice", name), "a new name");
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  tensors_.push_back({std::move(name), std::move(shape), values_.size(), size});
  values_.resize(values_.size() + size);
  gradients_.resize(values_.size());
  return tensors_.size() - 1;
}

std::size_t Parameters::find(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name == name) return i;
    names.push_back(tensors_[i].name);
  }
  fail("find parameter", fmt::format("\"{}\"", name), fmt::format("one of {}", fmt::join(names, ", ")));
}

void Parameters::zero_grad(const Pool& pool) {
  pool.for_chunks(gradients_.size(), kFlatChunk, 0.1,
                  [&](Chunk c) { std::fill(&gradients_[c.begin], &gradients_[c.begin] + (c.end - c.begin), 0.0f); });
}

bool Parameters::has_gradients() const {
  return std::any_of(gradients_.begin(), gradients_.end(), [](float g) { return g != 0; });
}

double Parameters::gradient_norm(const Pool& pool) const {
  const double squares = pool.reduce(
      gradients_.size(), kFlatChunk, 0.3, 0.0,
      [&](Chunk c) {
        // Eight running sums: enough to fill the adders, and the same order on every machine.
        double lane[8] = {};
        for (std::size_t i = c.begin; i < c.end; ++i) {
          const double g = gradients_[i];
          lane[i % 8] += g * g;
        }
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
      },
      [](double& a, const double& b) { a += b; });
  return std::sqrt(squares);
}

double Parameters::clip_gradients(double max_norm, const Pool& pool) {
  const double norm = gradient_norm(pool);
  if (norm > max_norm) {
    const auto scale = static_cast<float>(max_norm / norm);
    pool.for_chunks(gradients_.size(), kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) gradients_[i] *= scale;
    });
  }
  return norm;
}

void Parameters::clip_gradient_values(float limit, const Pool& pool) {
  pool.for_chunks(gradients_.size(), kFlatChunk, 0.2, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) gradients_[i] = std::clamp(gradients_[i], -limit, limit);
  });
}

std::string Parameters::hash() const {
  Hasher hasher;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    hasher.add(tensors_[i].name).add(std::string_view("\0", 1));
    for (const std::size_t extent : tensors_[i].shape) hasher.add(&extent, sizeof extent);
    hasher.add(values(i));
  }
  return hasher.hex();
}

}  // namespace espalier
