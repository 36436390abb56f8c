// Verilog-2001: the combinational circuit, the clocked board of an automaton, and a testbench that checks both.
#include <fmt/format.h>

#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "netlist/cell.hpp"
#include "synth/formats.hpp"
#include "synth/names.hpp"

namespace espalier {
namespace {

std::string combinational(const Netlist& n, const std::string& name) {
  std::string text = fmt::format("// in[{}:0], from the highest: ", n.inputs.size() - 1);
  for (std::size_t i = n.inputs.size(); i-- > 0;) text += comment_text(n.inputs[i]) + (i ? " " : "\n");
  text += fmt::format("module {} (\n  input wire [{}:0] in,\n  output wire [{}:0] out\n);\n", name, n.inputs.size() - 1,
                      n.outputs.size() - 1);
  const std::vector<bool> live = live_nets(n);
  const auto net = [&](Net x) { return n.is_input(x) ? fmt::format("in[{}]", x) : fmt::format("n{}", x); };
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    if (live[n.net_of_gate(g)])
      text += fmt::format("  wire n{} = {};\n", n.net_of_gate(g),
                          gate_expression(n.gates[g].gate, net(n.gates[g].a), net(n.gates[g].b), "1'b0", "1'b1"));
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("  assign out[{}] = {};  // {}\n", o, net(n.outputs[o].net), comment_text(n.outputs[o].name));
  return text + "endmodule\n";
}

std::string array(const Netlist& n, const std::string& name, const ExportOptions& options) {
  return fmt::format(R"(
// A board of HEIGHT x WIDTH cells; bit (y * WIDTH + x) * {1} + channel of `state`. With `load` the board is taken
// from `data`, otherwise every cell makes one step at each rising edge.
module {0}_array #(
  parameter HEIGHT = {3},
  parameter WIDTH = {4},
  parameter PERIODIC = {5}
) (
  input wire clk,
  input wire load,
  input wire [HEIGHT*WIDTH*{1}-1:0] data,
  output reg [HEIGHT*WIDTH*{1}-1:0] state
);
  wire [HEIGHT*WIDTH*{1}-1:0] next;
  genvar y, x, p;
  generate
    for (y = 0; y < HEIGHT; y = y + 1) begin : row
      for (x = 0; x < WIDTH; x = x + 1) begin : column
        wire [{2}:0] patch;
        for (p = 0; p < 9; p = p + 1) begin : place
          if (PERIODIC || (y + p / 3 >= 1 && y + p / 3 <= HEIGHT && x + p % 3 >= 1 && x + p % 3 <= WIDTH))
            assign patch[p*{1} +: {1}] =
              state[(((y + p / 3 + HEIGHT - 1) % HEIGHT) * WIDTH + (x + p % 3 + WIDTH - 1) % WIDTH) * {1} +: {1}];
          else
            assign patch[p*{1} +: {1}] = {1}'b0;
        end
        {0} cell_logic (.in(patch), .out(next[(y * WIDTH + x) * {1} +: {1}]));
      end
    end
  endgenerate
  always @(posedge clk) state <= load ? data : next;
endmodule
)",
                     name, n.outputs.size(), n.inputs.size() - 1, options.height, options.width,
                     options.periodic ? 1 : 0);
}

}  // namespace

std::string export_verilog(const Netlist& n, const ExportOptions& options) {
  if (n.inputs.empty() || n.outputs.empty()) return "// a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const NetlistCounts counts = count_netlist(n);
  std::string text = fmt::format("// {}: {} gates, depth {}.\n", comment_text(n.name), counts.raw, counts.depth);
  text += combinational(n, name);
  if (is_cell(n)) text += array(n, name, options);
  return text;
}

// A self-checking testbench: golden vectors for the circuit and, for a cell, golden boards for both boundaries.
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

std::string vectors(const Netlist& n, const ExportOptions& options) {
  const Random random(options.test_seed, Purpose::kData);
  std::string text;
  for (int v = 0; v < options.test_vectors; ++v) {
    std::vector<bool> in(n.inputs.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = random.coin(static_cast<std::uint64_t>(v) * in.size() + i);
    text += fmt::format("    check({}, {});\n", binary(in), binary(evaluate(n, in)));
  }
  return text;
}

std::string boards(const Netlist& n, const ExportOptions& options, bool periodic) {
  const auto H = static_cast<std::size_t>(options.test_height), W = static_cast<std::size_t>(options.test_width);
  Board board(H, W, cell_channels(n));
  board.randomize(options.test_seed + 1);
  SimulatorOptions simulation;
  simulation.periodic = periodic;
  Simulator simulator(n, H, W, simulation);
  const ThreadPool pool(1);
  const char* kind = periodic ? "periodic" : "zero";
  std::string text = fmt::format("    load = 1; data = {}; #1 clk = 1; #1 clk = 0; load = 0;\n", binary(flat(board)));
  for (int s = 0; s < options.test_steps; ++s) {
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

std::string export_verilog_testbench(const Netlist& n, const ExportOptions& options) {
  if (n.inputs.empty() || n.outputs.empty()) return "// a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const std::size_t I = n.inputs.size(), O = n.outputs.size();
  std::string text = fmt::format(
      "`timescale 1ns / 1ns\nmodule {0}_testbench;\n  integer errors;\n  reg [{1}:0] in;\n  wire [{2}:0] out;\n"
      "  {0} circuit (.in(in), .out(out));\n",
      name, I - 1, O - 1);
  if (is_cell(n)) {
    text += fmt::format(
        "  reg clk, load;\n  reg [{}:0] data;\n",
        static_cast<std::size_t>(options.test_height) * static_cast<std::size_t>(options.test_width) * O - 1);
    for (const bool periodic : {true, false})
      text += fmt::format(
          "  wire [{0}:0] {1}_state;\n  {2}_array #(.HEIGHT({3}), .WIDTH({4}), .PERIODIC({5})) {1} "
          "(.clk(clk), .load(load), .data(data), .state({1}_state));\n",
          static_cast<std::size_t>(options.test_height) * static_cast<std::size_t>(options.test_width) * O - 1,
          periodic ? "periodic" : "zero", name, options.test_height, options.test_width, periodic ? 1 : 0);
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
