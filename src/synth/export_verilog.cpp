// Verilog-2001: the combinational circuit, and the clocked board of an automaton.
#include <fmt/format.h>

#include "espalier/export.hpp"
#include "synth/export_names.hpp"

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

std::string array(const Netlist& n, const std::string& name) {
  return fmt::format(R"(
// A board of HEIGHT x WIDTH cells; bit (y * WIDTH + x) * {1} + channel of `state`. With `load` the board is taken
// from `data`, otherwise every cell makes one step at each rising edge.
module {0}_array #(
  parameter HEIGHT = 16,
  parameter WIDTH = 16,
  parameter PERIODIC = 1
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
                     name, n.outputs.size(), n.inputs.size() - 1);
}

}  // namespace

std::string export_verilog(const Netlist& n) {
  if (n.inputs.empty() || n.outputs.empty()) return "// a circuit without inputs or outputs\n";
  const std::string name = identifier(n.name);
  const NetlistCounts counts = count_netlist(n);
  std::string text = fmt::format("// {}: {} gates, depth {}.\n", comment_text(n.name), counts.raw, counts.depth);
  text += combinational(n, name);
  if (is_cell(n)) text += array(n, name);
  return text;
}

}  // namespace espalier
