// Animated GIFs from frames of one size.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/image.hpp"

namespace espalier {

struct GifOptions {
  int delay_ms = 100;        // how long a frame stays; GIF counts in hundredths of a second
  int last_delay_ms = 1000;  // how long the last one stays, so that the end can be seen
  int loops = 0;             // 0 = for ever
  long held = -1;            // a frame that stays for held_ms, by its number
  int held_ms = 1000;
};

// The palette is made of the colours in use. Beyond 256 of them the lowest bits of all colours are dropped
// until they fit; boards of cells never come near that.
std::vector<std::byte> encode_gif(std::span<const Image> frames, const GifOptions& options = {});
// Frames that are made when they are needed, the same ones each time, so that there is never more than one of them.
std::vector<std::byte> encode_gif(std::size_t frames, const std::function<Image(std::size_t)>& frame,
                                  const GifOptions& options = {});

}  // namespace espalier
