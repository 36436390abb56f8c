// Private gradient arrays for chunks that run in parallel, summed afterwards in a fixed tree.
// The number of slots comes from the problem, never from the number of threads.
#pragma once

#include <cstddef>
#include <span>

#include "espalier/aligned.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class GradientSlots {
 public:
  GradientSlots(std::size_t slots, std::size_t floats);

  std::size_t count() const { return slots_; }
  std::span<float> slot(std::size_t index) { return std::span(data_).subspan(index * stride_, floats_); }

  void zero(const ThreadPool& pool);
  // total[i] += tree sum over slots of slot[i]: neighbouring slots first, then pairs of pairs, and so on.
  void add_to(std::span<float> total, const ThreadPool& pool) const;

 private:
  std::size_t slots_, floats_, stride_;
  AlignedVector<float> data_;  // [slots][stride]
};

}  // namespace espalier
