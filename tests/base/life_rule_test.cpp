#include "base/life_rule.hpp"

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

// Conway's words: a cell lives on with two or three living neighbours, and is born with three.
TEST(LifeRule, ConwaysRuleHoldsForAllPatches) {
  const RuleTable table = parse_life_rule("B3/S23");
  for (unsigned patch = 0; patch < 512; ++patch) {
    int neighbours = 0;
    for (unsigned place = 0; place < 9; ++place) neighbours += place != 4 && (patch >> place & 1);
    const bool lives = patch >> 4 & 1;
    ASSERT_EQ(table[patch], neighbours == 3 || (lives && neighbours == 2)) << patch;
  }
}

TEST(LifeRule, OneRuleHasManySpellings) {
  const RuleTable highlife = parse_life_rule("B36/S23");
  for (const char* text : {"b36/s23", "B36S23", "b36s23", "23/36", " B63/S32 ", "S23/B36"})
    EXPECT_EQ(parse_life_rule(text), highlife) << text;
  EXPECT_NE(parse_life_rule("B3/S23"), highlife);
  EXPECT_EQ(parse_life_rule("/2"), parse_life_rule("B2/S"));
  EXPECT_EQ(parse_life_rule("B2"), parse_life_rule("B2/S"));
}

TEST(LifeRule, EveryLifeLikeRuleIsFormattedBack) {
  EXPECT_TRUE(rc::check([] {
    std::string rule = "B";
    for (const char section : {'B', 'S'}) {
      if (section == 'S') rule += "/S";
      for (char n = '0'; n <= '8'; ++n)
        if (*rc::gen::arbitrary<bool>()) rule += n;
    }
    RC_ASSERT(format_life_rule(parse_life_rule(rule)) == rule);
  }));
}

TEST(LifeRule, OtherRulesHaveNoSuchName) {
  for (unsigned patch = 0; patch < 512; ++patch) {
    RuleTable table = parse_life_rule("B3/S23");
    table[patch] ^= 1;
    const auto name = format_life_rule(table);
    // Only where one patch is all there is of its count does the result have a name: no neighbours, or eight.
    EXPECT_EQ(name.has_value(), (patch | 16) == 16 || (patch | 16) == 511) << patch;
  }
}

TEST(LifeRule, WhatIsNoLifeLikeRuleIsRefused) {
  EXPECT_EQ(parse_life_rule("B"), RuleTable{});  // a rule: nothing is ever born
  for (const char* text : {"", " ", "3", "S23", "B9/S23", "B3/S23/2", "/2/3", "B3/23", "B3B2/S", "23/3S", "B2-a/S12",
                           "B3/S23:T100,100", "B3/S23H", "life"}) {
    EXPECT_THAT(message_of<Error>([&] { parse_life_rule(text); }), AllOf(HasSubstr("[rule]"), HasSubstr("B3/S23")));
  }
}

TEST(RuleTable, TextAndTableAreTheSame) {
  EXPECT_TRUE(rc::check([] {
    RuleTable table;
    for (std::uint8_t& entry : table) entry = *rc::gen::arbitrary<bool>();
    RC_ASSERT(parse_rule_table(format_rule_table(table), "test") == table);
  }));
}

TEST(RuleTable, BlanksAndCommentsDoNotCount) {
  const std::string folder = test::source_dir() + "/tests/fuzz/corpus/rule/";
  const RuleTable conway = parse_life_rule("B3/S23");
  EXPECT_EQ(read_rule_table(folder + "table"), conway);
  EXPECT_EQ(read_rule_table(folder + "table-commented"), conway);
}

TEST(RuleTable, ErrorsNameWhatIsWrong) {
  const auto message = [](const std::string& text) {
    return message_of<Error>([&] { parse_rule_table(text, "\"r\""); });
  };
  const std::string zeros(512, '0');
  EXPECT_THAT(message(zeros.substr(1)), AllOf(HasSubstr("\"r\""), HasSubstr("511 entries")));
  EXPECT_THAT(message(zeros + "0"), HasSubstr("more than 512"));
  EXPECT_THAT(message("01\n2"), AllOf(HasSubstr("'2'"), HasSubstr("line 2")));
  EXPECT_THAT(message(""), HasSubstr("0 entries"));
}

}  // namespace
}  // namespace espalier
