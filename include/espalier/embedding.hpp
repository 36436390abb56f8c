// V rows of D numbers, one row per symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class Embedding {
 public:
  // Adds the tensor `name` [rows][features].
  Embedding(Parameters& parameters, const std::string& name, std::size_t rows, std::size_t features);

  std::size_t rows() const { return rows_; }
  std::size_t features() const { return features_; }
  void initialize(Parameters& parameters, std::uint64_t seed) const;  // standard normal

  // out [symbols][features]. A symbol outside 0..rows-1 is an Error.
  void lookup(const Parameters& parameters, std::span<const std::uint32_t> symbols, std::span<float> out,
              const ThreadPool& pool) const;
  // gradients (laid out as parameters.gradients()) += dout; what one row gets is added in ascending order of the
  // places it was used. Nothing when frozen.
  void backward(std::span<const std::uint32_t> symbols, std::span<const float> dout, std::span<float> gradients,
                const ThreadPool& pool) const;

  void freeze(bool on) { frozen_ = on; }
  bool frozen() const { return frozen_; }
  void zero_grad(Parameters& parameters, const ThreadPool& pool) const;
  void step(Parameters& parameters, float lr, const ThreadPool& pool) const;  // plain SGD; nothing when frozen

  // The row of a Unicode code point: the 32-bit finalizer of MurmurHash3 (x ^= x >> 16; x *= 0x85ebca6b;
  // x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16), then the top bits by (x * rows) >> 32. Any Unicode works;
  // code points may share a row.
  static std::uint32_t row_of_code_point(std::uint32_t code_point, std::size_t rows);

 private:
  std::size_t rows_, features_, offset_;
  bool frozen_ = false;
};

}  // namespace espalier
