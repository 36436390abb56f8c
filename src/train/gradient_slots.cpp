#include "espalier/train/gradient_slots.hpp"

#include <algorithm>

namespace espalier {
namespace {
constexpr std::size_t kReduceChunk = 4096;
}

GradientSlots::GradientSlots(std::size_t slots, std::size_t floats)
    : slots_(slots), floats_(floats), stride_((floats + 15) / 16 * 16), data_(slots * stride_) {}

void GradientSlots::zero(const Pool& pool) {
  pool.for_chunks(data_.size(), kReduceChunk * 4, 0.1,
                  [&](Chunk c) { std::fill_n(&data_[c.begin], c.end - c.begin, 0.0f); });
}

void GradientSlots::add_to(std::span<float> total, const Pool& pool) {
  const double cost = 0.2 * static_cast<double>(slots_);
  pool.for_chunks(floats_, kReduceChunk, cost, [&](Chunk c) {
    for (std::size_t stride = 1; stride < slots_; stride *= 2)
      for (std::size_t s = 0; s + stride < slots_; s += 2 * stride) {
        float* into = &data_[s * stride_];
        const float* from = &data_[(s + stride) * stride_];
        for (std::size_t i = c.begin; i < c.end; ++i) into[i] += from[i];
      }
    for (std::size_t i = c.begin; i < c.end; ++i) total[i] += data_[i];
  });
}

}  // namespace espalier
