// Animated GIFs from frames of one size.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/image.hpp"

namespace espalier {

struct GifOptions {
  int delay_ms = 100;        // how long a frame stays; GIF counts in hundredths of a second
  int last_delay_ms = 1000;  // how long the last one stays, so that the end can be seen
  int loops = 0;             // 0 = for ever
};

// The palette is made of the colours in use. Beyond 256 of them the lowest bits of all colours are dropped
// until they fit; boards of cells never come near that.
std::vector<std::byte> encode_gif(std::span<const Image> frames, const GifOptions& options = {});

void write_gif(const std::string& path, std::span<const Image> frames, const GifOptions& options = {});  // atomic

}  // namespace espalier
