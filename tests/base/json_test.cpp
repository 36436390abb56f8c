#include "base/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "espalier/error.hpp"
#include "temp_folder.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

std::string refused(const std::string& text) {
  return message_of<Error>([&] { parse_json(text, "\"c.json\""); });
}

TEST(Json, WellFormedTextIsRead) {
  EXPECT_EQ(parse_json(R"({"a":[1,2.5,"x",null,true]})", "test").dump(), R"({"a":[1,2.5,"x",null,true]})");
}

TEST(Json, MalformedTextIsOneLineWithThePlace) {
  EXPECT_THAT(refused(""), HasSubstr("\"c.json\""));
  EXPECT_THAT(refused("{\"a\":1,}"), HasSubstr("byte 8"));
  EXPECT_THAT(refused("{}{}"), HasSubstr("byte 3"));
  EXPECT_THAT(refused("\"\xff\""), HasSubstr("not JSON"));
  EXPECT_THAT(refused("1e999"), HasSubstr("out of range"));
}

TEST(Json, AZeroByteIsNotTheEndOfTheText) {
  using namespace std::string_literals;
  EXPECT_THAT(refused("{}\0"s), HasSubstr("byte 3"));
  EXPECT_THAT(refused("{\"a\":1}\0 and more"s), HasSubstr("byte 8"));
  EXPECT_THAT(refused("\0{}"s), HasSubstr("byte 1"));
  EXPECT_NO_THROW(parse_json("\"\\u0000\"", "test"));  // as a character it may well be there
}

TEST(Json, DepthHasALimitAndADeepTextDoesNotCrash) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "test"));
  EXPECT_THAT(refused(nested(kMaxJsonDepth + 2)), HasSubstr("nested more than 64"));
  EXPECT_THAT(refused(std::string(5'000'000, '[')), HasSubstr("nested more than 64"));
}

TEST(Json, ALongListOfObjectsTakesTimeInProportion) {
  constexpr std::size_t kObjects = 200'000;  // a minute when each of them looks through all before it
  std::string text = "[{}";
  for (std::size_t i = 1; i < kObjects; ++i) text += ",{}";
  const std::clock_t before = std::clock();
  EXPECT_EQ(parse_json(text + "]", "test").size(), kObjects);
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 5.0);
}

TEST(Json, ValuesAreShownShortAndOnOneLine) {
  EXPECT_EQ(shown_json(17), "17");
  EXPECT_EQ(shown_json("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(shown_json(nlohmann::json::array({1, 2})), "an array of 2");
  EXPECT_EQ(shown_json(nlohmann::json::object()), "an object of 0");
  EXPECT_LT(shown_json(std::string(1000, 'x')).size(), 70u);
}

}  // namespace
}  // namespace espalier
