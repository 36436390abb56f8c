// AIGER 1.9, ascii and binary, with the names of inputs and outputs as symbols.
#include <fmt/format.h>

#include "espalier/export.hpp"
#include "synth/aig.hpp"
#include "synth/export_names.hpp"

namespace espalier {
namespace {

std::string header(const char* kind, const Aig& aig) {
  return fmt::format("{} {} {} 0 {} {}\n", kind, aig.inputs + aig.ands.size(), aig.inputs, aig.outputs.size(),
                     aig.ands.size());
}

std::string symbols(const Netlist& n) {
  std::string text;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += fmt::format("i{} {}\n", i, line_name(n.inputs[i]));
  for (std::size_t o = 0; o < n.outputs.size(); ++o) text += fmt::format("o{} {}\n", o, line_name(n.outputs[o].name));
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

std::string export_aiger_ascii(const Netlist& n) {
  const Aig aig = aig_of(n);
  std::string text = header("aag", aig);
  for (std::uint32_t i = 0; i < aig.inputs; ++i) text += fmt::format("{}\n", 2 * (i + 1));
  for (const std::uint32_t output : aig.outputs) text += fmt::format("{}\n", output);
  for (std::size_t i = 0; i < aig.ands.size(); ++i)
    text += fmt::format("{} {} {}\n", 2 * (aig.inputs + 1 + i), aig.ands[i].high, aig.ands[i].low);
  return text + symbols(n);
}

std::string export_aiger_binary(const Netlist& n) {
  const Aig aig = aig_of(n);
  std::string bytes = header("aig", aig);
  for (const std::uint32_t output : aig.outputs) bytes += fmt::format("{}\n", output);
  for (std::size_t i = 0; i < aig.ands.size(); ++i) {
    const auto own = static_cast<std::uint32_t>(2 * (aig.inputs + 1 + i));
    write_delta(bytes, own - aig.ands[i].high);
    write_delta(bytes, aig.ands[i].high - aig.ands[i].low);
  }
  return bytes + symbols(n);
}

}  // namespace espalier
