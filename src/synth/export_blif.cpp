// BLIF: one .names a gate, the rows of its cover where it is 1.
#include <fmt/format.h>

#include <set>

#include "espalier/export.hpp"
#include "synth/export_names.hpp"

namespace espalier {
namespace {

// Names in a BLIF file are one space: inputs, outputs and inner nets must all differ.
class Names {
 public:
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

void write_list(std::string& text, const char* keyword, const std::vector<std::string>& names) {
  text += keyword;
  for (const std::string& name : names) text += " \\\n " + name;
  text += "\n";
}

}  // namespace

std::string export_blif(const Netlist& n) {
  Names names;
  std::vector<std::string> inputs, outputs, net(n.nets());
  for (Net i = 0; i < n.inputs.size(); ++i) inputs.push_back(net[i] = names.take(line_name(n.inputs[i])));
  for (const NetlistOutput& output : n.outputs) outputs.push_back(names.take(line_name(output.name)));
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    net[n.net_of_gate(g)] = names.take(fmt::format("n{}", n.net_of_gate(g)));
  std::string text = fmt::format(".model {}\n", line_name(n.name));
  write_list(text, ".inputs", inputs);
  write_list(text, ".outputs", outputs);
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    const std::string& own = net[n.net_of_gate(g)];
    if (is_constant(gate)) {
      text += fmt::format(".names {}\n{}", own, gate == Gate::kTrue ? "1\n" : "");
    } else if (!reads_b(gate) || !reads_a(gate)) {
      const bool inverted = gate == Gate::kNotA || gate == Gate::kNotB;
      text += fmt::format(".names {} {}\n{} 1\n", net[reads_a(gate) ? a : b], own, inverted ? 0 : 1);
    } else if (a == b) {
      const Gate unary = merge_inputs(gate);
      text += is_constant(unary) ? fmt::format(".names {}\n{}", own, unary == Gate::kTrue ? "1\n" : "")
                                 : fmt::format(".names {} {}\n{} 1\n", net[a], own, unary == Gate::kNotA ? 0 : 1);
    } else {
      text += fmt::format(".names {} {} {}\n", net[a], net[b], own);
      for (const int u : {0, 1})
        for (const int v : {0, 1})
          if (gate_value(gate, u, v)) text += fmt::format("{}{} 1\n", u, v);
    }
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format(".names {} {}\n1 1\n", net[n.outputs[o].net], outputs[o]);
  return text + ".end\n";
}

}  // namespace espalier
