// From logits to soft gates and back: softmax over the sixteen gates, and the Gumbel noise that may be added before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier {

// p = softmax(logits / temperature), c = M^T p. Gate i reads logits[row[i]]. False: one of the logits is not finite.
//   logits: [*][16]   row: [gates]   p: [gates][16]   c: [gates][4]
[[nodiscard]] bool gate_softmax_forward(int gates, const float* logits, const std::int32_t* row,
                                        float inverse_temperature, float* p, float* c);
// dlogits[row[i]] += p (M dc - sum p M dc) / temperature; every row is named once.
void gate_softmax_backward(int gates, const float* p, const float* dc, const std::int32_t* row,
                           float inverse_temperature, float* dlogits);
// Sum over all gates of the entropy of softmax(logits), in nats: log(sum e^x) - sum p x, with x counted
// from the largest. logits: [gates][16]
double gate_entropies(int gates, const float* logits);

// Standard Gumbel noise, -log(-log(u)), counter-based like all random numbers here, eight Philox blocks at a time.
// Fills noise[0 .. 32 groups): group g, word w, lane i is word w of Philox block 8 (first_group + g) + i of
// (seed, Purpose::kGumbel, step). A pure function of the arguments on every vector width.
inline constexpr std::size_t kNoiseGroup = 32;
void gumbel_noise(std::uint64_t seed, std::uint32_t step, std::uint32_t first_group, int groups, float* noise);

}  // namespace espalier
