// A trained automaton hardened: every gate the one with its largest logit. Wires are followed, constants
// folded and dead gates dropped on the way, so that what is left is the work a cell really does.
// (The circuit room simplifies further and proves what it does; this is the quick form used while training.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/automaton.hpp"
#include "espalier/gates.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// The gate with the largest logit (the first of equals).
Gate hard_choice(const float* logits);

struct HardCell {
  struct Op {
    Gate gate;
    std::int32_t a, b;
  };
  static constexpr std::int32_t kFalse = 0, kTrue = 1, kFirstInput = 2;
  int channels = 0;
  std::vector<Op> ops;                // value kFirstInput + 9 C + i is the result of ops[i]
  std::vector<std::int32_t> outputs;  // [C] values
  // Value of place o (0..8) of channel c: patch-place major, channel minor.
  std::int32_t input(int o, int c) const { return kFirstInput + o * channels + c; }
  std::int32_t first_op() const { return kFirstInput + 9 * channels; }
};

HardCell harden(const Automaton& automaton, std::span<const float> logits);

struct GateCounts {
  long raw = 0;     // as trained
  long active = 0;  // neither A nor B
  long histogram[kGates] = {};
};
GateCounts count_gates(std::span<const float> logits);

// Many boards at once, one bit each: bits [cell][channel][word], 64 boards a word.
struct BitBoards {
  int samples = 0, height = 0, width = 0, channels = 0;
  std::vector<std::uint64_t> bits;

  BitBoards() = default;
  BitBoards(int samples, int height, int width, int channels);
  int words() const { return (samples + 63) / 64; }
  std::size_t at(int y, int x, int c) const {
    return ((static_cast<std::size_t>(y) * width + x) * channels + c) * words();
  }
  bool get(int sample, int y, int x, int c) const { return bits[at(y, x, c) + sample / 64] >> (sample % 64) & 1; }
  void set(int sample, int y, int x, int c, bool value);
};

// One bit per (step, cell, board): which cells fire. Empty = all.
using FireBits = std::vector<std::uint64_t>;
FireBits draw_fire_bits(const BitBoards& boards, int steps, double rate, std::uint64_t seed, std::uint32_t step);

// T steps; words of 64 boards run in parallel. The same bits for any pool.
BitBoards hard_rollout(const HardCell& cell, Boundary boundary, const BitBoards& start, int steps, const FireBits& fire,
                       const ThreadPool& pool);

}  // namespace espalier
