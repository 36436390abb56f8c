#include "base/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "espalier/error.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Plot, TicksAreRoundNumbersInsideTheRange) {
  EXPECT_THAT(axis_ticks(0, 10, 5, false), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(axis_ticks(-1, 1, 4, false), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(axis_ticks(1, 1000, 6, true), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(axis_ticks(3, 60, 6, true), ElementsAre(5, 10, 20, 50));
  EXPECT_THAT(axis_ticks(7, 130, 6, true), ElementsAre(10, 20, 50, 100));
  EXPECT_THAT(axis_ticks(64, 128, 6, true), ElementsAre(70, 80, 90, 100, 110, 120));  // 1 2 5 would give one
  EXPECT_TRUE(axis_ticks(0, 1, 5, true).empty());
  EXPECT_TRUE(axis_ticks(1, 1, 5, false).empty());
  EXPECT_TRUE(axis_ticks(NAN, 1, 5, false).empty());
}

TEST(Plot, TicksStayFewAndInsideForAnyRange) {
  EXPECT_TRUE(rc::check([](int low_exponent, bool log) {
    const double low = std::pow(10.0, low_exponent % 20), high = low * (1 + *rc::gen::inRange(1, 1'000'000));
    const auto ticks = axis_ticks(low, high, 6, log);
    RC_ASSERT(ticks.size() <= 12u);
    for (const double tick : ticks) {
      RC_ASSERT(tick >= low * (1 - 1e-6));
      RC_ASSERT(tick <= high * (1 + 1e-6));
    }
  }));
}

TEST(Plot, ALineGoesThroughItsPoints) {
  const std::string svg = line_chart({{"a", {0, 10}, {0, 1}}}, {.title = "T", .width = 640, .height = 400});
  EXPECT_THAT(svg, HasSubstr("M72.0 344.0L620.0 44.0"));
  EXPECT_THAT(svg, HasSubstr(">T</text>"));
  EXPECT_THAT(svg, HasSubstr(">a</text>"));
}

TEST(Plot, ALogAxisSpacesDecadesEvenly) {
  const std::string svg = line_chart({{"", {0, 1, 2}, {1, 10, 100}}}, {.log_y = true});
  EXPECT_THAT(svg, HasSubstr("M72.0 344.0L346.0 194.0L620.0 44.0"));
}

TEST(Plot, ValuesThatCannotBeShownBreakTheLine) {
  const std::string svg = line_chart({{"", {0, 1, 2, 3, 4}, {0, 1, NAN, 1, 0}}});
  EXPECT_THAT(svg, HasSubstr("M72.0 344.0L209.0 44.0M483.0 44.0L620.0 344.0"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  const std::string zeros = line_chart({{"", {0, 1}, {0, 0}}}, {.log_y = true});
  EXPECT_THAT(zeros, Not(HasSubstr("nan")));
  EXPECT_THAT(zeros, Not(HasSubstr("inf")));
}

TEST(Plot, NoDataAndFlatDataStillMakeAChart) {
  for (const std::string& svg :
       {line_chart({}), line_chart({{"", {1}, {5}}}), bar_chart({}), bar_chart({{"a", 0}}, {.log_y = true})}) {
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(Plot, BarsStandOnTheAxisWithTheirHeights) {
  const std::string svg = bar_chart({{"and", 10}, {"or", 5}}, {.width = 640, .height = 400});
  EXPECT_THAT(svg, HasSubstr("y=\"44.0\" width=\"219.2\" height=\"300.0\""));
  EXPECT_THAT(svg, HasSubstr("y=\"194.0\" width=\"219.2\" height=\"150.0\""));
  EXPECT_EQ(count(svg, "<rect x="), 2u);
}

TEST(Plot, TextIsEscaped) {
  const std::string svg = bar_chart({{"a<b&\"c\"\n", 1}});
  EXPECT_THAT(svg, HasSubstr("a&lt;b&amp;&quot;c&quot; <"));
}

TEST(Plot, NonsenseIsAnError) {
  EXPECT_THROW(line_chart({{"a", {1, 2}, {1}}}), Error);
  EXPECT_THROW(line_chart({}, {.width = 5}), Error);
  EXPECT_THROW(bar_chart({{"a", -1}}), Error);
  EXPECT_THROW(bar_chart({{"a", NAN}}), Error);
}

}  // namespace
}  // namespace espalier
