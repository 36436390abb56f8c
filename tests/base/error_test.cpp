#include "espalier/error.hpp"

#include <gtest/gtest.h>

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

TEST(Error, NamesOutOfFilesCannotBreakTheLineOrTheTerminal) {
  EXPECT_EQ(message_of<Error>([] { fail("op", "a\nb\x1b[2J\t", "é 日本"); }),
            "[op] got a\\nb\\x1b[2J\\x09, expected é 日本");
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

TEST(Error, CancelledIsNotAnError) {
  // Ctrl-C must not be reported as the user's mistake.
  EXPECT_FALSE((std::is_base_of_v<Error, Cancelled>));
  EXPECT_THROW(throw Cancelled(), std::runtime_error);
}

}  // namespace
}  // namespace espalier
