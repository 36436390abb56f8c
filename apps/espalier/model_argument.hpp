// Models named on the command line: a file, or the folder of a run.
#pragma once

#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "base/files.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/lattice_model.hpp"

namespace espalier::app {

// A table from a file, or from standard input when it is "-".
inline CsvTable read_csv(const std::string& path) {
  if (path != "-") return parse_csv(read_text(path), path);
  return parse_csv(std::string(std::istreambuf_iterator<char>(std::cin), {}), "standard input");
}

inline std::unique_ptr<LatticeModel> load_lattice_model(const std::string& path) {
  return load_model_as<LatticeModel>(path, "make one with: espalier train checkerboard");
}

}  // namespace espalier::app
