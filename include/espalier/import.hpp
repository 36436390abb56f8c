// Circuits from files: espalier's own JSON, BLIF, AIGER (ascii and binary). Combinational ones only. Everything wrong
// in a file is one Error that names the file and the place; nothing is allocated on a file's word alone.
#pragma once

#include <string>
#include <string_view>

#include "espalier/netlist.hpp"

namespace espalier {

Netlist import_json(std::string_view text, const std::string& file);
// .names with any number of inputs (as a two-level cover); no latches, gates of libraries or sub-circuits.
Netlist import_blif(std::string_view text, const std::string& file);
// Both kinds, told apart by the first word. No latches.
Netlist import_aiger(std::string_view bytes, const std::string& file);

// Looks at the content, not at the name.
Netlist import_circuit(std::string_view bytes, const std::string& file);

}  // namespace espalier
