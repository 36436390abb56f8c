// Circuits from what a user names: a trained model, a run's folder, or a netlist in JSON, BLIF or AIGER.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "espalier/netlist.hpp"
#include "espalier/simplify.hpp"
#include "synth/abc.hpp"

namespace espalier::app {

// As trained, or as the file has it.
Netlist load_circuit(const std::string& path);

// The options of `circuit` and `export` that shape the simplified netlist.
struct CircuitWork {
  bool with_abc = false;
  SimplifyReport simplify;
  AbcReport abc;
  Netlist run(const Netlist& raw);
};

// Counts as JSON: inputs, outputs, raw, active, depth, gates by type.
nlohmann::json counts_json(const Netlist& netlist);

}  // namespace espalier::app
