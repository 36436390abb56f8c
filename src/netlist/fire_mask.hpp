// Which cells of a board take their new state in an asynchronous step. Every source of such bits is a pure function of
// its keys, so any order, thread and word width gives the same bits. There are three, for three shapes of work:
// - training: a uniform number for each cell of a batch, Random(seed, Purpose::kFire, batch number), in the rollout;
// - validation and trials: a uniform number for each board, cell and step, draw_fire() of espalier/simulator.hpp, with
//   numbers of streams that no batch has;
// - one board: FireMask, here, for the Simulator, where boards are large and a Philox number for each cell would take
//   longer than the circuit.
//
// FireMask: every cell has an 8-bit number u and fires when u < threshold. Cells come in supergroups of 1024 (16 words
// of 64, in four groups of 256). A group's four high digits are bit planes of its own; its four low digits are the XOR
// of the high digits of the next two groups. So each cell costs 4 random bits, and with random bits the u of any two
// cells are independent and uniform. The bits are hashes of their index under a key that Philox makes of (seed, step).
// rate x 256 is rounded up or down at random, once for each supergroup, so that the mean is the rate itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "espalier/random.hpp"

namespace espalier {

class FireMask {
 public:
  // rate is clamped to [0, 1].
  FireMask(std::uint64_t seed, std::uint32_t step, double rate);

  // Rows of a board are padded to whole words: cell (y, x) is bit x % 64 of word y * row_words(W) + x / 64.
  static std::size_t row_words(std::size_t width) { return (width + 63) / 64; }

  bool fires(std::size_t y, std::size_t x, std::size_t width) const {
    return word(y * row_words(width) + x / 64) >> (x % 64) & 1;
  }
  // 64 cells, the plain way: what fill() must equal.
  std::uint64_t word(std::uint64_t index) const;
  // Words first .. first + out.size() - 1, vectorised.
  void fill(std::uint64_t first, std::span<std::uint64_t> out) const;

  static constexpr std::size_t kGroupWords = 4, kGroups = 4, kDigits = 4;
  static constexpr std::size_t kSuperWords = kGroupWords * kGroups;

  struct Key {
    std::uint32_t add, mid;
  };
  static constexpr std::uint32_t kStride = 0x9E3779B9, kFirst = 0x7FEB352D, kSecond = 0x846CA68B;
  // 32 random bits of an index: two rounds of multiply and shift, keyed before and between.
  static constexpr std::uint32_t hash(std::uint32_t index, Key key) {
    std::uint32_t x = index * kStride + key.add;
    x = (x ^ (x >> 16)) * kFirst;
    x = ((x ^ (x >> 15)) + key.mid) * kSecond;
    return x ^ (x >> 16);
  }
  // 0..256, for one supergroup.
  std::uint32_t threshold(std::uint64_t super) const {
    return whole_ + (hash(static_cast<std::uint32_t>(super), rounding_) < fraction_ ? 1 : 0);
  }
  std::uint32_t whole() const { return whole_; }  // every threshold is this or one more
  Key key() const { return bits_; }

 private:
  Key bits_, rounding_;
  std::uint32_t whole_;     // of rate x 256
  std::uint64_t fraction_;  // of rate x 256, in 2^-32
};

}  // namespace espalier
