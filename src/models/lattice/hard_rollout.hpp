// Hard evaluation of many boards at once, one bit each: 64 boards a word, two words (128 boards) at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/logic_automaton.hpp"
#include "espalier/netlist.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

// bits [cell][channel][word].
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

// T steps of a cell's circuit; words of 64 boards run in parallel. The same bits for any pool.
BitBoards hard_rollout(const Netlist& cell, Boundary boundary, const BitBoards& start, int steps, const FireBits& fire,
                       const ThreadPool& pool);

}  // namespace espalier
