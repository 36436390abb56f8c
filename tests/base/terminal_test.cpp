#include "base/terminal.hpp"

#include <gtest/gtest.h>

#include "base/pattern.hpp"

namespace espalier {
namespace {

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
