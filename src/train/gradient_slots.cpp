#include "espalier/gradient_slots.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "flat_kernels.hpp"

namespace espalier {
namespace {
constexpr std::size_t kReduceChunk = 4096;
}

GradientSlots::GradientSlots(std::size_t slots, std::size_t floats)
    : slots_(slots), floats_(floats), stride_((floats + 15) / 16 * 16), data_(slots * stride_) {
  if (slots == 0) fail("gradient slots", "0 slots", "at least 1");
}

void GradientSlots::zero(const ThreadPool& pool) {
  pool.for_chunks(data_.size(), kReduceChunk * 4, 0.1,
                  [&](Chunk c) { std::fill_n(&data_[c.begin], c.end - c.begin, 0.0f); });
}

void GradientSlots::add_to(std::span<float> total, const ThreadPool& pool) const {
  if (total.size() != floats_)
    fail("add gradient slots", fmt::format("a total of {} floats", total.size()), fmt::format("{}", floats_));
  const double cost = 0.1 * static_cast<double>(slots_);
  pool.for_chunks(floats_, kReduceChunk, cost, [&](Chunk c) {
    add_tree_kernel(slots_, stride_, c.end - c.begin, &data_[c.begin], &total[c.begin]);
  });
}

}  // namespace espalier
