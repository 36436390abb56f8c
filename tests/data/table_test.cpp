// Tables: CSV, columns and their kinds; and what is refused or told of them.
#include <gtest/gtest.h>

#include <cmath>

#include "data/rows.hpp"
#include "data/table_schema.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

std::string error_of(auto&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(TableCsv, QuotesLinesAndMistakes) {
  const CsvTable t = parse_csv("\xEF\xBB\xBFname,\"a \"\"b\"\"\"\r\n x , 1\r\n\"two\nlines\",2\n\n", "t");
  EXPECT_EQ(t.header, (std::vector<std::string>{"name", "a \"b\""}));
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.rows[0][0], "x");
  EXPECT_EQ(t.rows[1][0], "two\nlines");
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n1,2\n3\n", "t"); }), "line 3"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n\"1,2\n", "t"); }), "line 2"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,b\n\"1\"x,2\n", "t"); }), "closing quote"));
  EXPECT_TRUE(has(error_of([] { parse_csv("a,a\n", "t"); }), "\"a\""));
  EXPECT_TRUE(has(error_of([] { parse_csv("PK\x03\x04\x14", "t.xlsx"); }), "zip archive"));
  EXPECT_THROW(parse_csv("", "t"), Error);
  EXPECT_TRUE(has(error_of([&] { t.column("zzz"); }), "name"));
}

TEST(TableData, ColumnsAreStandardisedOneHotAndImputed) {
  const CsvTable t = parse_csv("x,colour,y\n1,red,10\n3,blue,20\n?,red,30\n5,,40\n", "t");
  const std::vector<std::size_t> rows{0, 1, 2, 3};
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(t, rows, "y", "auto", false); }), "option \"impute\""));
  for (const bool impute : {false, true})  // which fills in inputs alone
    EXPECT_TRUE(has(error_of([&] { TableSchema::fit(t, rows, "colour", "auto", impute); }),
                    "\"colour\", line 5, expected a value; hint: leave out rows without a target"));
  const TableSchema s = TableSchema::fit(t, rows, "y", "auto", true);
  EXPECT_FALSE(s.classifies());
  EXPECT_EQ(s.num_inputs(), 3u);
  const std::vector<float> x = s.inputs_of(t, rows);
  EXPECT_NEAR(x[0], (1 - 3) / std::sqrt(8.0 / 3), 1e-6);
  EXPECT_EQ(x[6], 0);                                                         // the mean for a missing number
  EXPECT_EQ((std::vector<float>{x[10], x[11]}), (std::vector<float>{0, 1}));  // "red" for a missing word
  EXPECT_TRUE(TableSchema::fit(t, rows, "y", "classify", true).classifies());
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(t, rows, "colour", "regress", true); }), "missing"));
  EXPECT_EQ(schema_from(schema_text(s), "t").inputs_of(t, rows), x);
  for (const char* bad : {"{}", "[]", "{", R"({"inputs": 3, "target": {}, "impute": true})"})
    EXPECT_THROW(schema_from(bad, "t"), Error) << bad;
  const CsvTable bad = parse_csv("x,colour,y\nseven,red,1\n", "t");
  EXPECT_TRUE(has(error_of([&] { s.inputs_of(bad, {0}); }), "\"seven\""));
  const CsvTable fewer = parse_csv("colour\nred\n", "t");
  EXPECT_TRUE(has(error_of([&] { s.inputs_of(fewer, {0}); }), "\"x\""));
}

TEST(TableData, TheFirstMissingValueOfTheFileIsNamed) {
  const CsvTable t = parse_csv("a,b,y\n1,2,3\n4,?,6\n,8,9\n1,,2\n", "t");
  const std::string error = error_of([&] { TableSchema::fit(t, {3, 2, 1, 0}, "y", "auto", false); });
  EXPECT_TRUE(has(error, "column \"b\", line 3")) << error;
  EXPECT_TRUE(has(error, "3 in all")) << error;
  const TableSchema s = TableSchema::fit(t, {0}, "y", "auto", true);
  EXPECT_EQ(s.inputs_of(t, {0, 1, 2, 3}).size(), 8u);
}

TEST(TableCsv, SemicolonsAndTabsSeparateWhereThereIsNoComma) {
  for (const char* text : {"a;b\n1,5;2\n\"x;y\";3\n", "\na\tb\n1,5\t2\n\"x;y\"\t3\n"}) {
    const CsvTable t = parse_csv(text, "t");
    EXPECT_EQ(t.header, (std::vector<std::string>{"a", "b"})) << text;
    ASSERT_EQ(t.rows.size(), 2u);
    EXPECT_EQ(t.rows[0][0], "1,5");
    EXPECT_EQ(t.rows[1][0], "x;y");
  }
  EXPECT_EQ(parse_csv("a;b,c\n1,2\n", "t").header, (std::vector<std::string>{"a;b", "c"}));
  EXPECT_EQ(parse_csv("\"a,b\";c\n1;2\n", "t").header, (std::vector<std::string>{"a,b", "c"}));
}

// A table of two columns, x and y = 2 i, with one cell of x replaced.
std::string error_with_cell(const std::string& cell, int rows = 60, const std::vector<std::string>& words = {}) {
  CsvTable t = parse_csv("x,y\n0,0\n", "t");
  for (int i = 1; i < rows; ++i) {
    t.rows.push_back({std::to_string(i), std::to_string(2 * i)});
    t.lines.push_back(t.lines.back() + 1);
  }
  t.rows[40][0] = cell;
  return error_of([&] { TableSchema::fit(t, all_rows(t.rows.size()), "y", "auto", true, words); });
}

TEST(TableData, AMisspeltNumberDoesNotMakeWordsOfItsColumn) {
  const std::string error = error_with_cell("1.4cm");
  for (const char* part : {"\"1.4cm\"", "column \"x\"", "line 42", "59 of 60 values are numbers", "option \"words\""})
    EXPECT_TRUE(has(error, part)) << error;
  EXPECT_EQ(error_with_cell("1.4cm", 60, {"x"}), "no error");
  EXPECT_EQ(error_with_cell("1.4"), "no error");
  EXPECT_EQ(error_with_cell("NA"), "no error");
  EXPECT_TRUE(has(error_with_cell("1,4"), "a decimal comma"));
  EXPECT_TRUE(has(error_with_cell("1", 60, {"z"}), "no column \"z\""));
  const CsvTable mixed = parse_csv("x,y\nS,1\n42,2\nM,3\n44,4\n", "t");
  EXPECT_FALSE(TableSchema::fit(mixed, {0, 1, 2, 3}, "y", "auto", false).inputs[0].numeric);
  const CsvTable commas = parse_csv("x;y\n1,5;1\n2,5;2,5\n", "t");
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(commas, {0, 1}, "y", "auto", false); }), "\"1,5\""));
  const CsvTable target = parse_csv("x,y\n1,5\n2,6\n3,7\n4,8?\n", "t");
  EXPECT_TRUE(has(error_of([&] { TableSchema::fit(target, {0, 1}, "y", "auto", false); }), "\"kind\": \"classify\""));
}

TEST(TableData, NumbersTooLargeForSumsAreRefused) {
  for (const char* large : {"1e308", "-1e308", "1e101"}) EXPECT_TRUE(has(error_with_cell(large), "line 42")) << large;
  for (const char* fine : {"1e100", "-1e99", "1e-300"}) EXPECT_EQ(error_with_cell(fine), "no error") << fine;
  const CsvTable t = parse_csv("x,y\n1,2.5\n2,3\n3,7\n", "t");
  const TableSchema s = TableSchema::fit(t, {0, 1, 2}, "y", "auto", false);
  const std::string error = error_of([&] { s.inputs_of(parse_csv("x\n1\n1e300\n", "t"), {0, 1}); });
  EXPECT_TRUE(has(error, "1e300 in column \"x\", line 3")) << error;
}

TEST(TableData, FewWholeNumbersAreClassesUnlessTheyAreToBeRegressed) {
  const auto fit = [](int rows, int values, const std::string& kind, const std::string& ending = "") {
    CsvTable t{{"x", "y"}, {}, {}};
    for (int i = 0; i < rows; ++i) {
      t.rows.push_back({std::to_string(i), std::to_string(i % values) + ending});
      t.lines.push_back(t.rows.size() + 1);
    }
    return TableSchema::fit(t, all_rows(t.rows.size()), "y", kind, false);
  };
  EXPECT_EQ(fit(20, 3, "auto").target.words, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(fit(20, 2, "auto", ".0").classifies());
  EXPECT_TRUE(fit(200, 10, "auto").classifies());
  EXPECT_FALSE(fit(200, 3, "auto", ".5").classifies());
  EXPECT_FALSE(fit(200, 11, "auto").classifies());
  EXPECT_FALSE(fit(20, 5, "auto").classifies());  // each four times: a measurement
  EXPECT_FALSE(fit(20, 3, "regress").classifies());
  EXPECT_TRUE(fit(20, 5, "classify").classifies());
}

TEST(TableData, UnknownWordsAreFoundWithTheirRows) {
  const CsvTable t = parse_csv("colour,shape,y\nred,round,1.5\ndark blue,round,2\nred,flat,3\n", "t");
  const TableSchema s = TableSchema::fit(t, {0, 1, 2}, "y", "auto", true);
  const CsvTable rows =
      parse_csv("shape,colour\nround,green\nround,RED\nround,red\n?,Darkblue\nflat,green\nRound,darkblue\n", "t");
  const std::vector<UnknownWord> found = s.unknown_words(rows);
  ASSERT_EQ(found.size(), 5u);
  const auto expect = [&](std::size_t i, const char* column, const char* word, const char* nearest,
                          const std::vector<std::size_t>& where) {
    EXPECT_EQ(found[i].column, column) << i;
    EXPECT_EQ(found[i].word, word) << i;
    EXPECT_EQ(found[i].nearest, nearest) << i;
    EXPECT_EQ(found[i].rows, where) << i;
  };
  expect(0, "colour", "Darkblue", "dark blue", {3});
  expect(1, "colour", "RED", "red", {1});
  expect(2, "colour", "darkblue", "dark blue", {5});
  expect(3, "colour", "green", "", {0, 4});
  expect(4, "shape", "Round", "round", {5});
  EXPECT_TRUE(s.unknown_words(t).empty());
}

}  // namespace
}  // namespace espalier
