#include "espalier/random.hpp"

#include <cmath>

#include "espalier/error.hpp"

namespace espalier {

PhiloxBlock philox(PhiloxBlock c, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiply0 * c[0], p1 = kMultiply1 * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return c;
}

std::uint64_t Random::choice(std::uint64_t element, std::uint64_t n) const {
  if (n == 0) [[unlikely]]
    fail("random choice", "0 things to choose from", "1 or more");
  // Lemire's multiply-and-shift; the rejected words are replaced by the other half of the block, and the
  // bias left after both is below 2^-64 for every n that fits in 32 bits.
  const PhiloxBlock b = block(element);
  const std::uint64_t high = b[0] | (std::uint64_t{b[1]} << 32), low = b[2] | (std::uint64_t{b[3]} << 32);
  __extension__ using Wide = unsigned __int128;
  const Wide first = Wide{high} * n;
  const std::uint64_t threshold = (0 - n) % n;
  if (static_cast<std::uint64_t>(first) >= threshold) return static_cast<std::uint64_t>(first >> 64);
  return static_cast<std::uint64_t>((Wide{low} * n) >> 64);
}

float Random::normal(std::uint64_t element) const {
  const PhiloxBlock b = block(element);
  const double u = (b[0] + 0.5) * 0x1p-32, v = b[1] * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

float Random::gumbel(std::uint64_t element) const {
  const double u = (bits(element) + 0.5) * 0x1p-32;
  return static_cast<float>(-std::log(-std::log(u)));
}

}  // namespace espalier
