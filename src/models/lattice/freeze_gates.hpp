// Hardening gates one after the other while the rest goes on learning.
#pragma once

#include <cstddef>
#include <span>

namespace espalier {

// Hardens the most decided gates until `count` are hard. A hard gate's logits are so far apart that its
// probabilities are 0 and 1 and its gradient vanishes; it needs no other mark, so checkpoints know it too.
void freeze_gates(std::span<float> logits, std::size_t count);

}  // namespace espalier
