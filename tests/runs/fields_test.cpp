// Options as data: every kind of member, what it accepts and how it is written.
#include "espalier/fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

enum class Colour { kRed, kGreen, kBlue };

struct Everything {
  bool flag = false;
  int integer = 3;
  std::uint64_t count = 5;
  float single = 0.1f;
  double wide = 0.1;
  std::string text = "as it is";
  Colour colour = Colour::kGreen;
  std::vector<int> list = {1, 2};
};

Fields fields_of(Everything& e) {
  Fields f;
  f.add("flag", e.flag, "a flag");
  f.add("integer", e.integer, "a number", -10, 10).alias("whole").alias("i");
  f.add("count", e.count, "a count", 0, 1.8446744073709552e19);
  f.add("single", e.single, "a float", 0, 1e30);
  f.add("wide", e.wide, "a double", -1, 1).metavar("X");
  f.add("text", e.text, "any text").metavar("FILE");
  f.add("colour", e.colour, "a choice", {"red", "green", "blue"});
  f.add("list",
        {[&e] { return std::to_string(e.list.size()); },
         [&e](const std::string& text) {
           if (text == "bad") fail("list", text, "a size");
           e.list.assign(static_cast<std::size_t>(std::stoi(text)), 0);
         }},
        "something of its own");
  return f;
}

class FieldsTest : public testing::Test {
 protected:
  std::string refused(const char* name, const std::string& text) {
    const std::string before = fields_.at(name).text();
    const std::string message = message_of<Error>([&] { fields_.at(name).set_text(text); });
    EXPECT_EQ(fields_.at(name).text(), before) << "changed by what was refused";
    EXPECT_THAT(message, HasSubstr(fields_.at(name).name()));
    return message;
  }
  Everything e_;
  Fields fields_ = fields_of(e_);
};

TEST_F(FieldsTest, EveryKindIsReadFromTextIntoItsMember) {
  fields_.at("flag").set_text("true");
  fields_.at("integer").set_text("-7");
  fields_.at("count").set_text("18446744073709551615");
  fields_.at("single").set_text("2.5");
  fields_.at("wide").set_text("-1e-3");
  fields_.at("text").set_text("");
  fields_.at("colour").set_text("blue");
  fields_.at("list").set_text("4");
  EXPECT_TRUE(e_.flag);
  EXPECT_EQ(e_.integer, -7);
  EXPECT_EQ(e_.count, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(e_.single, 2.5f);
  EXPECT_EQ(e_.wide, -1e-3);
  EXPECT_EQ(e_.text, "");
  EXPECT_EQ(e_.colour, Colour::kBlue);
  EXPECT_EQ(e_.list.size(), 4u);
}

TEST_F(FieldsTest, EveryKindSaysWhatItIs) {
  using Kind = Field::Kind;
  const std::pair<const char*, Kind> kinds[] = {
      {"flag", Kind::kFlag},   {"integer", Kind::kInteger}, {"count", Kind::kInteger}, {"single", Kind::kNumber},
      {"wide", Kind::kNumber}, {"text", Kind::kText},       {"colour", Kind::kText},   {"list", Kind::kText}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(fields_.at(name).kind(), kind) << name;
  EXPECT_EQ(std::get<bool>(fields_.at("flag").value()), false);
  EXPECT_EQ(std::get<std::int64_t>(fields_.at("integer").value()), 3);
  EXPECT_EQ(std::get<std::uint64_t>(fields_.at("count").value()), 5u);
  EXPECT_EQ(std::get<double>(fields_.at("single").value()), 0.1);  // as written, not as 0.10000000149
  EXPECT_EQ(std::get<double>(fields_.at("wide").value()), 0.1);
  EXPECT_EQ(std::get<std::string>(fields_.at("colour").value()), "green");
  EXPECT_EQ(fields_.at("colour").choices(), (std::vector<std::string>{"red", "green", "blue"}));
  EXPECT_EQ(fields_.at("wide").metavar(), "X");
  EXPECT_EQ(fields_.at("text").help(), "any text");
}

TEST_F(FieldsTest, FloatsAreWrittenAsShortAsTheyCanBeReadBack) {
  for (const float value : {0.1f, 0.3f, 1e-8f, 0.99f, 1e30f, 16777216.0f, 1.0f / 3, 3.4e-38f, 0.0f}) {
    e_.single = value;
    const std::string text = fields_.at("single").text();
    EXPECT_LE(text.size(), 13u) << text;
    e_.single = -1;
    fields_.at("single").set_text(text);
    EXPECT_EQ(e_.single, value) << text;
    const FieldValue wide = fields_.at("single").value();
    e_.single = -1;
    fields_.at("single").set(wide);
    EXPECT_EQ(e_.single, value) << text;
  }
  e_.single = 0.1f;
  EXPECT_EQ(fields_.at("single").text(), "0.1");
}

TEST_F(FieldsTest, TheWrongTypeIsRefused) {
  EXPECT_THAT(refused("flag", "yes"), HasSubstr("true or false"));
  EXPECT_THAT(refused("integer", "1.5"), HasSubstr("whole number"));
  EXPECT_THAT(refused("integer", ""), HasSubstr("whole number"));
  EXPECT_THAT(refused("integer", "3 "), HasSubstr("whole number"));
  for (const char* text : {"1e", "e3", "15e-1", "1e400", "0x1e3", "-", "+1"})
    EXPECT_THAT(refused("integer", text), HasSubstr("whole number")) << text;
  EXPECT_THAT(refused("single", "many"), HasSubstr("a number"));
  EXPECT_THAT(refused("single", "nan"), HasSubstr("a number"));
  EXPECT_THAT(refused("wide", "inf"), HasSubstr("a number"));
  EXPECT_THAT(refused("list", "bad"), HasSubstr("bad"));
  const auto set = [&](const char* name, const FieldValue& value) {
    return message_of<Error>([&] { fields_.at(name).set(value); });
  };
  EXPECT_THAT(set("flag", std::int64_t{1}), HasSubstr("true or false"));
  EXPECT_THAT(set("integer", 1.0), HasSubstr("whole number"));
  EXPECT_THAT(set("integer", true), HasSubstr("whole number"));
  EXPECT_THAT(set("wide", std::string("0.5")), HasSubstr("a number"));
  EXPECT_THAT(set("text", std::int64_t{5}), HasSubstr("text"));
  EXPECT_THAT(set("colour", std::int64_t{1}), HasSubstr("text"));
  fields_.at("wide").set(std::int64_t{1});  // a whole number is a number
  EXPECT_EQ(e_.wide, 1.0);
}

TEST_F(FieldsTest, WhatIsOutOfRangeIsRefusedWithTheRange) {
  EXPECT_THAT(refused("integer", "11"), HasSubstr("-10 to 10"));
  EXPECT_THAT(refused("integer", "-11"), HasSubstr("-10 to 10"));
  EXPECT_THAT(refused("integer", "4294967297"), HasSubstr("4294967297"));  // not cut down to 1
  EXPECT_THAT(refused("integer", "18446744073709551615"), HasSubstr("-10 to 10"));
  EXPECT_THAT(refused("count", "-1"), HasSubstr("got -1, expected 0 to 18446744073709551615"));
  EXPECT_THAT(refused("count", "99999999999999999999999"),
              HasSubstr("got 99999999999999999999999, expected 0 to 18446744073709551615"));
  EXPECT_THAT(refused("count", "-99999999999999999999999"), HasSubstr("0 to 18446744073709551615"));
  EXPECT_THAT(refused("integer", "12345678"), HasSubstr("got 12345678, expected -10 to 10"));
  EXPECT_THAT(refused("integer", "9007199254740993"), HasSubstr("got 9007199254740993, expected -10 to 10"));
  EXPECT_THAT(refused("integer", "1e16"), HasSubstr("got 1e16, expected -10 to 10"));
  EXPECT_THAT(refused("integer", "-1e300"), HasSubstr("got -1e300, expected -10 to 10"));
  EXPECT_THAT(refused("count", "1e20"), HasSubstr("got 1e20, expected 0 to 18446744073709551615"));
  EXPECT_THAT(refused("count", "1e16"), HasSubstr("got 1e16, expected a whole number in digits"));
  EXPECT_THAT(refused("wide", "1.0000001"), HasSubstr("-1 to 1"));
  EXPECT_THAT(refused("single", "1e31"), HasSubstr("1e+30"));
  fields_.at("integer").set_text("10");
  fields_.at("integer").set_text("-10");
  EXPECT_EQ(e_.integer, -10);
}

TEST_F(FieldsTest, WholeNumbersMayBeWrittenAsPowersOfTen) {
  fields_.at("count").set_text("1e6");
  EXPECT_EQ(e_.count, 1'000'000u);
  fields_.at("count").set_text("25E2");
  EXPECT_EQ(e_.count, 2500u);
  fields_.at("integer").set_text("-1e1");
  EXPECT_EQ(e_.integer, -10);
  EXPECT_THAT(refused("integer", "1e3"), HasSubstr("got 1000, expected -10 to 10"));
}

TEST_F(FieldsTest, AChoiceIsOneOfItsWords) {
  const std::string message = refused("colour", "gren");
  EXPECT_THAT(message, HasSubstr("gren"));
  EXPECT_THAT(message, HasSubstr("red, green, blue"));
  refused("colour", "");
  refused("colour", "Green");
}

TEST_F(FieldsTest, AliasesWorkAndUnknownNamesAreToldTheNearest) {
  EXPECT_EQ(fields_.find("whole"), fields_.find("integer"));
  EXPECT_EQ(fields_.find("i"), fields_.find("integer"));
  EXPECT_EQ(fields_.find("nothing"), nullptr);
  EXPECT_THAT(message_of<Error>([&] { fields_.at("intager"); }), HasSubstr("did you mean integer?"));
  EXPECT_THAT(message_of<Error>([&] { fields_.at("zzzzzzzzzz"); }), HasSubstr("there are flag, integer"));
}

TEST(NearestWord, IsTheOneWithTheFewestEditsOrNone) {
  const std::vector<std::string> words{"life", "letter", "lizard", "checkerboard", "checkerboard-small"};
  EXPECT_EQ(nearest_word("lyfe", words), "life");
  EXPECT_EQ(nearest_word("lettre", words), "letter");
  EXPECT_EQ(nearest_word("chekerboard", words), "checkerboard");
  EXPECT_EQ(nearest_word("checkerboard-smal", words), "checkerboard-small");
  EXPECT_EQ(nearest_word("life", words), "life");
  EXPECT_EQ(nearest_word("quite another word", words), "");
  const std::string options[] = {"--beta1", "--batch-size", "--batches"};
  EXPECT_EQ(nearest_word("--batch", options), "--batch-size");  // its beginning
  EXPECT_EQ(nearest_word("--beta", options), "--beta1");
  EXPECT_EQ(nearest_word("x", {}), "");
  EXPECT_EQ(nearest_word("-x", std::vector<std::string>{"--out", "-o"}), "");
}

TEST(NearestWord, KnowsTheWordsOfOtherToolsAndMakesNoneUp) {
  const std::vector<std::string> options{"--fire-rate", "--lr",      "--train-steps", "--batch",
                                         "--out",       "--threads", "--quiet"};
  for (const char* word : {"--learning-rate", "--learning_rate", "--eta"})
    EXPECT_EQ(nearest_word(word, options), "--lr");
  EXPECT_EQ(nearest_word("--epochs", options), "--train-steps");
  EXPECT_EQ(nearest_word("--steps", options), "--train-steps");
  EXPECT_EQ(nearest_word("--batch-size", options), "--batch");
  EXPECT_EQ(nearest_word("--output", options), "--out");
  EXPECT_EQ(nearest_word("--jobs", options), "--threads");
  for (const char* word : {"--verbose", "--gpu", "--learning-momentum", "--dropout"})
    EXPECT_EQ(nearest_word(word, options), "") << word;
  EXPECT_EQ(nearest_word("--learning-rate", std::vector<std::string>{"--fire-rate"}), "");  // where there is none
}

}  // namespace
}  // namespace espalier
