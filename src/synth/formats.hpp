// Netlists in the formats of files, each as a whole. Exports take netlists that check_netlist has seen; users get at
// them through export_circuit, which takes proved ones only.
#pragma once

#include <string>
#include <string_view>

#include "espalier/synth.hpp"

namespace espalier {

struct CSource {
  std::string header, source;
};
// Of the options: the board.
CSource export_c(const Netlist& netlist, const std::string& header_name, const ExportOptions& options = {});
std::string export_javascript(const Netlist& netlist, const ExportOptions& options = {});

// Of the options: the board and the test.
std::string export_verilog(const Netlist& netlist, const ExportOptions& options = {});
// With golden inputs and outputs: prints PASS, or FAIL and the first difference.
std::string export_verilog_testbench(const Netlist& netlist, const ExportOptions& options = {});

std::string export_blif(const Netlist& netlist);
// The last `latches` inputs are latches that begin as 0, the last outputs as many what they become.
std::string export_aiger_ascii(const Netlist& netlist, std::size_t latches = 0);
std::string export_aiger_binary(const Netlist& netlist, std::size_t latches = 0);
std::string export_dot(const Netlist& netlist);
std::string draw_svg(const Netlist& netlist);
std::string export_json(const Netlist& netlist);

Netlist import_json(std::string_view text, const std::string& file);
// .names with any number of inputs (as a two-level cover); no latches, gates of libraries or sub-circuits.
Netlist import_blif(std::string_view text, const std::string& file);
// Both kinds, told apart by the first word. No latches.
Netlist import_aiger(std::string_view bytes, const std::string& file);

}  // namespace espalier
