// What this machine can do at best, measured: the bounds that the benches are held against.
#pragma once

namespace espalier {

// Bytes read and written per second by copying large arrays, one thread.
double measured_copy_rate();
// Fused multiply-adds (single lanes) per second in registers, one thread, with the vectors the kernels use.
double measured_fma_rate();

}  // namespace espalier
