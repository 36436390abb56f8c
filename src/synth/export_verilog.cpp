// Verilog-2001: the combinational circuit, the clocked board of an automaton, and a testbench that checks both.
#include <fmt/format.h>

#include <algorithm>

#include "espalier/random.hpp"
#include "espalier/simulator.hpp"
#include "netlist/cell.hpp"
#include "synth/formats.hpp"
#include "synth/names.hpp"

namespace espalier {
namespace {

// Ports and nets as Verilog writes them, all different.
struct VerilogNames {
  explicit VerilogNames(const Netlist& n) {
    PortNames ports(n);
    UniqueNames taken;  // other letters may make two names one
    const auto written = [&](const std::string& name) { return verilog_name(taken.take(verilog_letters(name))); };
    for (const std::string& name : ports.inputs) nets.push_back(written(name));
    for (const std::string& name : ports.outputs) outputs.push_back(written(name));
    for (std::size_t g = 0; g < n.gates.size(); ++g) nets.push_back(taken.take(fmt::format("n{}", n.net_of_gate(g))));
  }
  std::vector<std::string> nets, outputs;
};

std::string combinational(const Netlist& n, const std::string& name) {
  const VerilogNames names(n);
  std::string text = fmt::format("module {} (\n", name);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += fmt::format("  input wire {},\n", names.nets[i]);
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("  output wire {}{}\n", names.outputs[o], o + 1 < n.outputs.size() ? "," : "");
  text += ");\n";
  const std::vector<bool> live = live_nets(n);
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    if (live[n.net_of_gate(g)])
      text += fmt::format(
          "  wire {} = {};\n", names.nets[n.net_of_gate(g)],
          gate_expression(n.gates[g].gate, names.nets[n.gates[g].a], names.nets[n.gates[g].b], "1'b0", "1'b1"));
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("  assign {} = {};\n", names.outputs[o], names.nets[n.outputs[o].net]);
  return text + "endmodule\n";
}

// The ports of an instance joined to the nets that `in` and `out` name.
template <class In, class Out>
std::string connections(const Netlist& n, const In& in, const Out& out, const std::string& indent) {
  const VerilogNames names(n);
  std::string text;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += fmt::format("{}.{}({}),\n", indent, names.nets[i], in(i));
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("{}.{}({}){}", indent, names.outputs[o], out(o), o + 1 < n.outputs.size() ? ",\n" : "");
  return text;
}

// Most significant bit first, as Verilog writes numbers.
std::string binary(const std::vector<bool>& bits) {
  std::string text = fmt::format("{}'b", bits.size());
  for (std::size_t i = bits.size(); i-- > 0;) text += bits[i] ? '1' : '0';
  return text;
}

std::string hexadecimal(const std::vector<bool>& bits) {
  std::string text = fmt::format("{}'h", bits.size());
  for (std::size_t digit = (bits.size() + 3) / 4; digit-- > 0;) {
    unsigned value = 0;
    for (std::size_t b = 0; b < 4 && 4 * digit + b < bits.size(); ++b) value |= unsigned{bits[4 * digit + b]} << b;
    text += "0123456789abcdef"[value];
  }
  return text;
}

std::vector<bool> flat(const Board& board) {
  std::vector<bool> bits;
  for (std::size_t y = 0; y < board.height(); ++y)
    for (std::size_t x = 0; x < board.width(); ++x)
      for (int c = 0; c < board.channels(); ++c) bits.push_back(board.get(y, x, c));
  return bits;
}

// The start row by row, each shifted to where a board of WIDTH cells has it: on a board of another size the same cells
// start as they do on the model's own.
std::string start_rows(const Board& start) {
  const int C = start.channels();
  std::string text = fmt::format("{{HEIGHT*WIDTH*{}{{1'b0}}}}", C);
  for (std::size_t y = 0; y < start.height(); ++y) {
    std::vector<bool> row;
    for (std::size_t x = 0; x < start.width(); ++x)
      for (int c = 0; c < C; ++c) row.push_back(start.get(y, x, c));
    if (std::ranges::find(row, true) == row.end()) continue;
    text += fmt::format("\n    | (({{HEIGHT*WIDTH*{0}{{1'b0}}}} | {1} & {{WIDTH*{0}{{1'b1}}}}) << {2}*WIDTH*{0})", C,
                        hexadecimal(row), y);
  }
  return text;
}

std::string array(const Netlist& n, const std::string& name, const ExportOptions& options) {
  // A simulator of events resolves a vector that is driven piece by piece whole, each time a piece changes: a minute
  // for the letter's 256 cells of 64 channels. So each neighbour is a net of its own, each new bit too, and each cell
  // writes its own part of the board. Nine lines rather than a loop: each scope of a generate loop costs icarus time
  // that grows with their number.
  const std::size_t C = n.outputs.size();
  std::string places, after, next;
  for (std::size_t p = 0; p < 9; ++p)
    places += fmt::format(
        "        wire [{1}-1:0] from{0} =\n"
        "          PERIODIC || (y + {2} >= 1 && y + {2} <= HEIGHT && x + {3} >= 1 && x + {3} <= WIDTH) ?\n"
        "          state[(((y + {2} + HEIGHT - 1) % HEIGHT) * WIDTH + (x + {3} + WIDTH - 1) % WIDTH) * {1} +: {1}] : "
        "{1}'b0;\n",
        p, C, p / 3, p % 3);
  for (std::size_t c = 0; c < C; ++c) {
    after += fmt::format("{}after{}", c ? ", " : "", c);
    next += fmt::format("{}after{}", c ? ", " : "", C - 1 - c);
  }
  const std::string ports = connections(
      n, [&](std::size_t i) { return fmt::format("from{}[{}]", i / C, i % C); },
      [](std::size_t o) { return fmt::format("after{}", o); }, "          ");
  return fmt::format(R"(
// A board of HEIGHT x WIDTH cells; bit (y * WIDTH + x) * {1} + channel of `state`. With `load` the board is taken
// from `data`, otherwise every cell makes one step at each rising edge, all of them together, whether or not the model was
// trained with cells that update at different times. Unless it is told otherwise it is the model's own board: its size,
// its boundary (zeros around it, or PERIODIC) and its start. A board of another size starts with as much of that as fits
// into its upper left, and zeros elsewhere; START says otherwise.
module {0}_array #(
  parameter HEIGHT = {2},
  parameter WIDTH = {3},
  parameter PERIODIC = {4},
  parameter [HEIGHT*WIDTH*{1}-1:0] START = {5}
) (
  input wire clk,
  input wire load,
  input wire [HEIGHT*WIDTH*{1}-1:0] data,
  output reg [HEIGHT*WIDTH*{1}-1:0] state
);
  initial state = START;
  genvar y, x;
  generate
    for (y = 0; y < HEIGHT; y = y + 1) begin : row
      for (x = 0; x < WIDTH; x = x + 1) begin : column
{6}        wire {7};
        {0} cell_logic (
{8}
        );
        always @(posedge clk)
          state[(y * WIDTH + x) * {1} +: {1}] <= load ? data[(y * WIDTH + x) * {1} +: {1}] : {{{9}}};
      end
    end
  endgenerate
endmodule
)",
                     name, C, options.height, options.width, options.periodic ? 1 : 0,
                     options.start ? start_rows(*options.start) : "0", places, after, ports, next);
}

}  // namespace

std::string export_verilog(const Netlist& n, const ExportOptions& options) {
  if (n.inputs.empty() || n.outputs.empty()) return "// a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const NetlistCounts counts = count_netlist(n);
  std::string text = fmt::format("// {}: {} gates, depth {}.\n`timescale 1ns / 1ns\n", comment_text(n.name),
                                 counts.gates(), counts.depth);
  text += combinational(n, name);
  if (is_cell(n)) text += array(n, name, options);
  return text;
}

// A self-checking testbench: golden vectors for the circuit and, for a cell, the model's own board as far as it was
// trained, and golden boards for both boundaries.
namespace {

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
  const char* kind = periodic ? "periodic" : "zero";
  std::string text = fmt::format("    load = 1; data = {}; #1 clk = 1; #1 clk = 0; load = 0;\n", binary(flat(board)));
  for (int s = 0; s < options.test_steps; ++s) {
    simulator.run(board, 1);
    text += fmt::format(
        "    #1 clk = 1; #1 clk = 0;\n    if ({0}_state !== {1}) begin errors = errors + 1; $display(\"FAIL {0} board, "
        "step "
        "{2}\"); end\n",
        kind, binary(flat(board)), s + 1);
  }
  return text;
}

// The model's own board, or the upper left of it where it is too large for a simulator of events.
Board own_board(const ExportOptions& options) {
  constexpr std::size_t kMaxSide = 20;
  const Board& start = *options.start;
  Board part(std::min(start.height(), kMaxSide), std::min(start.width(), kMaxSide), start.channels());
  for (std::size_t y = 0; y < part.height(); ++y)
    for (std::size_t x = 0; x < part.width(); ++x)
      for (int c = 0; c < part.channels(); ++c) part.set(y, x, c, start.get(y, x, c));
  return part;
}

std::string own_instance(const Board& start, const std::string& name, const ExportOptions& options) {
  const std::vector<bool> bits = flat(start);
  // As it comes, without a parameter set, where it is whole.
  const std::string parameters =
      start == *options.start
          ? ""
          : fmt::format(" #(.HEIGHT({}), .WIDTH({}), .START({}))", start.height(), start.width(), hexadecimal(bits));
  return fmt::format(
      "  integer step;\n  reg own_clk;\n  wire [{0}:0] own_state;\n"
      "  {1}_array{2} own (.clk(own_clk), .load(1'b0), .data({3}'b0), .state(own_state));\n",
      bits.size() - 1, name, parameters, bits.size());
}

std::string own_run(Board board, const Netlist& n, const ExportOptions& options) {
  constexpr int kMaxSteps = 64;
  const int steps = std::min(options.steps, kMaxSteps);
  SimulatorOptions simulation;
  simulation.periodic = options.periodic;
  Simulator(n, board.height(), board.width(), simulation).run(board, static_cast<std::uint64_t>(steps));
  return fmt::format(
      "    // The model's own board: {2}{3}, all cells in every step.\n    own_clk = 0;\n    for (step = 0; step < "
      "{0}; step = step + 1) begin #1 own_clk = 1; #1 own_clk = 0; end\n"
      "    if (own_state !== {1}) begin errors = errors + 1; $display(\"FAIL the model's own board, step {0}\"); end\n",
      steps, hexadecimal(flat(board)),
      board.height() == options.start->height() && board.width() == options.start->width()
          ? fmt::format("{} x {} cells", board.height(), board.width())
          : fmt::format("the upper left {} x {} of its {} x {} cells", board.height(), board.width(),
                        options.start->height(), options.start->width()),
      steps == options.steps ? fmt::format(", {} steps", steps)
                             : fmt::format(", the first {} of {} steps", steps, options.steps));
}

}  // namespace

std::string export_verilog_testbench(const Netlist& n, const ExportOptions& options) {
  if (n.inputs.empty() || n.outputs.empty())
    return "// Written by espalier: checks a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const std::size_t I = n.inputs.size(), O = n.outputs.size();
  std::string text = fmt::format(
      "// Written by espalier: checks {0}.\n`timescale 1ns / 1ns\nmodule {0}_testbench;\n  integer errors;\n  reg "
      "[{1}:0] in;\n  wire [{2}:0] out;\n"
      "  {0} circuit (\n{3}\n  );\n",
      name, I - 1, O - 1,
      connections(
          n, [](std::size_t i) { return fmt::format("in[{}]", i); },
          [](std::size_t o) { return fmt::format("out[{}]", o); }, "    "));
  if (is_cell(n)) {
    if (options.start) text += own_instance(own_board(options), name, options);
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
    if (options.start) text += own_run(own_board(options), n, options);
    for (const bool periodic : {true, false}) text += boards(n, options, periodic);
  }
  text +=
      "    if (errors == 0) $display(\"PASS\"); else $display(\"FAIL %0d errors\", errors);\n    $finish;\n  "
      "end\nendmodule\n";
  return text;
}

}  // namespace espalier
