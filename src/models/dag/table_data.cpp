#include "models/dag/table_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {

using Json = nlohmann::json;
namespace {

constexpr std::size_t kMaxWords = 1000;  // of one column

std::optional<double> number_in(const std::string& cell) {
  double value = 0;
  const char* begin = cell.data() + (cell.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

TableColumn fit_column(const CsvTable& table, std::size_t c, const std::vector<std::size_t>& rows, bool impute) {
  TableColumn column;
  column.name = table.header[c];
  double sum = 0, squares = 0;
  std::size_t count = 0;
  std::map<std::string, std::size_t> words;
  for (const std::size_t r : rows) {
    const std::string& cell = table.rows[r][c];
    if (is_missing(cell)) {
      if (!impute)
        fail("table", fmt::format("a missing value in column \"{}\", line {}", column.name, table.lines[r]), "a value",
             "--impute puts the mean or the most frequent word there");
      continue;
    }
    ++words[cell];
    const std::optional<double> x = number_in(cell);
    if (!x) column.numeric = false;
    sum += x.value_or(0);
    ++count;
  }
  if (count == 0) fail("table", fmt::format("only missing values in column \"{}\"", column.name), "some values");
  if (column.numeric) {
    column.mean = sum / static_cast<double>(count);
    for (const std::size_t r : rows)
      if (!is_missing(table.rows[r][c])) squares += std::pow(*number_in(table.rows[r][c]) - column.mean, 2);
    column.deviation = std::sqrt(squares / static_cast<double>(count));
    if (!(column.deviation > 1e-12 * std::fabs(column.mean))) column.deviation = 1;  // a constant column
    return column;
  }
  if (words.size() > kMaxWords)
    fail("table", fmt::format("{} different words in column \"{}\"", words.size(), column.name),
         fmt::format("at most {}", kMaxWords), "drop columns of names or numbers of records");
  for (const auto& [word, n] : words) {
    if (column.words.empty() || n > words.at(column.usual)) column.usual = word;
    column.words.push_back(word);
  }
  return column;
}

// A cell as numbers, written from `out` on.
void encode(const TableColumn& column, const std::string& cell, std::size_t line, bool impute, float* out) {
  const bool missing = is_missing(cell);
  if (missing && !impute)
    fail("table", fmt::format("a missing value in column \"{}\", line {}", column.name, line), "a value",
         "--impute puts the mean or the most frequent word there");
  if (column.numeric) {
    const std::optional<double> x = missing ? std::optional(column.mean) : number_in(cell);
    if (!x) fail("table", fmt::format("\"{}\" in column \"{}\", line {}", cell, column.name, line), "a number");
    *out = static_cast<float>((*x - column.mean) / column.deviation);
    return;
  }
  const std::string& word = missing ? column.usual : cell;
  for (std::size_t i = 0; i < column.words.size(); ++i) out[i] = column.words[i] == word ? 1.0f : 0.0f;
}

Json column_json(const TableColumn& c) {
  return {{"name", c.name},           {"numeric", c.numeric}, {"mean", c.mean},
          {"deviation", c.deviation}, {"words", c.words},     {"usual", c.usual}};
}

TableColumn column_from(const Json& j) {
  TableColumn c;
  j.at("name").get_to(c.name);
  j.at("numeric").get_to(c.numeric);
  j.at("mean").get_to(c.mean);
  j.at("deviation").get_to(c.deviation);
  j.at("words").get_to(c.words);
  j.at("usual").get_to(c.usual);
  if (c.width() == 0 || !(c.deviation > 0))
    fail("table model", fmt::format("the column \"{}\"", c.name), "a usable one");
  return c;
}

}  // namespace

std::size_t TableSchema::num_inputs() const {
  std::size_t width = 0;
  for (const TableColumn& c : inputs) width += c.width();
  return width;
}

TableSchema TableSchema::fit(const CsvTable& table, const std::vector<std::size_t>& rows, const std::string& target,
                             const std::string& kind, bool impute) {
  TableSchema schema;
  schema.impute = impute;
  const std::size_t target_column = table.column(target);
  if (table.header.size() < 2) fail("table", "one column only", "a target and inputs");
  for (std::size_t c = 0; c < table.header.size(); ++c)
    if (c != target_column) schema.inputs.push_back(fit_column(table, c, rows, impute));
  // Classes are those of the whole table, so that a rare one in the test rows has a number.
  std::vector<std::size_t> all(table.rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const TableColumn everywhere = fit_column(table, target_column, all, false);
  if (kind == "regress" && !everywhere.numeric)
    fail("table", fmt::format("words in the target \"{}\"", target), "numbers for --kind regress");
  schema.target = fit_column(table, target_column, rows, false);
  if (kind == "classify" || (kind == "auto" && !everywhere.numeric)) {
    std::map<std::string, std::size_t> words;
    for (const auto& row : table.rows) ++words[row[target_column]];
    if (words.size() < 2 || words.size() > kMaxWords)
      fail("table", fmt::format("{} classes in \"{}\"", words.size(), target), fmt::format("2 to {}", kMaxWords));
    schema.target.numeric = false;
    schema.target.words.clear();
    for (const auto& [word, n] : words) schema.target.words.push_back(word);
  }
  return schema;
}

std::vector<float> TableSchema::inputs_of(const CsvTable& table, const std::vector<std::size_t>& rows) const {
  const std::size_t width = num_inputs();
  std::vector<float> out(rows.size() * width);
  std::size_t at = 0;
  for (const TableColumn& column : inputs) {
    const std::size_t c = table.column(column.name);
    for (std::size_t i = 0; i < rows.size(); ++i)
      encode(column, table.rows[rows[i]][c], table.lines[rows[i]], impute, &out[i * width + at]);
    at += column.width();
  }
  return out;
}

std::vector<float> TableSchema::targets_of(const CsvTable& table, const std::vector<std::size_t>& rows) const {
  const std::size_t c = table.column(target.name);
  std::vector<float> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& cell = table.rows[rows[i]][c];
    if (target.numeric) {
      encode(target, cell, table.lines[rows[i]], false, &out[i]);
      continue;
    }
    const auto found = std::lower_bound(target.words.begin(), target.words.end(), cell);
    if (found == target.words.end() || *found != cell)
      fail("table", fmt::format("the class \"{}\" in line {}", cell, table.lines[rows[i]]), "a class of the model");
    out[i] = static_cast<float>(found - target.words.begin());
  }
  return out;
}

Json TableSchema::to_json() const {
  Json columns = Json::array();
  for (const TableColumn& c : inputs) columns.push_back(column_json(c));
  return {{"inputs", columns}, {"target", column_json(target)}, {"impute", impute}};
}

TableSchema TableSchema::from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    TableSchema schema;
    for (const Json& c : json.at("inputs")) schema.inputs.push_back(column_from(c));
    schema.target = column_from(json.at("target"));
    json.at("impute").get_to(schema.impute);
    return schema;
  } catch (const Json::exception& e) {
    fail("table model", fmt::format("a schema that does not parse ({})", e.what()), "what this program writes");
  }
}

TableSplit split_rows(std::size_t rows, double test_fraction, double validation_fraction, std::uint64_t seed) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(seed, Purpose::kSplit).shuffle(std::span(order));
  const auto test = static_cast<std::size_t>(std::lround(test_fraction * static_cast<double>(rows)));
  const auto validation = static_cast<std::size_t>(std::lround(validation_fraction * static_cast<double>(rows - test)));
  if (rows < 3 || test + validation >= rows || validation == 0)
    fail("table", fmt::format("{} rows, {} of them for the test, {} for validation", rows, test, validation),
         "rows for training and for validation too");
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  return {{at(test + validation), order.end()}, {at(test), at(test + validation)}, {at(0), at(test)}};
}

}  // namespace espalier
