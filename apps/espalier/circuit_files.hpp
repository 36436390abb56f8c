// What the commands about circuits say of them.
#pragma once

#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "espalier/synth.hpp"

namespace espalier::app {

// Counts as JSON: inputs, outputs, gates, constants (which are not gates), active, depth, by type.
nlohmann::json counts_json(const Netlist& netlist);

// What ABC was asked for and did not do is told, and no success.
int abc_exit_code(const AbcReport& report);

}  // namespace espalier::app
