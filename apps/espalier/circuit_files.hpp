// Circuits from what a user names: a trained model, a run's folder, or a netlist in JSON, BLIF or AIGER.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "command_line.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/lattice_model.hpp"

namespace espalier::app {

struct LoadedCircuit {
  Netlist netlist;                                 // as trained, or as the file has it
  std::shared_ptr<const LatticeModel> model = {};  // null: a netlist from a file
  const char* as() const { return model ? "as trained" : "as given"; }
};
LoadedCircuit load_circuit(const std::string& path);

// Counts as JSON: inputs, outputs, gates, constants (which are no gates), active, depth, by type.
nlohmann::json counts_json(const Netlist& netlist);

// What ABC was asked for and did not do is told, and no success.
int abc_exit_code(const AbcReport& report);

}  // namespace espalier::app
