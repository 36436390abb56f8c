// Strict UTF-8: code points in, code points out. Overlong forms, surrogates and truncation are Errors that say
// at which byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

std::vector<std::uint32_t> decode_utf8(std::string_view text);
std::string encode_utf8(std::span<const std::uint32_t> code_points);

}  // namespace espalier
