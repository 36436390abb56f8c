// Formats of other tools as text: BLIF, AIGER, and DOT with the picture that graphviz makes of it.
#include <fmt/format.h>

#include <unordered_map>

#include "espalier/error.hpp"
#include "synth/external_tool.hpp"
#include "synth/formats.hpp"
#include "synth/lut_map.hpp"
#include "synth/names.hpp"

namespace espalier {

// BLIF: one .names for each gate, with the fewest rows that cover where it is 1; an XOR where it is 0.
namespace {

// The rows of a gate that reads both its inputs: one for each value of an input that makes it 1 whatever the other is,
// or else one for each pattern.
std::string cover(Gate gate) {
  // By where it is 0: these products an AND or a NOR beside it may have, and so the AIGER has them.
  if (gate == Gate::kXor) return "00 0\n11 0\n";
  std::string rows;
  for (const bool v : {false, true}) {
    if (gate_value(gate, v, false) && gate_value(gate, v, true)) rows += v ? "1- 1\n" : "0- 1\n";
    if (gate_value(gate, false, v) && gate_value(gate, true, v)) rows += v ? "-1 1\n" : "-0 1\n";
  }
  if (!rows.empty()) return rows;  // three patterns of four: two such rows
  for (const bool u : {false, true})
    for (const bool v : {false, true})
      if (gate_value(gate, u, v)) rows += fmt::format("{}{} 1\n", int{u}, int{v});
  return rows;
}

void write_list(std::string& text, const char* keyword, const std::vector<std::string>& names) {
  text += keyword;
  for (const std::string& name : names) text += " \\\n " + name;
  text += "\n";
}

}  // namespace

std::string export_blif(const Netlist& n) {
  PortNames names(n);
  const auto& [inputs, outputs, taken] = names;
  std::vector<std::string> net = inputs;
  net.resize(n.nets());
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    net[n.net_of_gate(g)] = names.taken.take(fmt::format("n{}", n.net_of_gate(g)));
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
      text += fmt::format(".names {} {} {}\n", net[a], net[b], own) + cover(gate);
    }
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format(".names {} {}\n1 1\n", net[n.outputs[o].net], outputs[o]);
  return text + ".end\n";
}

// AIGER 1.9, ascii and binary, with the names of inputs and outputs as symbols.
namespace {

// An and-inverter graph with AIGER's numbers: literal 2 v + inverted, variable 0 is the constant 0, then the inputs,
// then the ANDs in topological order.
struct Aig {
  struct And {
    std::uint32_t high, low;  // literals, high >= low
  };
  std::uint32_t inputs = 0;
  std::vector<And> ands;               // variable inputs + 1 + i
  std::vector<std::uint32_t> outputs;  // literals
};

class AigBuilder {
 public:
  explicit AigBuilder(Aig& aig) : aig_(aig) {}

  std::uint32_t both(std::uint32_t x, std::uint32_t y) {
    if (x < y) std::swap(x, y);
    if (y == 0 || x == (y ^ 1)) return 0;
    if (y == 1 || x == y) return x;
    const auto [entry, fresh] = known_.try_emplace(std::uint64_t{x} << 32 | y, 0);
    if (fresh) {
      aig_.ands.push_back({x, y});
      entry->second = 2 * (aig_.inputs + static_cast<std::uint32_t>(aig_.ands.size()));
    }
    return entry->second;
  }

  std::uint32_t gate(Gate type, std::uint32_t a, std::uint32_t b) {
    const bool inverted = gate_value(type, false, false);  // brought to the polarity with f(0,0) = 0
    if (inverted) type = invert_output(type);
    const auto positive = [&]() -> std::uint32_t {
      switch (type) {
        case Gate::kFalse: return 0;
        case Gate::kAnd: return both(a, b);
        case Gate::kAAndNotB: return both(a, b ^ 1);
        case Gate::kA: return a;
        case Gate::kNotAAndB: return both(a ^ 1, b);
        case Gate::kB: return b;
        case Gate::kOr: return both(a ^ 1, b ^ 1) ^ 1;
        default: return both(both(a, b) ^ 1, both(a ^ 1, b ^ 1) ^ 1);  // XOR
      }
    };
    return positive() ^ (inverted ? 1u : 0u);
  }

 private:
  Aig& aig_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // looked up, never iterated over
};

Aig aig_of(const Netlist& n) {
  Aig aig;
  aig.inputs = static_cast<std::uint32_t>(n.inputs.size());
  AigBuilder builder(aig);
  std::vector<std::uint32_t> literal(n.nets() + 1);
  for (std::uint32_t i = 0; i < aig.inputs; ++i) literal[i] = 2 * (i + 1);
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    literal[n.net_of_gate(g)] =
        is_constant(gate) ? (gate == Gate::kTrue ? 1 : 0) : builder.gate(gate, literal[a], literal[b]);
  }
  for (const NetlistOutput& output : n.outputs) aig.outputs.push_back(literal[output.net]);
  return aig;
}

std::string header(const char* kind, const Aig& aig, std::size_t latches) {
  return fmt::format("{} {} {} {} {} {}\n", kind, aig.inputs + aig.ands.size(), aig.inputs - latches, latches,
                     aig.outputs.size() - latches, aig.ands.size());
}

std::string symbols(const Netlist& n, std::size_t latches) {
  std::string text;
  const PortNames names(n);
  const std::size_t inputs = n.inputs.size() - latches, outputs = n.outputs.size() - latches;
  for (std::size_t i = 0; i < inputs; ++i) text += fmt::format("i{} {}\n", i, names.inputs[i]);
  for (std::size_t l = 0; l < latches; ++l) text += fmt::format("l{} {}\n", l, names.inputs[inputs + l]);
  for (std::size_t o = 0; o < outputs; ++o) text += fmt::format("o{} {}\n", o, names.outputs[o]);
  return text + fmt::format("c\n{}\n", comment_text(n.name));
}

// Seven bits a byte, lowest first, the eighth says that more follow.
void write_delta(std::string& bytes, std::uint32_t delta) {
  while (delta >= 128) {
    bytes += static_cast<char>((delta & 127u) | 128u);
    delta >>= 7;
  }
  bytes += static_cast<char>(delta);
}

}  // namespace

std::size_t count_ands(const Netlist& n) { return aig_of(n).ands.size(); }

std::string export_aiger_ascii(const Netlist& n, std::size_t latches) {
  const Aig aig = aig_of(n);
  const std::size_t inputs = n.inputs.size() - latches, outputs = n.outputs.size() - latches;
  std::string text = header("aag", aig, latches);
  for (std::size_t i = 0; i < inputs; ++i) text += fmt::format("{}\n", 2 * (i + 1));
  for (std::size_t l = 0; l < latches; ++l)
    text += fmt::format("{} {}\n", 2 * (inputs + l + 1), aig.outputs[outputs + l]);
  for (std::size_t o = 0; o < outputs; ++o) text += fmt::format("{}\n", aig.outputs[o]);
  for (std::size_t i = 0; i < aig.ands.size(); ++i)
    text += fmt::format("{} {} {}\n", 2 * (aig.inputs + 1 + i), aig.ands[i].high, aig.ands[i].low);
  return text + symbols(n, latches);
}

std::string export_aiger_binary(const Netlist& n, std::size_t latches) {
  const Aig aig = aig_of(n);
  const std::size_t outputs = n.outputs.size() - latches;
  std::string bytes = header("aig", aig, latches);
  for (std::size_t l = 0; l < latches; ++l) bytes += fmt::format("{}\n", aig.outputs[outputs + l]);
  for (std::size_t o = 0; o < outputs; ++o) bytes += fmt::format("{}\n", aig.outputs[o]);
  for (std::size_t i = 0; i < aig.ands.size(); ++i) {
    const auto own = static_cast<std::uint32_t>(2 * (aig.inputs + 1 + i));
    write_delta(bytes, own - aig.ands[i].high);
    write_delta(bytes, aig.ands[i].high - aig.ands[i].low);
  }
  return bytes + symbols(n, latches);
}

// DOT: the gate graph from left to right, deep ones from top to bottom. Gates are those that do not care which operand
// is which; an inverted operand has a bubble where it enters. In large circuits the inputs of a gate are written into
// it, and what does not hang together is packed side by side: else the drawing is a strip that nobody can read.
namespace {

constexpr std::size_t kSmallDrawing = 40;  // gates

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : visible(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

struct DrawnGate {
  std::string_view label, colour;
  bool invert_a = false, invert_b = false;
};

DrawnGate drawn(Gate gate) {
  constexpr std::string_view kAndColour = "#dbe9f6", kOrColour = "#fde5cd", kXorColour = "#dcefd9", kPlain = "#eeeeee";
  switch (gate) {
    case Gate::kFalse: return {"0", kPlain};
    case Gate::kTrue: return {"1", kPlain};
    case Gate::kA:
    case Gate::kB: return {"wire", kPlain};
    case Gate::kNotA:
    case Gate::kNotB: return {"NOT", kPlain};
    case Gate::kAnd: return {"AND", kAndColour};
    case Gate::kAAndNotB: return {"AND", kAndColour, false, true};
    case Gate::kNotAAndB: return {"AND", kAndColour, true, false};
    case Gate::kNand: return {"NAND", kAndColour};
    case Gate::kOr: return {"OR", kOrColour};
    case Gate::kAOrNotB: return {"OR", kOrColour, false, true};
    case Gate::kNotAOrB: return {"OR", kOrColour, true, false};
    case Gate::kNor: return {"NOR", kOrColour};
    case Gate::kXor: return {"XOR", kXorColour};
    case Gate::kXnor: return {"XNOR", kXorColour};
  }
  return {};
}

}  // namespace

std::string export_dot(const Netlist& n) {
  const std::vector<bool> live = live_nets(n);
  const NetlistCounts counts = count_netlist(n);
  const bool large = counts.gates() > kSmallDrawing;
  // A gate is wider than high: long chains go down the page.
  const bool deep = large && counts.depth * counts.depth > 2 * counts.gates();
  std::string text = fmt::format(
      "digraph {} {{\n  rankdir={};\n  {}\n  node [fontname=\"Helvetica\", fontsize=11, height=0.3, "
      "margin=\"0.06,0.04\"];\n"
      "  edge [arrowsize=0.7];\n  fontname=\"Helvetica\"; fontsize=12; labelloc=b;\n  label={};\n",
      quoted(n.name), deep ? "TB" : "LR",
      large ? "pack=12; packmode=\"graph\"; nodesep=0.1; ranksep=0.35;" : "nodesep=0.15; ranksep=0.5;",
      quoted(fmt::format("{} gates, depth {}. A bubble where a line enters a gate: inverted there{}.", counts.gates(),
                         counts.depth, large ? "; in a gate's list of inputs ~ says so" : "")));
  // Gates that read inputs alone stand in three columns rather than one, where they have one reader.
  std::vector<std::size_t> readers(n.nets());
  for (const auto& [gate, a, b] : n.gates) readers[a] += reads_a(gate), readers[b] += reads_b(gate);
  std::size_t leaves = 0;
  const auto length = [&](Net net) -> std::size_t {
    if (!large || readers[net] != 1) return 1;
    const auto& [gate, a, b] = n.gate_of_net(net);
    return n.is_input(a) && n.is_input(b) ? 1 + leaves++ % 3 : 1;
  };
  for (Net i = 0; i < n.inputs.size() && !large; ++i)
    if (live[i]) text += fmt::format("  n{} [label={}, shape=plaintext];\n", i, quoted(n.inputs[i]));
  for (std::size_t g = 0; g < n.gates.size(); ++g) {
    const auto& [gate, a, b] = n.gates[g];
    const Net own = n.net_of_gate(g);
    if (!live[own] || (large && is_constant(gate))) continue;
    const DrawnGate shown = drawn(gate);
    std::string label = quoted(shown.label), edges;
    std::vector<std::string> inside;
    const auto operand = [&](Net net, bool inverted) {
      if (large && n.is_input(net))
        inside.push_back(fmt::format("{}{}", inverted ? "~" : "", line_name(n.inputs[net])));
      else
        edges +=
            fmt::format("  n{} -> n{} [{}minlen={}];\n", net, own, inverted ? "arrowhead=odot, " : "", length(net));
    };
    if (reads_a(gate)) operand(a, shown.invert_a);
    if (reads_b(gate)) operand(b, shown.invert_b);
    for (const std::string& line : inside)  // a line of its own each
      label = label.substr(0, label.size() - 1) + "\\n" + quoted(line).substr(1);
    text += fmt::format("  n{} [label={}, shape=box, style=\"rounded,filled\", fillcolor=\"{}\"];\n{}", own, label,
                        shown.colour, edges);
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o) {
    const Net net = n.outputs[o].net;
    const bool plain = large && (n.is_input(net) || is_constant(n.gate_of_net(net).gate));
    const std::string source = !plain            ? ""
                               : n.is_input(net) ? line_name(n.inputs[net])
                                                 : std::string(drawn(n.gate_of_net(net).gate).label);
    text += fmt::format("  o{} [label={}, shape=plaintext, fontname=\"Helvetica-Bold\"];\n", o,
                        quoted(plain ? n.outputs[o].name + " = " + source : n.outputs[o].name));
    if (!plain) text += fmt::format("  n{} -> o{};\n", net, o);
  }
  return text + "}\n";
}

std::string draw_svg(const Netlist& netlist) {
  constexpr double kSeconds = 120;
  const std::string dot = find_program("dot");
  if (dot.empty()) fail("svg", "no program dot in $PATH", "graphviz", "install it, or take the format dot");
  const MemoryFile in(export_dot(netlist)), out;
  const int code = run_program({dot, "-Tsvg", "-o", out.path(), in.path()}, kSeconds, {&in, &out});
  std::string picture = out.content();
  if (code != 0 || picture.find("</svg>") == std::string::npos)
    fail("svg", "no picture from " + dot, "one", "the circuit may be too large to draw");
  return picture;
}

}  // namespace espalier
