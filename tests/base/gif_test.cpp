#include "base/gif.hpp"

#include <gif_lib.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

// What giflib's own reader makes of our bytes.
struct Decoded {
  std::vector<Image> frames;
  std::vector<int> delays;  // hundredths of a second
  int loops = -1;
};

Decoded decode(const std::vector<std::byte>& bytes) {
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
  Decoded out;
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

std::vector<Image> growing_frames(int count) {
  std::vector<Image> frames;
  for (int f = 0; f < count; ++f) {
    Image image(17, 11);
    for (int i = 0; i <= f; ++i) image.set(i % 11, (3 * i) % 17, {255, static_cast<std::uint8_t>(10 * i), 0});
    frames.push_back(image);
  }
  return frames;
}

TEST(Gif, FramesDelaysAndLoopComeBack) {
  const auto frames = growing_frames(8);
  const Decoded back = decode(encode_gif(frames, {.delay_ms = 70, .last_delay_ms = 900, .loops = 300}));
  ASSERT_EQ(back.frames.size(), frames.size());
  for (std::size_t f = 0; f < frames.size(); ++f) EXPECT_EQ(back.frames[f].rgb, frames[f].rgb) << f;
  EXPECT_EQ(back.delays, (std::vector<int>{7, 7, 7, 7, 7, 7, 7, 90}));
  EXPECT_EQ(back.loops, 300);
}

TEST(Gif, ASingleFrameOfOneColourIsFine) {
  const std::vector<Image> one{Image(4, 4, {1, 2, 3})};
  EXPECT_EQ(decode(encode_gif(one)).frames.at(0).rgb, one[0].rgb);
}

TEST(Gif, Exactly256ColoursAreKeptAndMoreAreRounded) {
  std::vector<Image> frames{Image(256, 2)};
  for (int i = 0; i < 256; ++i)
    for (int row = 0; row < 2; ++row) frames[0].set(row, i, {static_cast<std::uint8_t>(i), 7, 9});
  EXPECT_EQ(decode(encode_gif(frames)).frames.at(0).rgb, frames[0].rgb);
  frames[0].set(1, 0, {0, 8, 9});
  const Image rounded = decode(encode_gif(frames)).frames.at(0);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(rounded.at(0, i), (Rgb{static_cast<std::uint8_t>(i & 0xfe), 6, 8}));
}

TEST(Gif, TheSameFramesGiveTheSameBytes) {
  const TempFolder folder;
  const auto frames = growing_frames(3);
  write_gif(folder / "a.gif", frames);
  EXPECT_EQ(read_bytes(folder / "a.gif"), encode_gif(frames));
}

TEST(Gif, NoFramesOrUnequalSizesAreErrors) {
  EXPECT_THROW(encode_gif({}), Error);
  EXPECT_THROW(encode_gif(std::vector<Image>{Image(2, 2), Image(3, 2)}), Error);
  EXPECT_THROW(encode_gif(std::vector<Image>{Image()}), Error);
}

}  // namespace
}  // namespace espalier
