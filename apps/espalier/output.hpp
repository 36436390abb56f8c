// What the program prints: results on standard output, all else on standard error, where a failure to write never ends
// a run.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/text.hpp"
#include "espalier/trainer.hpp"

namespace espalier {
struct AbcReport;
struct NetlistCounts;
}  // namespace espalier

namespace espalier::app {

using Json = nlohmann::json;

// One line of ASCII; text that is not UTF-8 is shown with replacement characters.
std::string json_text(const Json& json);
void print_json(const Json& json);
// Dots in names nest.
Json json_of(const Facts& facts);
const char* verdict_word(const Verdict& verdict);  // solved, explained up to noise, not solved
Json json_of(const Provenance& provenance);        // an object for each thing that was done, in order

// All that a terminal would not show but obey comes out as codes (printable()), whoever wrote it.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("{}", printable(fmt::format(format, std::forward<Args>(args)...), true));
}

void note(const std::string& text);  // to standard error; failures are ignored, and so is one that does not read
template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {  // as print()
  note(printable(fmt::format(format, std::forward<Args>(args)...), true));
}

// The whole text to a file, or to standard output when the name is empty or "-"; if that is a terminal, as print().
void write_output(const std::string& path, const std::string& text);

// Counts of a circuit: inputs, outputs, gates, constants (which are not gates), active, depth, by type.
Json counts_json(const NetlistCounts& counts);
// What ABC was asked for and did not do is told, and no success.
int abc_exit_code(const AbcReport& report);

// As a cell of a CSV file: in quotes where it must be.
std::string csv_cell(const std::string& text);

// Before any work: the folder of a file that is going to be written is there and may be written to, and the file is
// none of those that are read and none of a run's own. Devices and pipes pass.
void check_output(const std::string& option, const std::string& path, std::initializer_list<std::string> inputs);

}  // namespace espalier::app
