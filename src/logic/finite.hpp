// Whether numbers that come from outside are numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace espalier {

// Neither NaN nor infinite, all of them. On bits, which compilers make vectors of.
inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t bad = 0;
  for (const float v : values) bad |= (std::bit_cast<std::uint32_t>(v) & kExponent) == kExponent;
  return bad == 0;
}

}  // namespace espalier
