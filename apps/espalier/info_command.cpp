// espalier info MODEL: what is in a model or checkpoint file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

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

Json to_json(const SafetensorsFile& file) {
  Json j = {{"metadata", Json::object()}, {"tensors", Json::object()}};
  for (const auto& [key, text] : file.metadata) j["metadata"][key] = meta_value(text);
  for (const auto& [name, t] : file.tensors) j["tensors"][name] = {{"dtype", dtype_name(t.type)}, {"shape", t.shape}};
  return j;
}

}  // namespace

Command info_command() {
  struct Flags {
    std::string path;
    bool json = false;
  };
  const auto f = std::make_shared<Flags>();
  Command command{"info", "tell what is in a model or checkpoint file"};
  command.arguments = {{"model", &f->path, "a .safetensors file, or the folder of a run"}};
  add_json(command.options, f->json);
  command.keeps = f;
  command.run = [f] {
    const bool folder = std::filesystem::is_directory(f->path);
    const SafetensorsFile file = read_safetensors(folder ? f->path + "/model.safetensors" : f->path);
    f->json ? print_json(to_json(file)) : print_table(file);
    return static_cast<int>(kDone);
  };
  return command;
}

}  // namespace espalier::app
