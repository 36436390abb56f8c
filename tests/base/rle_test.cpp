#include "base/rle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "base/files.hpp"
#include "base/pattern.hpp"
#include "codecs.hpp"
#include "espalier/error.hpp"
#include "places.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

RlePattern stored(const std::string& name) {
  return parse_rle(read_text(test::source_dir() + "/tests/fuzz/corpus/rle/" + name), name);
}

TEST(Rle, ReadsAGlider) {
  const RlePattern p = stored("glider");
  EXPECT_EQ(p.height, 3);
  EXPECT_EQ(p.width, 3);
  EXPECT_EQ(p.rule, "B3/S23");
  EXPECT_THAT(p.cells, ElementsAre(0, 1, 0, 0, 0, 1, 1, 1, 1));
}

TEST(Rle, ReadsGospersGun) {
  const RlePattern p = stored("gosper");
  EXPECT_EQ(std::accumulate(p.cells.begin(), p.cells.end(), 0), 36);  // the gun has 36 living cells
  EXPECT_EQ(p.cells[24], 1);
  EXPECT_EQ(p.cells[4 * 36], 1);
  EXPECT_EQ(p.cells[8 * 36 + 13], 1);
}

TEST(Rle, TheFirstOfManyStatesIsOnAndOthersAreRefused) {
  const RlePattern p = parse_rle("x = 5, y = 2, rule = WireWorld\n.A2.A$2A.!", "test");
  EXPECT_EQ(p.rule, "WireWorld");
  EXPECT_THAT(p.cells, ElementsAre(0, 1, 0, 0, 1, 1, 1, 0, 0, 0));
  for (const char* name : {"states", "all-states", "state-too-high"})
    EXPECT_THAT(message_of<Error>([&] { stored(name); }),
                AllOf(HasSubstr("a state beyond 1"), HasSubstr(name), HasSubstr("line 2"), HasSubstr("o or A"),
                      HasSubstr("cannot be run here")))
        << name;
}

TEST(Rle, TheRuleComesFromTheHeaderOrFromItsOwnLine) {
  EXPECT_EQ(stored("old-rule").rule, "23/3");
  EXPECT_EQ(stored("topology").rule, "B3/S23:T100,200");
  EXPECT_EQ(parse_rle("#r 23/3\nx = 1, y = 1, rule = B2/S\no!", "test").rule, "B2/S");
  EXPECT_EQ(parse_rle("x=1,y=1\no!", "test").rule, "");
}

TEST(Rle, LineEndsAndCommentsMayStandAnywhere) {
  EXPECT_THAT(stored("windows").cells, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(stored("comment-between").cells, ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(stored("split-count").cells, std::vector<std::uint8_t>(12, 1));
  EXPECT_THAT(stored("dead-outside").cells, ElementsAre(0, 0));
}

TEST(Rle, WhatIsWrittenIsReadBack) {
  EXPECT_TRUE(rc::check([] {
    RlePattern p;
    p.height = *rc::gen::inRange(1, 20);
    p.width = *rc::gen::inRange(1, 50);
    p.rule = *rc::gen::element<std::string>("", "B3/S23", "WireWorld");
    p.cells.resize(static_cast<std::size_t>(p.height * p.width));
    for (std::uint8_t& cell : p.cells) cell = *rc::gen::arbitrary<bool>();
    RC_ASSERT(parse_rle(format_rle(p), "test") == p);
  }));
}

TEST(Rle, ErrorsNameFileAndLine) {
  const auto message = [](std::string_view text) { return message_of<Error>([&] { parse_rle(text, "\"a.rle\""); }); };
  EXPECT_THAT(message(""), AllOf(HasSubstr("no header"), HasSubstr("\"a.rle\"")));
  EXPECT_THAT(message("bob$2bo$3o!"), AllOf(HasSubstr("size x"), HasSubstr("line 1")));
  EXPECT_THAT(message("x = 3, y = 5000\n!"), HasSubstr("y = 1 to 4096"));
  EXPECT_THAT(message("x = 3\n!"), HasSubstr("no height"));
  EXPECT_THAT(message("x = 2, y = 2\n2o$\n3o!"), AllOf(HasSubstr("row 2, column 3"), HasSubstr("line 3")));
  EXPECT_THAT(message("x = 2, y = 1\n2o$o!"), HasSubstr("row 2, column 1"));
  EXPECT_THAT(message("x = 2, y = 2\n2o$"), HasSubstr("no closing !"));
  EXPECT_THAT(message("x = 2, y = 2\n2z!"), HasSubstr("'z'"));
  EXPECT_THAT(message("x = 2, y = 2\n2AB!"), AllOf(HasSubstr("'B', a state beyond 1"), HasSubstr("line 2")));
  EXPECT_THAT(message("x = 2, y = 2\n99999999999o!"), HasSubstr("count"));
}

}  // namespace
}  // namespace espalier
