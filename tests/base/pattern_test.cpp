#include "base/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/files.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "places.hpp"
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
  const std::string folder = test::source_dir() + "/data/targets/";
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

TEST(Pattern, APictureWithNothingBrighterThanHalfIsRefusedUnlessItIsBlack) {
  const TempFolder folder;
  Image dim(4, 2);
  dim.set(1, 2, {127, 90, 0});
  write_png(folder / "dim.png", dim);
  EXPECT_THAT(message_of<Error>([&] { read_pattern(folder / "dim.png"); }),
              AllOf(HasSubstr("dim.png"), HasSubstr("brighter than half"), HasSubstr("the others black")));
  EXPECT_THROW(pattern_of(Image(3, 3, {1, 1, 1})), Error);
  EXPECT_EQ(pattern_of(Image(2, 2)).bits, std::vector<std::uint8_t>(4));
  dim.set(0, 0, {0, 0, 128});
  EXPECT_EQ(pattern_of(dim).channels, 3);
}

TEST(Pattern, FilesOfOtherKindsAreNamed) {
  const TempFolder folder;
  const auto message = [&](const char* name, std::string_view text) {
    write_atomically(folder / name, text);
    return message_of<Error>([&] { read_pattern(folder / name); });
  };
  const std::string glider = "#N Glider\nx = 3, y = 3, rule = B3/S23\nbob$2bo$3o!\n";
  for (const char* name : {"glider.rle", "glider.txt"})
    EXPECT_THAT(message(name, glider), AllOf(HasSubstr(name), HasSubstr("an RLE pattern, which is not read here"),
                                             HasSubstr("a PNG (.png) or an ASCII pattern (.txt)")));
  EXPECT_THAT(message("a.cells", ".O.\n..O\nOOO\n"), HasSubstr("'O' in"));
  EXPECT_THAT(message("a.txt", "!Name: Glider\n.O.\n"), HasSubstr("a .cells pattern"));
  const std::string_view archive = "PK\x03\x04 and more, up to the name: ";
  EXPECT_THAT(message("a.npz", std::string(archive) + "a.npy"), HasSubstr("a NumPy file, which is not read here"));
  EXPECT_THAT(message("a.odg", std::string(archive) + "mimetype"), HasSubstr("a ZIP archive, which"));
  EXPECT_THAT(message("a.webp", "RIFF....WEBPVP8"), HasSubstr("a WebP"));
  EXPECT_THAT(message("a.txt", "MMM\n"), HasSubstr("'M' in"));
  EXPECT_THAT(message("a.npy", "\x93NUMPY"), HasSubstr("a NumPy file"));
}

TEST(Pattern, FilesAreToldApartByTheirContent) {
  const TempFolder folder;
  const Pattern p = parse_pattern("r.\n.b\n", "test");
  for (const char* name : {"picture.txt", "picture.npz", "picture.rle"}) {
    write_png(folder / name, image_of(p));
    EXPECT_EQ(read_pattern(folder / name).bits, p.bits) << name;
  }
  for (const char* name : {"text.png", "text.cells", "text.npy"}) {
    write_atomically(folder / name, format_pattern(p));
    EXPECT_EQ(read_pattern(folder / name).bits, p.bits) << name;
  }
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
