// Espalier's own netlist file. Written by hand so that a gate is a line; read back by import_json.cpp.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "espalier/export.hpp"

namespace espalier {

std::string export_json(const Netlist& n) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  };
  std::string text = fmt::format("{{\n\"format\": \"espalier-netlist\",\n\"version\": 1,\n\"name\": {},\n\"inputs\": [",
                                 quoted(n.name));
  for (std::size_t i = 0; i < n.inputs.size(); ++i) text += (i ? ", " : "") + quoted(n.inputs[i]);
  text += "],\n\"gates\": [";
  for (std::size_t g = 0; g < n.gates.size(); ++g)
    text +=
        fmt::format("{}\n[{}, {}, {}]", g ? "," : "", static_cast<int>(n.gates[g].gate), n.gates[g].a, n.gates[g].b);
  text += "\n],\n\"outputs\": [";
  for (std::size_t o = 0; o < n.outputs.size(); ++o)
    text += fmt::format("{}\n{{\"name\": {}, \"net\": {}}}", o ? "," : "", quoted(n.outputs[o].name), n.outputs[o].net);
  return text + "\n]\n}\n";
}

}  // namespace espalier
