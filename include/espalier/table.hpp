// Tables of named columns, and the CSV text they come from.
// Example:
//   const CsvTable table = parse_csv("colour,size\nred,1.3\nblue,9.2\n", "two flowers");
//   const std::string& colour = table.rows[1][table.column("colour")];  // blue
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;         // all as long as the header
  std::vector<std::size_t> lines;                     // where each row began, from 1
  std::size_t column(const std::string& name) const;  // an Error that lists the names
};
// Commas (semicolons or tabs where the first line has these and no comma), "quoted" cells with "" for a quote, \n or
// \r\n. Errors name the line.
CsvTable parse_csv(std::string_view text, const std::string& what);

// A word that no training row had in that column.
struct UnknownWord {
  std::string column, word;
  std::string nearest;            // of the words that are known; empty when none is near
  std::vector<std::size_t> rows;  // that have it, from 0
};
enum class UnknownWords { kRefuse, kAllow };

}  // namespace espalier
