// An animated GIF as giflib's own reader sees it: its frames and how long each stays.
#pragma once

#include <gif_lib.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/image.hpp"

namespace espalier {

// What giflib's own reader makes of our bytes.
struct DecodedGif {
  std::vector<Image> frames;
  std::vector<int> delays;  // hundredths of a second
  int loops = -1;
};

inline DecodedGif decode_gif(const std::vector<std::byte>& bytes) {
  struct Source {
    const std::vector<std::byte>& bytes;
    std::size_t at;
  } source{bytes, 0};
  const auto read = [](GifFileType* file, GifByteType* into, int count) {
    auto& s = *static_cast<Source*>(file->UserData);
    const std::size_t n = std::min<std::size_t>(static_cast<std::size_t>(count), s.bytes.size() - s.at);
    std::memcpy(into, s.bytes.data() + s.at, n);
    s.at += n;
    return static_cast<int>(n);
  };
  int error = 0;
  GifFileType* gif = DGifOpen(&source, read, &error);
  DecodedGif out;
  EXPECT_NE(gif, nullptr) << error;
  if (!gif) return out;
  EXPECT_EQ(DGifSlurp(gif), GIF_OK);
  for (int f = 0; f < gif->ImageCount; ++f) {
    const SavedImage& saved = gif->SavedImages[f];
    Image image(saved.ImageDesc.Width, saved.ImageDesc.Height);
    for (std::size_t i = 0; i < image.rgb.size() / 3; ++i) {
      const GifColorType c = gif->SColorMap->Colors[saved.RasterBits[i]];
      image.rgb[3 * i] = c.Red, image.rgb[3 * i + 1] = c.Green, image.rgb[3 * i + 2] = c.Blue;
    }
    out.frames.push_back(image);
    GraphicsControlBlock control{};
    DGifSavedExtensionToGCB(gif, f, &control);
    out.delays.push_back(control.DelayTime);
    for (int e = 0; e < saved.ExtensionBlockCount; ++e)
      if (saved.ExtensionBlocks[e].Function == CONTINUE_EXT_FUNC_CODE && saved.ExtensionBlocks[e].ByteCount == 3)
        out.loops = saved.ExtensionBlocks[e].Bytes[1] | saved.ExtensionBlocks[e].Bytes[2] << 8;
  }
  DGifCloseFile(gif, &error);
  return out;
}

}  // namespace espalier
