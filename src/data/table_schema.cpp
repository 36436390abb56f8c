// Columns as numbers.
#include "data/table_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/json.hpp"
#include "base/text.hpp"
#include "data/rows.hpp"
#include "espalier/error.hpp"
#include "espalier/fields.hpp"

namespace espalier {

namespace {

// Empty, ?, NA, NaN, null (any case).
bool is_missing(const std::string& cell) {
  std::string lower;
  for (const char c : cell) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.empty() || lower == "?" || lower == "na" || lower == "nan" || lower == "null";
}

constexpr std::size_t kMaxWords = 1000;  // of one column
constexpr std::size_t kMaxNumbers = 10;  // that are classes unless told otherwise
constexpr double kLargest = 1e100;       // of a number, so that sums of squares are finite
constexpr double kFarthest = 1e18;       // from the mean, in deviations: the same for the network's numbers

std::optional<double> number_in(const std::string& cell) {
  double value = 0;
  const char* begin = cell.data() + (cell.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

constexpr const char* kImputeHint =
    "leave the row out, or fill gaps with the option \"impute\" (the mean or the most frequent word)";
constexpr const char* kTargetHint = "leave out rows without a target";
constexpr const char* kInputHint =
    "fill it in, or train a model with the option \"impute\", which fills in the mean or the most frequent word";

// Rows come shuffled and column by column: the first gap of the file is the one to name.
void refuse_missing(const CsvTable& table, const std::vector<std::size_t>& columns, const char* hint) {
  std::size_t count = 0;
  std::string first;
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    for (const std::size_t c : columns) {
      if (!is_missing(table.rows[r][c])) continue;
      if (count++ == 0) first = fmt::format("column \"{}\", line {}", table.header[c], table.lines[r]);
    }
  if (count > 0)
    fail("table", fmt::format("a missing value in {}{}", first, count > 1 ? fmt::format(" ({} in all)", count) : ""),
         "a value", hint);
}

// 1,5 for 1.5.
bool has_decimal_comma(std::string cell) {
  const std::size_t comma = cell.find(',');
  if (comma == std::string::npos || comma + 1 == cell.size()) return false;
  cell[comma] = '.';
  return number_in(cell).has_value();
}

// A column of numbers of which a few are misspelt would become as many words as there are numbers, and nobody would
// know.
void refuse_misspelt(const CsvTable& table, std::size_t c, const char* hint) {
  std::size_t numbers = 0, others = 0, commas = 0, first = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::string& cell = table.rows[r][c];
    if (is_missing(cell)) continue;
    const std::optional<double> x = number_in(cell);
    if (x && !(std::fabs(*x) <= kLargest))
      fail("table", fmt::format("{} in column \"{}\", line {}", cell, table.header[c], table.lines[r]),
           fmt::format("numbers from {:g} to {:g}", -kLargest, kLargest));
    if (!x && others++ == 0) first = r;
    numbers += x.has_value();
    commas += !x && has_decimal_comma(cell);
  }
  if (others == 0) return;
  const std::string where = fmt::format("\"{}\" in column \"{}\", line {}", one_line(table.rows[first][c]),
                                        table.header[c], table.lines[first]);
  if (commas == others) fail("table", fmt::format("{}, a decimal comma", where), "decimal points", hint);
  if (numbers >= 3 * others)
    fail("table", fmt::format("{}, where {} of {} values are numbers", where, numbers, numbers + others),
         "numbers alone, or words", hint);
}

TableColumn fit_column(const CsvTable& table, std::size_t c, const std::vector<std::size_t>& rows, bool words_only) {
  TableColumn column;
  column.name = table.header[c];
  column.numeric = !words_only;
  double sum = 0, squares = 0;
  std::size_t count = 0;
  std::map<std::string, std::size_t> words;
  for (const std::size_t r : rows) {
    const std::string& cell = table.rows[r][c];
    if (is_missing(cell)) continue;
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
         fmt::format("at most {}", kMaxWords), "drop columns of names or record numbers");
  for (const auto& [word, n] : words) {
    if (column.words.empty() || n > words.at(column.usual)) column.usual = word;
    column.words.push_back(word);
  }
  return column;
}

// A cell as numbers, written from `out` on.
void encode(const TableColumn& column, const std::string& cell, std::size_t line, float* out) {
  const bool missing = is_missing(cell);
  if (column.numeric) {
    const std::optional<double> x = missing ? std::optional(column.mean) : number_in(cell);
    if (!x)
      fail("table", fmt::format("\"{}\" in column \"{}\", line {}", cell, column.name, line),
           has_decimal_comma(cell) ? "a number with a decimal point" : "a number");
    const double scaled = (*x - column.mean) / column.deviation;
    if (!(std::fabs(scaled) <= kFarthest))
      fail("table", fmt::format("{} in column \"{}\", line {}", cell, column.name, line),
           fmt::format("a number of the size of those trained on, whose mean is {:g}", column.mean));
    *out = static_cast<float>(scaled);
    return;
  }
  const std::string& word = missing ? column.usual : cell;
  for (std::size_t i = 0; i < column.words.size(); ++i) out[i] = column.words[i] == word ? 1.0f : 0.0f;
}

}  // namespace

std::size_t TableSchema::num_inputs() const {
  std::size_t width = 0;
  for (const TableColumn& c : inputs) width += c.width();
  return width;
}

bool TableSchema::classes_are_numbers() const {
  return std::ranges::all_of(target.words, [](const std::string& word) { return number_in(word).has_value(); });
}

namespace {

// Whether a target of numbers is one of classes: few whole numbers, each of them often.
bool few_whole_numbers(const CsvTable& table, std::size_t c) {
  std::set<std::string> words;
  std::set<double> numbers;
  for (const auto& row : table.rows) {
    const std::optional<double> x = number_in(row[c]);
    if (!x || std::floor(*x) != *x) return false;
    words.insert(row[c]);
    numbers.insert(*x);
    if (numbers.size() > kMaxNumbers) return false;
  }
  return numbers.size() > 1 && numbers.size() == words.size() && numbers.size() * numbers.size() <= table.rows.size();
}

constexpr const char* kWordsHint =
    "correct the file (an empty cell is a missing value), or name the column in the option \"words\"";
constexpr const char* kClassesHint =
    "correct the file, or make every different value a class by the option \"kind\": \"classify\"";

}  // namespace

TableSchema TableSchema::fit(const CsvTable& table, const std::vector<std::size_t>& rows, const std::string& target,
                             const std::string& kind, bool impute, const std::vector<std::string>& words) {
  TableSchema schema;
  schema.impute = impute;
  const std::size_t target_column = table.column(target);
  if (table.header.size() < 2) fail("table", "one column only", "a target and inputs");
  refuse_missing(table, {target_column}, kTargetHint);
  std::vector<std::size_t> inputs;
  for (std::size_t c = 0; c < table.header.size(); ++c)
    if (c != target_column) inputs.push_back(c);
  if (!impute) refuse_missing(table, inputs, kImputeHint);
  for (const std::string& name : words) table.column(name);
  const auto are_words = [&](std::size_t c) { return std::ranges::find(words, table.header[c]) != words.end(); };
  for (const std::size_t c : inputs) {
    if (!are_words(c)) refuse_misspelt(table, c, kWordsHint);
    schema.inputs.push_back(fit_column(table, c, rows, are_words(c)));
  }
  // Classes are those of the whole table, so that a rare one in the test rows has a number.
  bool classes = kind == "classify" || are_words(target_column);
  if (!classes) {
    refuse_misspelt(table, target_column, kClassesHint);
    const bool numeric = fit_column(table, target_column, all_rows(table.rows.size()), false).numeric;
    if (kind == "regress" && !numeric)
      fail("table", fmt::format("words in the target \"{}\"", target), "numbers, to regress them");
    classes = kind == "auto" && (!numeric || few_whole_numbers(table, target_column));
  } else if (kind == "regress") {
    fail("table", fmt::format("the target \"{}\" among the words", target), "numbers, to regress them");
  }
  schema.target = fit_column(table, target_column, classes ? all_rows(table.rows.size()) : rows, classes);
  if (classes && schema.target.words.size() < 2)
    fail("table", fmt::format("one class in \"{}\"", target), "two or more");
  return schema;
}

std::vector<float> TableSchema::inputs_of(const CsvTable& table, const std::vector<std::size_t>& rows) const {
  const std::size_t width = num_inputs();
  std::vector<float> out(rows.size() * width);
  std::vector<std::size_t> columns;
  for (const TableColumn& column : inputs) columns.push_back(table.column(column.name));
  if (!impute) refuse_missing(table, columns, kInputHint);
  std::size_t at = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      encode(inputs[k], table.rows[rows[i]][columns[k]], table.lines[rows[i]], &out[i * width + at]);
    at += inputs[k].width();
  }
  return out;
}

std::vector<UnknownWord> TableSchema::unknown_words(const CsvTable& table) const {
  const auto plain = [](const std::string& word) {
    std::string letters;
    for (const char c : word)
      if (!std::isspace(static_cast<unsigned char>(c)))
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  std::vector<UnknownWord> unknown;
  for (const TableColumn& column : inputs) {
    if (column.numeric) continue;
    const std::size_t c = table.column(column.name);
    std::map<std::string, std::vector<std::size_t>> rows;  // by word
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const std::string& cell = table.rows[r][c];
      if (!is_missing(cell) && !std::ranges::binary_search(column.words, cell)) rows[cell].push_back(r);
    }
    for (auto& [word, where] : rows) {
      const auto same = std::ranges::find(column.words, plain(word), plain);
      unknown.push_back(
          {column.name, word, same != column.words.end() ? *same : nearest_word(word, column.words), std::move(where)});
    }
  }
  return unknown;
}

std::vector<float> TableSchema::targets_of(const CsvTable& table, const std::vector<std::size_t>& rows) const {
  const std::size_t c = table.column(target.name);
  refuse_missing(table, {c}, kTargetHint);
  std::vector<float> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string& cell = table.rows[rows[i]][c];
    if (target.numeric) {
      encode(target, cell, table.lines[rows[i]], &out[i]);
      continue;
    }
    const auto found = std::lower_bound(target.words.begin(), target.words.end(), cell);
    if (found == target.words.end() || *found != cell)
      fail("table", fmt::format("the class \"{}\" in line {}", cell, table.lines[rows[i]]), "a class of the model");
    out[i] = static_cast<float>(found - target.words.begin());
  }
  return out;
}

// --- As text.

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TableColumn, name, numeric, mean, deviation, words, usual)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TableSchema, inputs, target, impute)

std::string schema_text(const TableSchema& schema) { return nlohmann::json(schema).dump(); }

TableSchema schema_from(const std::string& text, const std::string& name) {
  const nlohmann::json json = parse_json(text, fmt::format("the columns of {}", name));
  TableSchema schema;
  try {
    json.get_to(schema);
  } catch (const nlohmann::json::exception&) {
    fail("table model", fmt::format("columns in {} with missing or wrong entries", name), "what this library writes");
  }
  const auto check = [](const TableColumn& c) {
    if (c.width() == 0 || !(c.deviation > 0))
      fail("table model", fmt::format("the column \"{}\"", c.name), "a usable one");
  };
  std::ranges::for_each(schema.inputs, check);
  check(schema.target);
  return schema;
}

}  // namespace espalier
