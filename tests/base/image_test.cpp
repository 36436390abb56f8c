#include "base/image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/gif.hpp"
#include "base/pattern.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

Image some_image(int width, int height, unsigned salt) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<std::uint8_t>(i * 37 + salt);
  return image;
}

TEST(Image, APngComesBackToTheByte) {
  EXPECT_TRUE(rc::check([] {
    const Image image = some_image(*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 40), *rc::gen::arbitrary<unsigned>());
    const Image back = decode_png(encode_png(image), "test");
    RC_ASSERT(back.width == image.width);
    RC_ASSERT(back.height == image.height);
    RC_ASSERT(back.rgb == image.rgb);
  }));
}

TEST(Image, APngFileComesBack) {
  const TempFolder folder;
  const Image image = some_image(5, 3, 1);
  write_png(folder / "x.png", image);
  EXPECT_EQ(read_png(folder / "x.png").rgb, image.rgb);
  EXPECT_THAT(message_of<Error>([&] { read_png(folder / "absent.png"); }), HasSubstr("absent.png"));
}

TEST(Image, EveryTruncationOfAPngIsAnError) {
  const auto png = encode_png(some_image(9, 7, 3));
  for (std::size_t length = 0; length + 12 < png.size(); ++length)  // the last 12 bytes only say that it ends
    EXPECT_THAT(message_of<Error>([&] { decode_png(std::span(png).first(length), "cut"); }), HasSubstr("[read PNG]"));
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

TEST(Image, AHugePngIsRefusedByItsHeaderAlone) {
  auto png = encode_png(some_image(9, 7, 3));
  // Bytes 16 to 19 are the width; the header's checksum over bytes 12 to 28 follows.
  png[17] = std::byte{0x08};
  const std::uint32_t crc = crc32(std::span(png).subspan(12, 17));
  for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  EXPECT_THAT(message_of<Error>([&] { decode_png(png, "huge"); }), HasSubstr("huge of 524297 x 7 pixels"));
}

TEST(Image, EnlargeRepeatsEveryPixel) {
  const Image small = some_image(3, 2, 9), large = enlarge(small, 4);
  EXPECT_EQ(large.width, 12);
  EXPECT_EQ(large.height, 8);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 12; ++column) EXPECT_EQ(large.at(row, column), small.at(row / 4, column / 4));
  EXPECT_THROW(enlarge(small, 0), Error);
  EXPECT_THROW(enlarge(small, 2'000'000'000), Error);
}

TEST(Image, AbsurdSizesAreErrors) {
  EXPECT_THROW(Image(0, 1), Error);
  EXPECT_THROW(Image(1, -1), Error);
  EXPECT_THROW(Image(100'000, 100'000), Error);
  EXPECT_THROW(encode_png(Image()), Error);
}

TEST(Image, ShortPixelsAndPlacesOutsideAreErrors) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{188}, std::size_t{200}}) {
    Image image = some_image(9, 7, 3);
    image.rgb.resize(bytes);
    EXPECT_THROW(encode_png(image), Error) << bytes;
    EXPECT_THROW(encode_gif({{image}}), Error) << bytes;
    EXPECT_THROW(pattern_of(image), Error) << bytes;
    if (bytes > 189) continue;  // more than enough is harmless where pixels are taken one by one
    EXPECT_THROW(enlarge(image, 2), Error) << bytes;
    EXPECT_THROW(draw_in_terminal(image), Error) << bytes;
    EXPECT_THROW(draw_in_terminal(image, {.colour = true}), Error) << bytes;
  }
  Image image = some_image(9, 7, 3);
  for (const auto& [row, column] : {std::pair{-1, 0}, {0, -1}, {7, 0}, {0, 9}, {1 << 30, 1 << 30}}) {
    EXPECT_THROW(image.at(row, column), Error);
    EXPECT_THROW(image.set(row, column, {}), Error);
  }
  Pattern pattern = parse_pattern("#.\n.#\n", "test");
  pattern.bits.pop_back();
  EXPECT_THROW(format_pattern(pattern), Error);
  pattern.bits.push_back(200);
  EXPECT_THROW(format_pattern(pattern), Error);
}

TEST(Terminal, TwoRowsOfCellsShareALine) {
  const Image image = image_of(parse_pattern("#.#.\n##..\n#..#\n", "test"));
  EXPECT_EQ(draw_in_terminal(image), "█▄▀ \n▀  ▀\n");
  EXPECT_EQ(rewind_terminal(image), "\x1b[2F");
}

TEST(Terminal, EveryColourIsSeenWithoutColours) {
  EXPECT_EQ(draw_in_terminal(image_of(parse_pattern(".rgybmcw", "test"))), " ▀▀▀▀▀▀▀\n");
}

TEST(Terminal, ColoursAreSetOnlyWhereTheyChangeAndResetAtTheEnd) {
  const Image image = image_of(parse_pattern("rrb\n...\n", "test"));
  EXPECT_EQ(draw_in_terminal(image, {.colour = true}),
            "\x1b[38;2;255;0;0m\x1b[48;2;0;0;0m▀▀\x1b[38;2;0;0;255m▀\x1b[0m\n");
}

TEST(Terminal, AnOddLastRowHasNoGround) {
  const Image image = image_of(parse_pattern("r", "test"));
  EXPECT_EQ(draw_in_terminal(image, {.colour = true}), "\x1b[38;2;255;0;0m▀\x1b[0m\n");
}

}  // namespace
}  // namespace espalier
