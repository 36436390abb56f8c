// Circuits from what a user names: a trained model, a run's folder, or a netlist in JSON, BLIF or AIGER.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "espalier/netlist.hpp"

namespace espalier::app {

// As trained, or as the file has it.
Netlist load_circuit(const std::string& path);

// Counts as JSON: inputs, outputs, raw, active, depth, gates by type.
nlohmann::json counts_json(const Netlist& netlist);

}  // namespace espalier::app
