// A self-checking testbench: golden vectors for the circuit and, for a cell, golden boards for both boundaries.
#include <fmt/format.h>

#include "espalier/export.hpp"
#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "netlist/cell.hpp"
#include "synth/export_names.hpp"

namespace espalier {
namespace {

// Most significant bit first, as Verilog writes numbers.
std::string binary(const std::vector<bool>& bits) {
  std::string text = fmt::format("{}'b", bits.size());
  for (std::size_t i = bits.size(); i-- > 0;) text += bits[i] ? '1' : '0';
  return text;
}

std::vector<bool> flat(const Board& board) {
  std::vector<bool> bits;
  for (std::size_t y = 0; y < board.height(); ++y)
    for (std::size_t x = 0; x < board.width(); ++x)
      for (int c = 0; c < board.channels(); ++c) bits.push_back(board.get(y, x, c));
  return bits;
}

std::string vectors(const Netlist& n, const VerilogTestOptions& options) {
  const Random random(options.seed, Purpose::kData);
  std::string text;
  for (int v = 0; v < options.vectors; ++v) {
    std::vector<bool> in(n.inputs.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = random.coin(static_cast<std::uint64_t>(v) * in.size() + i);
    text += fmt::format("    check({}, {});\n", binary(in), binary(evaluate(n, in)));
  }
  return text;
}

std::string boards(const Netlist& n, const VerilogTestOptions& options, bool periodic) {
  const auto H = static_cast<std::size_t>(options.height), W = static_cast<std::size_t>(options.width);
  Board board(H, W, cell_channels(n));
  board.randomize(options.seed + 1);
  SimulatorOptions simulation;
  simulation.periodic = periodic;
  Simulator simulator(n, H, W, simulation);
  const ThreadPool pool(1);
  const char* kind = periodic ? "periodic" : "zero";
  std::string text = fmt::format("    load = 1; data = {}; #1 clk = 1; #1 clk = 0; load = 0;\n", binary(flat(board)));
  for (int s = 0; s < options.steps; ++s) {
    simulator.run(board, 1, pool);
    text += fmt::format(
        "    #1 clk = 1; #1 clk = 0;\n    if ({0}_state !== {1}) begin errors = errors + 1; $display(\"FAIL {0} board, "
        "step "
        "{2}\"); end\n",
        kind, binary(flat(board)), s + 1);
  }
  return text;
}

}  // namespace

std::string export_verilog_testbench(const Netlist& n, const VerilogTestOptions& options) {
  if (n.inputs.empty() || n.outputs.empty()) return "// a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const std::size_t I = n.inputs.size(), O = n.outputs.size();
  std::string text = fmt::format(
      "`timescale 1ns / 1ns\nmodule {0}_testbench;\n  integer errors;\n  reg [{1}:0] in;\n  wire [{2}:0] out;\n"
      "  {0} circuit (.in(in), .out(out));\n",
      name, I - 1, O - 1);
  if (is_cell(n)) {
    text += fmt::format("  reg clk, load;\n  reg [{}:0] data;\n",
                        static_cast<std::size_t>(options.height) * static_cast<std::size_t>(options.width) * O - 1);
    for (const bool periodic : {true, false})
      text += fmt::format(
          "  wire [{0}:0] {1}_state;\n  {2}_array #(.HEIGHT({3}), .WIDTH({4}), .PERIODIC({5})) {1} "
          "(.clk(clk), .load(load), .data(data), .state({1}_state));\n",
          static_cast<std::size_t>(options.height) * static_cast<std::size_t>(options.width) * O - 1,
          periodic ? "periodic" : "zero", name, options.height, options.width, periodic ? 1 : 0);
  }
  text += fmt::format(
      "\n  task check(input [{0}:0] given, input [{1}:0] expected);\n    begin\n      in = given; #1;\n"
      "      if (out !== expected) begin\n        errors = errors + 1;\n"
      "        $display(\"FAIL in %b out %b expected %b\", given, out, expected);\n      end\n    end\n  endtask\n\n"
      "  initial begin\n    errors = 0;\n",
      I - 1, O - 1);
  text += vectors(n, options);
  if (is_cell(n)) {
    text += "    clk = 0;\n";
    for (const bool periodic : {true, false}) text += boards(n, options, periodic);
  }
  text +=
      "    if (errors == 0) $display(\"PASS\"); else $display(\"FAIL %0d errors\", errors);\n    $finish;\n  "
      "end\nendmodule\n";
  return text;
}

}  // namespace espalier
