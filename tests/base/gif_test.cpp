#include "base/gif.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "decoded_gif.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

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
  const DecodedGif back =
      decode_gif(encode_gif(frames, {.delay_ms = 70, .last_delay_ms = 900, .loops = 300, .held = 2, .held_ms = 500}));
  ASSERT_EQ(back.frames.size(), frames.size());
  for (std::size_t f = 0; f < frames.size(); ++f) EXPECT_EQ(back.frames[f].rgb, frames[f].rgb) << f;
  EXPECT_EQ(back.delays, (std::vector<int>{7, 7, 50, 7, 7, 7, 7, 90}));
  EXPECT_EQ(back.loops, 300);
}

TEST(Gif, ASingleFrameOfOneColourIsFine) {
  const std::vector<Image> one{Image(4, 4, {1, 2, 3})};
  EXPECT_EQ(decode_gif(encode_gif(one)).frames.at(0).rgb, one[0].rgb);
}

TEST(Gif, Exactly256ColoursAreKeptAndMoreAreRounded) {
  std::vector<Image> frames{Image(256, 2)};
  for (int i = 0; i < 256; ++i)
    for (int row = 0; row < 2; ++row) frames[0].set(row, i, {static_cast<std::uint8_t>(i), 7, 9});
  EXPECT_EQ(decode_gif(encode_gif(frames)).frames.at(0).rgb, frames[0].rgb);
  frames[0].set(1, 0, {0, 8, 9});
  const Image rounded = decode_gif(encode_gif(frames)).frames.at(0);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(rounded.at(0, i), (Rgb{static_cast<std::uint8_t>(i & 0xfe), 6, 8}));
}

TEST(Gif, TheSameFramesGiveTheSameBytes) {
  const auto frames = growing_frames(3);
  EXPECT_EQ(encode_gif(frames), encode_gif(growing_frames(3)));
  EXPECT_EQ(encode_gif(3, [&](std::size_t f) { return frames[f]; }, {}), encode_gif(frames));
}

TEST(Gif, NoFramesOrUnequalSizesAreErrors) {
  EXPECT_THROW(encode_gif({}), Error);
  EXPECT_THROW(encode_gif(std::vector<Image>{Image(2, 2), Image(3, 2)}), Error);
  EXPECT_THROW(encode_gif(std::vector<Image>{Image()}), Error);
}

}  // namespace
}  // namespace espalier
