// Models named on the command line: a file, or the folder of a run.
#pragma once

#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "models/dag/table_model.hpp"
#include "models/lattice/lattice_model.hpp"
#include "models/message/rewrite_model.hpp"

namespace espalier::app {

// An Error that says what the file holds when it is another kind of model.
template <class Wanted>
std::unique_ptr<Wanted> load_model_as(const std::string& path, const std::string& how_to_make_one) {
  std::unique_ptr<Model> model = load_model(path).model;
  auto* wanted = dynamic_cast<Wanted*>(model.get());
  if (!wanted)
    fail("load model", path + ", a " + model->kind(), std::string("a ") + Wanted::kKind,
         "make one with: espalier train " + how_to_make_one);
  model.release();
  return std::unique_ptr<Wanted>(wanted);
}

// A table from a file, or from standard input when it is "-".
inline CsvTable read_csv(const std::string& path) {
  if (path != "-") return parse_csv(read_text(path), path);
  return parse_csv(std::string(std::istreambuf_iterator<char>(std::cin), {}), "standard input");
}

inline std::unique_ptr<LatticeModel> load_lattice_model(const std::string& path) {
  return load_model_as<LatticeModel>(path, "checkerboard");
}

}  // namespace espalier::app
