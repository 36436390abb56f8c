// Circuits from what a user names: a trained model, a run's folder, or a netlist in JSON, BLIF or AIGER.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "command_line.hpp"
#include "espalier/synth.hpp"

namespace espalier::app {

// As trained, or as the file has it.
Netlist load_circuit(const std::string& path);

// Counts as JSON: inputs, outputs, raw, active, depth, gates by type.
nlohmann::json counts_json(const Netlist& netlist);

// What ABC was asked for and did not do is told, and no success.
int abc_exit_code(const AbcReport& report);

}  // namespace espalier::app
