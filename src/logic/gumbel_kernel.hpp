// Standard Gumbel noise, -log(-log(u)), for the logits of gates: counter-based like all random numbers here,
// eight Philox blocks at a time.
#pragma once

#include <cstdint>

namespace espalier {

// Fills noise[0 .. 32 groups): group g, word w, lane i is word w of Philox block 8 (first_group + g) + i of
// (seed, Purpose::kGumbel, step). A pure function of the arguments on every vector width.
void gumbel_noise(std::uint64_t seed, std::uint32_t step, std::uint32_t first_group, int groups, float* noise);

}  // namespace espalier
