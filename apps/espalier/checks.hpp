// What several commands ask of their command line before they begin.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

namespace espalier::app {

// A seed: digits alone, at most 64 bits.
CLI::Validator is_seed();

// A file that is going to be written: its folder is there and may be written to, and it is none of the files that are
// read. Costs nothing to find out before the work instead of after it. Devices and pipes pass.
void check_output(const std::string& option, const std::string& path, std::initializer_list<std::string> inputs);

}  // namespace espalier::app
