#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "base/files.hpp"
#include "base/text.hpp"
#include "command_line.hpp"
#include "output.hpp"

namespace espalier::app {

std::vector<long> numbers(const std::string& option, const std::string& text, char separator) {
  std::vector<long> list;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    const std::string part = text.substr(at, end - at);
    char* stop = nullptr;
    list.push_back(std::strtol(part.c_str(), &stop, 10));
    if (part.empty() || *stop)
      throw UsageError(option, fmt::format("got \"{}\", expected whole numbers separated by '{}'", text, separator));
    at = end + 1;
  }
  return list;
}

void refuse_given(const std::set<std::string>& given, const std::vector<std::string>& options, const std::string& why) {
  for (const std::string& option : options)
    if (given.contains(option)) throw UsageError("--" + option, why);
}

BoardSize parse_board_size(const std::string& option, const std::string& text, int most) {
  const std::vector<long> list = numbers(option, text, 'x');
  const long height = list[0], width = list.back();
  if (list.size() > 2 || std::min(height, width) < 1 || std::max(height, width) > most)
    throw UsageError(option, fmt::format("got \"{}\", expected N or HxW with sides of 1 to {}", text, most));
  return {static_cast<int>(height), static_cast<int>(width)};
}

BoardSize board_size(const std::string& option, const std::string& text, const LatticeModel& model, int most) {
  if (!text.empty()) return parse_board_size(option, text, most);
  const BoardView view = model.view();
  return {view.height, view.width};
}

std::unique_ptr<LatticeModel> load_lattice_model(const std::string& path) {
  return load_model_as<LatticeModel>(path, "make one with: espalier train checkerboard");
}

CsvTable read_csv(const std::string& path) {
  if (path != "-") return parse_csv(read_text(path), path);
  return parse_csv(std::string(std::istreambuf_iterator<char>(std::cin), {}), "standard input");
}

void add_allow_unknown(Fields& options, bool& allow, const std::string& more) {
  options.add(
      "allow-unknown", allow,
      "for a table model: words it was not trained on count as none of those it knows, instead of being refused" +
          more);
}

std::vector<std::string> told_unknown_words(const RowModel& model, const CsvTable& table) {
  std::vector<std::string> by_row;
  for (const UnknownWord& unknown : model.unknown_words(table)) {
    note("column \"{}\": \"{}\" was not in the training rows; {}, the first in line {}{}\n", unknown.column,
         one_line(unknown.word), counted(unknown.rows.size(), "row"), table.lines[unknown.rows.front()],
         unknown.nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", one_line(unknown.nearest)));
    by_row.resize(table.rows.size());
    for (const std::size_t r : unknown.rows) by_row[r] += (by_row[r].empty() ? "" : " ") + unknown.column;
  }
  return by_row;
}

}  // namespace espalier::app
