#include "base/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/files.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Pattern, BlackAndWhiteHasOneChannel) {
  const Pattern p = parse_pattern("#..\n.##\n", "test");
  EXPECT_EQ(p.height, 2);
  EXPECT_EQ(p.width, 3);
  EXPECT_EQ(p.channels, 1);
  EXPECT_EQ(p.bits, (std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(p.at(0, 1, 2), 1);
}

TEST(Pattern, EveryColourLetterHasItsBits) {
  const Pattern p = parse_pattern(".rgybmcw", "test");
  EXPECT_EQ(p.channels, 3);
  EXPECT_EQ(p.bits, (std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1, 0, 1,     // red
                                               0, 0, 1, 1, 0, 0, 1, 1,     // green
                                               0, 0, 0, 0, 1, 1, 1, 1}));  // blue
  const Image image = image_of(p);
  EXPECT_EQ(image.at(0, 3), (Rgb{255, 255, 0}));
  EXPECT_EQ(image.at(0, 6), (Rgb{0, 255, 255}));
}

TEST(Pattern, TheTargetsOfTheProjectAreRead) {
  const std::string folder = std::string(ESPALIER_SOURCE_DIR) + "/data/targets/";
  const Pattern lizard = read_pattern(folder + "lizard-20.txt"), letter = read_pattern(folder + "letter-g-16.txt");
  EXPECT_EQ(std::tuple(lizard.height, lizard.width, lizard.channels), std::tuple(20, 20, 1));
  EXPECT_EQ(std::tuple(letter.height, letter.width, letter.channels), std::tuple(16, 16, 3));
  EXPECT_EQ(format_pattern(lizard), read_text(folder + "lizard-20.txt"));
  EXPECT_EQ(format_pattern(letter), read_text(folder + "letter-g-16.txt"));
}

TEST(Pattern, TextAndPictureAgreeForAnyPattern) {
  EXPECT_TRUE(rc::check([] {
    Pattern p{*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 20), *rc::gen::element(1, 3), {}};
    p.bits = *rc::gen::container<std::vector<std::uint8_t>>(static_cast<std::size_t>(p.height * p.width * p.channels),
                                                            rc::gen::inRange<std::uint8_t>(0, 2));
    if (p.channels == 3) p.bits[0] = 1, p.bits[static_cast<std::size_t>(p.height * p.width)] = 0;  // not grey
    RC_ASSERT(parse_pattern(format_pattern(p), "test").bits == p.bits);
    RC_ASSERT(pattern_of(image_of(p)).bits == p.bits);
  }));
}

TEST(Pattern, APictureIsCutAtHalf) {
  Image image(2, 1);
  image.set(0, 0, {127, 128, 0});
  image.set(0, 1, {255, 0, 129});
  const Pattern p = pattern_of(image);
  EXPECT_EQ(p.channels, 3);
  EXPECT_EQ(p.bits, (std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(pattern_of(Image(3, 3, {200, 180, 130})).channels, 1);
}

TEST(Pattern, FilesAreToldApartByTheirContent) {
  const TempFolder folder;
  const Pattern p = parse_pattern("r.\n.b\n", "test");
  write_png(folder / "picture.txt", image_of(p));
  write_atomically(folder / "text.png", format_pattern(p));
  EXPECT_EQ(read_pattern(folder / "picture.txt").bits, p.bits);
  EXPECT_EQ(read_pattern(folder / "text.png").bits, p.bits);
}

TEST(Pattern, WindowsLineEndsAndMissingLastNewlineAreFine) {
  const auto bits = parse_pattern("#.\n.#\n", "test").bits;
  EXPECT_EQ(parse_pattern("#.\r\n.#\r\n", "test").bits, bits);
  EXPECT_EQ(parse_pattern("#.\n.#", "test").bits, bits);
  EXPECT_EQ(parse_pattern("#.\n.#\n\n\n", "test").bits, bits);
}

TEST(Pattern, ErrorsGiveLineAndColumn) {
  const auto message = [](std::string_view text) {
    return message_of<Error>([&] { parse_pattern(text, "\"p.txt\""); });
  };
  EXPECT_THAT(message("#.\n.x\n"), AllOf(HasSubstr("'x' in \"p.txt\", line 2, column 2"), HasSubstr("# or .")));
  EXPECT_THAT(message("r.\n#.\n"), AllOf(HasSubstr("'#' in \"p.txt\", line 2, column 1"), HasSubstr("one of . r g")));
  EXPECT_THAT(message(std::string_view("..\n.\0\n", 6)), HasSubstr("byte 0x00 in \"p.txt\", line 2, column 2"));
  EXPECT_THAT(message("...\n..\n"), AllOf(HasSubstr("2 cells in \"p.txt\", line 2"), HasSubstr("3 as in line 1")));
  EXPECT_THAT(message("..\n\n..\n"), HasSubstr("0 cells in \"p.txt\", line 2"));
  EXPECT_THAT(message(""), HasSubstr("0 x 0 cells"));
  EXPECT_THAT(message("\n\n"), HasSubstr("0 x 0 cells"));
}

TEST(Pattern, AbsurdSizesAreErrors) {
  EXPECT_NO_THROW(parse_pattern(std::string(4096, '.'), "wide"));
  EXPECT_THROW(parse_pattern(std::string(4097, '.'), "wide"), Error);
  std::string tall;
  for (int i = 0; i < 4096; ++i) tall += ".\n";
  EXPECT_NO_THROW(parse_pattern(tall, "tall"));
  EXPECT_THROW(parse_pattern(tall + ".\n", "tall"), Error);
  EXPECT_THROW(format_pattern({1, 1, 2, {0, 0}}), Error);
}

}  // namespace
}  // namespace espalier
