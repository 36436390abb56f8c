#include "models/lattice/lattice_model.hpp"

#include <fmt/format.h>

#include "espalier/simplify.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"
#include "runs/config.hpp"
#include "runs/checkpoint.hpp"
#include "runs/run_folder.hpp"

namespace espalier {
namespace {

std::vector<Wiring> read_wiring(const SafetensorsFile& file, const char* part, std::size_t layers, int inputs) {
  std::vector<Wiring> wirings;
  for (std::size_t l = 0; l < layers; ++l) {
    const std::string name = fmt::format("wiring.{}.{}", part, l);
    wirings.push_back({inputs, file.ints(name + ".a"), file.ints(name + ".b")});
    inputs = wirings.back().outputs();
  }
  return wirings;
}

}  // namespace

bool is_lattice_model(const SafetensorsFile& file) {
  const auto kind = file.metadata.find("kind");
  return kind != file.metadata.end() && kind->second == "logic automaton";
}

LatticeModel load_lattice_model(const std::string& given) {
  const std::string path = RunFolder::model_file(given);
  const SafetensorsFile file = read_safetensors(path);
  if (!is_lattice_model(file))
    fail("load model", fmt::format("{}, which holds no logic automaton", path),
         "a model trained by one of the lattice tasks", "espalier info tells what is in it");
  const Json config = parse_config(file.meta("config"), path);
  const auto target = file.metadata.find("target");
  LatticeProblem problem =
      make_lattice_problem(config, config_seed(config), target == file.metadata.end() ? std::string() : target->second);
  const AutomatonOptions shape = problem.automaton;
  Automaton automaton(shape, read_wiring(file, "perceive", shape.perceive.size(), 9),
                      read_wiring(file, "update", shape.update.size(), shape.update_inputs()));
  Parameters parameters;
  automaton.add_parameters(parameters, 0);
  load_parameters(parameters, file);
  return {config, std::move(problem), std::move(automaton), std::move(parameters)};
}

Netlist LatticeModel::raw_cell() const { return harden(automaton, parameters.values()); }

Netlist LatticeModel::quick_cell() const {
  SimplifyOptions options;
  options.sweep = options.resubstitute = false;
  return simplify(raw_cell(), options);
}

}  // namespace espalier
