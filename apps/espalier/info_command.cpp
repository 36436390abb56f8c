// espalier info MODEL: what is in a model or checkpoint file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "espalier/error.hpp"
#include "base/json.hpp"
#include "espalier/safetensors.hpp"
#include "runs/run_folder.hpp"

namespace espalier::app {
namespace {

using Json = nlohmann::json;

// Metadata values that are JSON themselves are shown as such.
Json meta_value(const std::string& text) {
  try {
    const Json parsed = parse_json(text, "metadata");
    return parsed.is_object() || parsed.is_number() || parsed.is_boolean() ? parsed : Json(text);
  } catch (const Error&) {
    return text;
  }
}

void print_table(const SafetensorsFile& file) {
  for (const auto& [key, text] : file.metadata) {
    const Json value = meta_value(text);
    if (!value.is_object()) {
      fmt::print("{:<14} {}\n", key, text);
      continue;
    }
    fmt::print("{}:\n", key);
    for (const auto& [name, inner] : value.items()) fmt::print("  {:<20} {}\n", name, inner.dump());
  }
  std::size_t values = 0;
  fmt::print("{} tensors:\n", file.tensors.size());
  for (const auto& [name, t] : file.tensors) {
    fmt::print("  {:<28} {:<4} [{}]\n", name, dtype_name(t.type), fmt::join(t.shape, ", "));
    values += t.bytes.size() / dtype_size(t.type);
  }
  fmt::print("{} values in all\n", values);
}

void print_json(const SafetensorsFile& file) {
  Json j = {{"metadata", Json::object()}, {"tensors", Json::object()}};
  for (const auto& [key, text] : file.metadata) j["metadata"][key] = meta_value(text);
  for (const auto& [name, t] : file.tensors) j["tensors"][name] = {{"dtype", dtype_name(t.type)}, {"shape", t.shape}};
  fmt::print("{}\n", j.dump());
}

}  // namespace

void add_info_command(CLI::App& program, int&) {
  CLI::App* command = program.add_subcommand("info", "tell what is in a model or checkpoint file");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("model", *path, "a .safetensors file, or the folder of a run")->required()->type_name("FILE");
  command->add_flag("--json", *json, "print one JSON object");
  command->callback([path, json] {
    const SafetensorsFile file = read_safetensors(RunFolder::model_file(*path));
    *json ? print_json(file) : print_table(file);
  });
}

}  // namespace espalier::app
