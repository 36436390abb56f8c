// A trained automaton read back from its model file.
#pragma once

#include <string>
#include <vector>

#include "espalier/netlist.hpp"
#include "models/lattice/lattice_problem.hpp"

namespace espalier {

struct LatticeModel {
  Json config;
  LatticeProblem problem;
  Automaton automaton;
  Parameters parameters;

  std::string task() const { return config.at("task"); }
  // The hardened cell, every gate as trained.
  Netlist raw_cell() const;
  // Wires bypassed, constants folded, dead gates dropped: quick, for simulation.
  Netlist quick_cell() const;
};

// Of a model.safetensors, or of the run's folder that holds one.
LatticeModel load_lattice_model(const std::string& given);
// Whether the file holds one (and not, say, a graph network).
bool is_lattice_model(const SafetensorsFile& file);

}  // namespace espalier
