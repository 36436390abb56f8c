#include "models/dag/utf8.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {

std::vector<std::uint32_t> decode_utf8(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    const auto bad = [&](std::string_view why) { fail("utf-8", fmt::format("{} at byte {}", why, i), "valid UTF-8"); };
    if (length == 0) bad("a stray byte");
    if (i + length > text.size()) bad("a truncated character");
    std::uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2) bad("a truncated character");
      point = point << 6 | (next & 0x3F);
    }
    constexpr std::uint32_t kLeast[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length]) bad("an overlong form");
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) bad("no code point");
    points.push_back(point);
    i += length;
  }
  return points;
}

std::string encode_utf8(std::span<const std::uint32_t> code_points) {
  std::string text;
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  for (const std::uint32_t p : code_points) {
    if (p < 0x80) {
      put(p);
    } else if (p < 0x800) {
      put(0xC0 | p >> 6);
      put(0x80 | (p & 0x3F));
    } else if (p < 0x10000) {
      put(0xE0 | p >> 12);
      put(0x80 | (p >> 6 & 0x3F));
      put(0x80 | (p & 0x3F));
    } else {
      put(0xF0 | p >> 18);
      put(0x80 | (p >> 12 & 0x3F));
      put(0x80 | (p >> 6 & 0x3F));
      put(0x80 | (p & 0x3F));
    }
  }
  return text;
}

}  // namespace espalier
