// Private to the train room: the loops over flat arrays, compiled once for each instruction set and chosen at
// run time. Every element sees the same operations in the same order whatever the vector width, so the choice
// never changes a bit.
#pragma once

#include <cstddef>

namespace espalier {

// The constants of one optimizer step.
struct Update {
  float lr, decay, scale, limit;  // limit = +inf: no clipping by value
  float momentum, beta1, beta2, epsilon, correct1, correct2;
};

void adamw_kernel(const Update& update, std::size_t n, float* w, const float* gradient, float* m, float* v);
void sgd_kernel(const Update& update, std::size_t n, float* w, const float* gradient, float* m);

// Sum of squares in eight running sums (element i in sum i % 8), combined in a fixed tree.
double sum_of_squares_kernel(std::size_t n, const float* x);

// total[i] += tree over s of slots[s * stride + i]: neighbours first, then pairs of pairs, and so on.
void add_tree_kernel(std::size_t slots, std::size_t stride, std::size_t n, const float* slot, float* total);

}  // namespace espalier
