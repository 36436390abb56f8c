// Target patterns: boards of bits written as text or as a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/image.hpp"

namespace espalier {

inline constexpr int kMaxPatternSide = 4096;

// One channel: `#` is 1, `.` is 0. Three channels (red, green, blue), one letter a cell:
//   . black   r red   g green   y yellow   b blue   m magenta   c cyan   w white
struct Pattern {
  int height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> bits;  // [channel][row][column], 0 or 1

  std::uint8_t at(int channel, int row, int column) const {
    return bits[(static_cast<std::size_t>(channel) * static_cast<std::size_t>(height) + static_cast<std::size_t>(row)) *
                    static_cast<std::size_t>(width) +
                static_cast<std::size_t>(column)];
  }
};

// Errors give line and column. A text of dots alone has one channel.
Pattern parse_pattern(std::string_view text, std::string_view what);
// A colour counts as on from half its range. A picture that is black and white by that measure has one
// channel. One that is not black, but has nothing that counts as on, is refused.
Pattern pattern_of(const Image& image, std::string_view what = "a picture");
// PNG or text, told apart by the first bytes. `kinds`: what is read where the file is named, for the message about
// files of other kinds.
inline constexpr const char* kPatternKinds = "a PNG (.png) or an ASCII pattern (.txt)";
inline constexpr std::size_t kMaxPatternBytes = 64 << 20;  // of a file
Pattern parse_pattern_file(std::span<const std::byte> bytes, std::string_view what,
                           std::string_view kinds = kPatternKinds);
Pattern read_pattern(const std::string& path);

// The reverse: 1 or 3 channels.
std::string format_pattern(const Pattern& pattern);

}  // namespace espalier
