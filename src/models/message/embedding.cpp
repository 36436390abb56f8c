#include "espalier/embedding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {

Embedding::Embedding(Parameters& p, const std::string& name, std::size_t rows, std::size_t features)
    : rows_(rows), features_(features) {
  if (rows == 0 || features == 0 || rows > (std::size_t{1} << 31) / features)
    fail("embedding", fmt::format("{} rows x {}", rows, features), "1 or more of each, fewer than 2^31 numbers");
  offset_ = p.tensors()[p.add(name, {rows, features})].offset;
}

void Embedding::initialize(Parameters& p, std::uint64_t seed) const {
  const Random random(seed, Purpose::kInit);
  for (std::size_t i = offset_; i < offset_ + rows_ * features_; ++i) p.values()[i] = random.normal(i);
}

void Embedding::lookup(const Parameters& p, std::span<const std::uint32_t> symbols, std::span<float> out,
                       const ThreadPool& pool) const {
  for (const std::uint32_t s : symbols)
    if (s >= rows_) fail("embedding", fmt::format("symbol {}", s), fmt::format("0 to {}", rows_ - 1));
  const float* table = p.values().data() + offset_;
  pool.for_chunks(symbols.size(), 256, 0.1 * static_cast<double>(features_), [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i)
      std::copy_n(table + symbols[i] * features_, features_, &out[i * features_]);
  });
}

void Embedding::backward(std::span<const std::uint32_t> symbols, std::span<const float> dout,
                         std::span<float> gradients, const ThreadPool& pool) const {
  if (frozen_ || symbols.empty()) return;
  // Places sorted by symbol: each row has one owner.
  std::vector<std::uint32_t> starts(rows_ + 1), places(symbols.size());
  for (const std::uint32_t s : symbols) ++starts[s + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (std::uint32_t i = 0; i < symbols.size(); ++i) places[next[symbols[i]]++] = i;
  const double row_ns = 0.1 * static_cast<double>(symbols.size() * features_) / static_cast<double>(rows_);
  pool.for_chunks(rows_, 1, row_ns, [&](Chunk c) {
    float* row = gradients.data() + offset_ + c.index * features_;
    for (std::uint32_t k = starts[c.index]; k < starts[c.index + 1]; ++k) {
      const float* from = &dout[places[k] * features_];
      for (std::size_t f = 0; f < features_; ++f) row[f] += from[f];
    }
  });
}

void Embedding::zero_grad(Parameters& p, const ThreadPool& pool) const {
  float* g = p.gradients().data() + offset_;
  pool.for_chunks(rows_ * features_, kFlatChunk, 0.1, [&](Chunk c) { std::fill(g + c.begin, g + c.end, 0.0f); });
}

void Embedding::step(Parameters& p, float lr, const ThreadPool& pool) const {
  if (frozen_) return;
  float* w = p.values().data() + offset_;
  const float* g = p.gradients().data() + offset_;
  pool.for_chunks(rows_ * features_, kFlatChunk, 0.3, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) w[i] -= lr * g[i];
  });
}

std::uint32_t Embedding::row_of_code_point(std::uint32_t x, std::size_t rows) {
  x ^= x >> 16;
  x *= 0x85ebca6b;
  x ^= x >> 13;
  x *= 0xc2b2ae35;
  x ^= x >> 16;
  return static_cast<std::uint32_t>(std::uint64_t{x} * rows >> 32);
}

}  // namespace espalier
