// What this machine can do at the most, measured: the yardstick of the benchmarks.
#pragma once

#include "espalier/thread_pool.hpp"

namespace espalier {

struct MachineLimits {
  double flops = 0;  // fused multiply-adds a second, two flops each, single precision, in registers
  double bytes = 0;  // bytes a second of memory updated in place, reads and writes both counted
  // The least time for so much work: whichever of the two limits is hit first.
  double least_seconds(double work_flops, double work_bytes) const;
};

// All workers of the pool at once; the best of a few tries, about 0.2 s.
MachineLimits measure_limits(const ThreadPool& pool);
// The vector instructions chosen at run time, e.g. "AVX2".
const char* vector_target();

}  // namespace espalier
