// Espalier's own netlist file, written and read. Written by hand so that a gate is a line.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "espalier/error.hpp"
#include "synth/formats.hpp"

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

namespace {

using Json = nlohmann::json;

[[noreturn]] void wrong(const std::string& file, const std::string& got, const std::string& expected) {
  fail(file, got, expected);
}

const Json& member(const Json& json, const char* key, Json::value_t type, const std::string& file) {
  const auto it = json.find(key);
  if (it == json.end())
    wrong(file, fmt::format("no \"{}\"", key), "a netlist with format, version, inputs, gates, outputs");
  if (it->type() != type) wrong(file, fmt::format("\"{}\" of type {}", key, it->type_name()), Json(type).type_name());
  return *it;
}

std::uint32_t number(const Json& json, std::uint64_t most, const std::string& file, const std::string& place) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
    wrong(file, fmt::format("{} for {}", shown_json(json), place), fmt::format("a whole number from 0 to {}", most));
  return json.get<std::uint32_t>();
}

std::string text(const Json& json, const std::string& file, const std::string& place) {
  if (!json.is_string()) wrong(file, fmt::format("{} for {}", json.type_name(), place), "a string");
  return json.get<std::string>();
}

}  // namespace

Netlist import_json(std::string_view source, const std::string& file) {
  const Json json = parse_json(source, file);
  if (!json.is_object()) wrong(file, json.type_name(), "an object");
  if (text(member(json, "format", Json::value_t::string, file), file, "format") != "espalier-netlist")
    wrong(file, "another format", "\"format\": \"espalier-netlist\"");
  if (const auto version =
          number(member(json, "version", Json::value_t::number_unsigned, file), 1u << 30, file, "version");
      version != 1)
    fail(file, fmt::format("version {}", version), "version 1", "a newer espalier may read it");
  Netlist n;
  if (json.contains("name")) n.name = text(json["name"], file, "name");
  for (const Json& input : member(json, "inputs", Json::value_t::array, file))
    n.inputs.push_back(text(input, file, fmt::format("input {}", n.inputs.size())));
  const Json& gates = member(json, "gates", Json::value_t::array, file);
  n.gates.reserve(gates.size());
  for (const Json& gate : gates) {
    const std::string place = fmt::format("gate {}", n.gates.size());
    if (!gate.is_array() || gate.size() != 3)
      wrong(file, fmt::format("{} that is not a list of three", place), "[type, a, b]");
    n.gates.push_back({static_cast<Gate>(number(gate[0], 15, file, place)), number(gate[1], kNoNet - 1, file, place),
                       number(gate[2], kNoNet - 1, file, place)});
  }
  for (const Json& output : member(json, "outputs", Json::value_t::array, file)) {
    const std::string place = fmt::format("output {}", n.outputs.size());
    if (!output.is_object())
      wrong(file, fmt::format("{} for {}", output.type_name(), place), "{\"name\": ..., \"net\": ...}");
    n.outputs.push_back({text(member(output, "name", Json::value_t::string, file), file, place),
                         number(member(output, "net", Json::value_t::number_unsigned, file), kNoNet - 1, file, place)});
  }
  check_netlist(n, file);
  return n;
}

}  // namespace espalier
