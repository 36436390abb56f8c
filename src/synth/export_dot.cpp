// DOT: the gate graph from left to right; solid lines go to a gate's first operand, dashed ones to its second.
#include <fmt/format.h>

#include <array>

#include "espalier/export.hpp"
#include "synth/export_names.hpp"

namespace espalier {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? '_' : c;
  }
  return result + '"';
}

// The words people use; a and b are the solid and the dashed line.
constexpr std::array<std::string_view, kGates> kLabels{
    "0",   "AND",  "a AND NOT b", "a",          "NOT a AND b", "b",          "XOR",  "OR",
    "NOR", "XNOR", "NOT b",       "a OR NOT b", "NOT",         "NOT a OR b", "NAND", "1"};

}  // namespace

std::string export_dot(const Netlist& n) {
  const std::vector<bool> live = live_nets(n);
  std::string text =
      fmt::format("digraph {} {{\n  rankdir=LR;\n  node [fontname=\"Helvetica\", fontsize=11];\n", quoted(n.name));
  for (Net i = 0; i < n.inputs.size(); ++i)
    if (live[i]) text += fmt::format("  n{} [label={}, shape=plaintext];\n", i, quoted(n.inputs[i]));
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    const Net own = n.net_of_gate(g);
    if (!live[own]) continue;
    text += fmt::format("  n{} [label={}, shape=box, style=rounded];\n", own, quoted(kLabels[gate_bits(gate)]));
    if (reads_a(gate)) text += fmt::format("  n{} -> n{};\n", a, own);
    if (reads_b(gate)) text += fmt::format("  n{} -> n{} [style=dashed];\n", b, own);
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("  o{0} [label={1}, shape=plaintext];\n  n{2} -> o{0};\n", o, quoted(n.outputs[o].name),
                        n.outputs[o].net);
  return text + "}\n";
}

}  // namespace espalier
