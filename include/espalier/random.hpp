// Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011). A number is a pure function of (seed, purpose, step, element): no state, any order,
// any thread.
// Example:
//   const Random coins(7, Purpose::kBatch, 0);  // seed 7, step 0
//   const float first = coins.uniform(0), second = coins.uniform(1);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace espalier {

using PhiloxBlock = std::array<std::uint32_t, 4>;

// The raw generator: one 128-bit block for a 128-bit counter and a 64-bit key.
PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key);

// What a stream of numbers is for. Values are part of the file format: append, never renumber.
enum class Purpose : std::uint32_t {
  kInit = 0,
  kWiring = 1,
  kBatch = 2,
  kFire = 3,
  kGumbel = 4,
  kDamage = 5,
  kValidation = 6,
  kSplit = 7,
  kData = 8,
  kTrial = 9,
  kSweep = 10,
  kSearch = 11,
  kRefine = 12,
  kRestart = 13,
  kPool = 14,
  kTest = 15,
};

// All numbers of one (seed, purpose, step).
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint32_t step = 0)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        purpose_(static_cast<std::uint32_t>(purpose)),
        step_(step) {}

  // Four independent 32-bit words for `element`.
  PhiloxBlock block(std::uint64_t element) const {
    return philox({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32), step_, purpose_},
                  key_);
  }
  std::uint32_t bits(std::uint64_t element) const { return block(element)[0]; }
  std::uint64_t bits64(std::uint64_t element) const {
    const PhiloxBlock b = block(element);
    return b[0] | (std::uint64_t{b[1]} << 32);
  }

  bool coin(std::uint64_t element) const { return bits(element) >> 31; }
  // In [0, 1): a multiple of 2^-24, so exact in float.
  float uniform(std::uint64_t element) const { return to_unit(bits(element)); }
  // Unbiased in [0, n). An Error for n = 0.
  std::uint64_t choice(std::uint64_t element, std::uint64_t n) const;
  // Standard normal by Box-Muller, from two words of one block.
  float normal(std::uint64_t element) const;
  // Standard Gumbel, -log(-log(u)).
  float gumbel(std::uint64_t element) const;

  // Fisher-Yates; the order depends on (seed, purpose, step) and values.size() alone.
  template <class T>
  void shuffle(std::span<T> values) const {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[choice(i, i)]);
  }

  static float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t purpose_, step_;
};

}  // namespace espalier
