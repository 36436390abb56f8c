// A netlist as text (or bytes) for other tools. Every function gives the whole file; nothing is written to disk here.
// Names are kept where the format allows them and made into plain identifiers where it does not.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/netlist.hpp"

namespace espalier {

// C99 without dependencies: NAME_cell() on 64 patterns at once and, for a cell of an automaton, NAME_step() on a whole
// board. The source includes "HEADER_NAME".
struct CSource {
  std::string header, source;
};
CSource export_c(const Netlist& netlist, const std::string& header_name);

// Verilog-2001: module NAME (combinational) and, for a cell of an automaton, NAME_array (a clocked H x W board).
std::string export_verilog(const Netlist& netlist);
// A testbench for both, with golden inputs and outputs: prints PASS, or FAIL and the first difference.
struct VerilogTestOptions {
  std::uint64_t seed = 1;
  int vectors = 64;                       // patterns for the combinational module
  int height = 8, width = 11, steps = 6;  // board for the array
};
std::string export_verilog_testbench(const Netlist& netlist, const VerilogTestOptions& options = {});

std::string export_blif(const Netlist& netlist);
std::string export_aiger_ascii(const Netlist& netlist);
std::string export_aiger_binary(const Netlist& netlist);
std::string export_dot(const Netlist& netlist);  // for graphviz: inputs that nothing reads are left out
std::string export_json(const Netlist& netlist);
// One ES module: cell(input, output) on 32 patterns at once and step(...) for a cell of an automaton.
std::string export_javascript(const Netlist& netlist);

}  // namespace espalier
