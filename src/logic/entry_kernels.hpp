// From the logits of a gate's four truth-table entries, or their Walsh coefficients, to soft gates and back.
#pragma once

#include <cstdint>

namespace espalier {

// The logits of the four entries: z = w, or those that Walsh coefficients stand for. Sums in this order only: the sign
// of an entry is what a gate hardens to.
inline void entry_logits(const float* w, bool walsh, float* z) {
  const float even = w[0] + w[3], odd = w[0] - w[3], sum = w[1] + w[2], difference = w[1] - w[2];
  z[0] = walsh ? even - sum : w[0];
  z[1] = walsh ? odd - difference : w[1];
  z[2] = walsh ? odd + difference : w[2];
  z[3] = walsh ? even + sum : w[3];
}
// The other way: gradients of the coefficients from those of the entries, or four times the coefficients from the
// entries.
inline void walsh_sums(const float* z, float* w) {
  const float even = z[0] + z[3], odd = z[1] + z[2], sum = z[3] - z[0], difference = z[2] - z[1];
  w[0] = even + odd;
  w[1] = sum + difference;
  w[2] = sum - difference;
  w[3] = even - odd;
}

// q = sigmoid(entries / temperature), c the coefficients of c0 + c1 a + c2 b + c3 ab with these values; straight: of 0
// and 1 instead. Gate i reads logits[row[i]].
//   logits: [*][4]   row: [gates]   slopes: [gates][4], dq / dentry   c: [gates][4]
void gate_entries_forward(int gates, const float* logits, const std::int32_t* row, bool walsh,
                          float inverse_temperature, bool straight, float* slopes, float* c);
// Adds to dlogits[row[i]]; every row is named once.
void gate_entries_backward(int gates, const float* slopes, const float* dc, const std::int32_t* row, bool walsh,
                           float* dlogits);
// Sum over all entries of the entropy of 0 against 1, in nats.
double entry_entropies(int gates, const float* logits, bool walsh);

}  // namespace espalier
