// Reading CSV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "espalier/error.hpp"
#include "models/dag/table_data.hpp"

namespace espalier {

std::size_t CsvTable::column(const std::string& name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end())
    fail("csv", fmt::format("no column \"{}\"", name), fmt::format("one of {}", fmt::join(header, ", ")));
  return static_cast<std::size_t>(found - header.begin());
}

bool is_missing(const std::string& cell) {
  std::string lower;
  for (const char c : cell) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.empty() || lower == "?" || lower == "na" || lower == "nan" || lower == "null";
}

namespace {

// One record from `at`; moves `at` behind its line end and counts lines.
std::vector<std::string> read_record(std::string_view text, std::size_t& at, std::size_t& line,
                                     const std::string& what) {
  std::vector<std::string> cells(1);
  const std::size_t first_line = line;
  bool quoted = false, closed = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    std::string& cell = cells.back();
    if (quoted) {
      if (c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
        cell += '"';
        ++at;
      } else if (c == '"') {
        quoted = false;
        closed = true;
      } else {
        line += c == '\n';
        cell += c;
      }
    } else if (c == '"' && cell.empty() && !closed) {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
      closed = false;
    } else if (c == '\n') {
      ++at;
      ++line;
      break;
    } else if (c != '\r') {
      if (closed)
        fail("csv", fmt::format("text after a closing quote in line {} of {}", line, what),
             "a comma or the line's end");
      cell += c;
    }
  }
  if (quoted) fail("csv", fmt::format("a quote in line {} of {} that is never closed", first_line, what), "\"");
  for (std::string& cell : cells) {
    const std::size_t begin = cell.find_first_not_of(" \t"), end = cell.find_last_not_of(" \t");
    cell = begin == std::string::npos ? std::string() : cell.substr(begin, end - begin + 1);
  }
  return cells;
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& what) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte-order mark
  CsvTable table;
  std::size_t at = 0, line = 1;
  while (at < text.size()) {
    const std::size_t here = line;
    std::vector<std::string> cells = read_record(text, at, line, what);
    if (cells.size() == 1 && cells[0].empty()) continue;  // an empty line
    if (table.header.empty()) {
      std::set<std::string> seen;
      for (const std::string& name : cells)
        if (name.empty() || !seen.insert(name).second)
          fail("csv", fmt::format("the column name \"{}\" in {}", name, what), "different names in the first line");
      table.header = std::move(cells);
      continue;
    }
    if (cells.size() != table.header.size())
      fail("csv", fmt::format("{} cells in line {} of {}", cells.size(), here, what),
           fmt::format("{} as in the first line", table.header.size()));
    table.rows.push_back(std::move(cells));
    table.lines.push_back(here);
  }
  if (table.header.empty()) fail("csv", fmt::format("nothing in {}", what), "a line of names and rows");
  return table;
}

}  // namespace espalier
