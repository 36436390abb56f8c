// What is asked of arrays of numbers that come from outside.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include "espalier/error.hpp"

namespace espalier {

// Neither NaN nor infinite, all of them. On bits, which compilers make vectors of.
inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t bad = 0;
  for (const float v : values) bad |= (std::bit_cast<std::uint32_t>(v) & kExponent) == kExponent;
  return bad == 0;
}

inline bool overlap(std::span<const float> a, std::span<const float> b) {
  const std::less<const float*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

[[noreturn, gnu::noinline, gnu::cold]] inline void fail_overlap(std::string_view op) {
  fail(op, "arrays that overlap", "results in separate memory");
}

// What is written must share no memory with the others.
inline void refuse_overlap(std::string_view op, std::span<const float> written,
                           std::initializer_list<std::span<const float>> others) {
  for (const std::span<const float> other : others)
    if (overlap(written, other)) [[unlikely]]
      fail_overlap(op);
}

}  // namespace espalier
