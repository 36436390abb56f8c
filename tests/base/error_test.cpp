#include "espalier/error.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

TEST(Error, TheMessageHasTheOneForm) {
  EXPECT_EQ(message_of<Error>([] { fail("op", "this", "that", "do so"); }),
            "[op] got this, expected that; hint: do so");
  EXPECT_EQ(message_of<Error>([] { fail("op", "this", "that"); }), "[op] got this, expected that");
}

TEST(Error, BracesInTheWordsAreNotFormatCodes) {
  EXPECT_EQ(message_of<Error>([] { fail("op", "{}", "{0}", "{x}"); }), "[op] got {}, expected {0}; hint: {x}");
}

TEST(Text, OneOfAThingIsSingular) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(averaged(1, "bit"), "1 bit");
  EXPECT_EQ(averaged(1.000001, "bit"), "1 bit");
  EXPECT_EQ(averaged(2.5, "bit"), "2.5 bits");
}

TEST(Error, NamesOutOfFilesCannotBreakTheLineOrTheTerminal) {
  EXPECT_EQ(message_of<Error>([] { fail("op", "a\nb\x1b[2J\t", "é 日本"); }),
            "[op] got a\\nb\\x1b[2J\\x09, expected é 日本");
}

TEST(Text, CharactersWithoutAWidthAreShown) {
  for (const char* hidden : {"\u00ad", "\u034f", "\u115f", "\u17b4", "\u180e", "\u200b", "\u202e", "\u2066", "\u3164",
                             "\ufe0f", "\ufeff", "\uffa0", "\U0001d173", "\U000e0041", "\U000e0100"}) {
    EXPECT_EQ(printable(hidden).substr(0, 2), "\\u") << printable(hidden);
    EXPECT_EQ(printable(hidden).find(hidden), std::string::npos);
  }
  for (const char* seen : {"é", "日本", "\u0301", "\u00a0", "😀"}) EXPECT_EQ(printable(seen), seen);
}

TEST(Error, LongTextsAreCutBetweenCharacters) {
  const std::string message = message_of<Error>([] {
    std::string text = "x";
    for (int i = 0; i < 1000; ++i) text += "é";
    fail("op", text, "less");
  });
  EXPECT_LT(message.size(), 500u);
  EXPECT_NE(message.find("é..., expected less"), std::string::npos);
}

TEST(Text, TheFirstByteThatIsNotUtf8IsFound) {
  constexpr std::size_t kNone = std::string_view::npos;
  for (const char* good : {"", "plain", "gr\xc3\xb6\xc3\x9f", "\xe2\x82\xac", "\xed\x9f\xbf\xee\x80\x80",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(find_invalid_utf8(good), kNone) << good;
  for (const char* bad : {"\xff", "\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xc1\xbf", "\xe2\x82", "\xe0\x9f\xbf",
                          "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(find_invalid_utf8(bad), 0u);
    EXPECT_EQ(find_invalid_utf8(std::string("ab") + bad + "c"), 2u);
  }
}

TEST(Error, CancelledIsNotAnError) {
  // Ctrl-C must not be reported as the user's mistake.
  EXPECT_FALSE((std::is_base_of_v<Error, Cancelled>));
  EXPECT_THROW(throw Cancelled(), std::runtime_error);
}

}  // namespace
}  // namespace espalier
