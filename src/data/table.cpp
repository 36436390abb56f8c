// CSV text.
#include "espalier/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "espalier/error.hpp"

namespace espalier {

std::size_t CsvTable::column(const std::string& name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end())
    fail("csv", fmt::format("no column \"{}\"", name), "a column of that name",
         fmt::format("the table has {}", fmt::join(header, ", ")));
  return static_cast<std::size_t>(found - header.begin());
}

namespace {

// One record from `at`; moves `at` behind its line end and counts lines.
std::vector<std::string> read_record(std::string_view text, char separator, std::size_t& at, std::size_t& line,
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
    } else if (c == separator) {
      cells.emplace_back();
      closed = false;
    } else if (c == '\n') {
      ++at;
      ++line;
      break;
    } else if (c != '\r') {
      if (closed)
        fail("csv", fmt::format("text after a closing quote in line {} of {}", line, what),
             "a separator or the line's end");
      cell += c;
    }
  }
  if (quoted) fail("csv", fmt::format("a quote in line {} of {} that is never closed", first_line, what), "\"");
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

// A comma, unless the first line has none and has semicolons or tabs instead.
char separator_of(std::string_view text) {
  bool quoted = false, semicolon = false, tab = false, any = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ',') return ',';
    if (c == '\n' && any) break;
    semicolon = semicolon || c == ';';
    tab = tab || c == '\t';
    any = any || (c != '\n' && c != '\r');
  }
  return semicolon ? ';' : tab ? '\t' : ',';
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& what) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte-order mark
  if (text.starts_with("PK\x03\x04"))                           // .xlsx, .ods, .npz
    fail("csv", fmt::format("{}, a zip archive", what), "text",
         "a spreadsheet can be saved as CSV, an array by numpy.savetxt");
  // Names and words go into configurations, model files and JSON, which are UTF-8.
  if (const std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos)
    fail("csv",
         fmt::format("{} in line {} of {}", shown(text[bad]),
                     1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n'), what),
         "text in UTF-8", "convert it, for example with iconv -f latin1 -t utf-8");
  CsvTable table;
  const char separator = separator_of(text);
  std::size_t at = 0, line = 1;
  while (at < text.size()) {
    const std::size_t here = line;
    std::vector<std::string> cells = read_record(text, separator, at, line, what);
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
      fail("csv", fmt::format("{} in line {} of {}", counted(cells.size(), "cell"), here, what),
           fmt::format("{} as in the first line", table.header.size()));
    table.rows.push_back(std::move(cells));
    table.lines.push_back(here);
  }
  if (table.header.empty()) fail("csv", fmt::format("nothing in {}", what), "a line of names and rows");
  return table;
}

}  // namespace espalier
