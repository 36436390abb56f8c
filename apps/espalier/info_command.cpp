// espalier info MODEL: what is in a model or checkpoint file, and how far a run is.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/model.hpp"
#include "espalier/run_record.hpp"
#include "espalier/safetensors.hpp"
#include "output.hpp"
#include "runs/run_folder.hpp"

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

// Tensors of one shape that differ in the last number of their names alone are one line.
void print_tensors(const SafetensorsFile& file) {
  std::vector<std::string> names;
  std::size_t values = 0;
  for (const auto& [name, t] : file.tensors) {
    names.push_back(name);
    values += t.bytes.size() / dtype_size(t.type);
  }
  // "update.2" before "update.10".
  std::ranges::sort(names, [](const auto& a, const auto& b) { return ::strverscmp(a.c_str(), b.c_str()) < 0; });
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;  // dtype and shape, names
  for (const std::string& name : names) {
    const auto& t = file.tensors.at(name);
    const std::string shape = fmt::format("{:<4} [{}]", dtype_name(t.type), fmt::join(t.shape, ", "));
    const std::size_t last = name.find_last_of("0123456789");
    const std::size_t first = name.find_last_not_of("0123456789", last) + 1;
    const std::string kind = last == std::string::npos ? name : name.substr(0, first) + "#" + name.substr(last + 1);
    const auto [at, fresh] = known.emplace(kind + " " + shape, lines.size());
    if (fresh) lines.push_back({shape, {}});
    lines[at->second].second.push_back(name);
  }
  print("{}:\n", counted(names.size(), "tensor"));
  for (const auto& [shape, members] : lines)
    print("  {:<40} {}\n",
          members.size() == 1 ? members.front() : fmt::format("{} .. {}", members.front(), members.back()), shape);
  print("{} in all\n", counted(values, "value"));
}

// "NAME:" and below it all entries, as many in a line as fit.
void print_entries(const std::string& name, const Json& entries) {
  constexpr std::size_t kWidth = 100;
  print("{}:\n", name);
  std::string line;
  for (const auto& [key, value] : entries.items()) {
    const std::string word = fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
    if (!line.empty() && line.size() + word.size() > kWidth) print("{}\n", std::exchange(line, {}));
    line += "  " + word;
  }
  print("{}\n", line);
}

void print_table(const SafetensorsFile& file) {
  constexpr std::string_view kOption = "option.";
  Json options = Json::object();
  for (const auto& [key, text] : file.metadata) {
    const Json value = meta_value(text);
    if (key.starts_with(kOption))
      options[key.substr(kOption.size())] = text;
    else if (value.is_object())
      print_entries(key, value);
    else
      print("{:<14} {}\n", key, text);
  }
  if (!options.empty()) print_entries("option", options);
  print_tensors(file);
}

// How far a run is; false where it has no model yet.
bool print_run(const std::string& folder) {
  const RunRecord r = RunRecord::read(folder);
  print("{:<14} {}, seed {}{}: {}{}, step {} of {}\n", "run", r.task, r.first_seed,
        r.num_seeds > 1 ? fmt::format(" to {}", r.first_seed + r.num_seeds - 1) : "", r.state,
        r.process.empty() ? "" : fmt::format(" ({})", r.process), r.step, r.train_steps);
  for (const std::string& seed : r.seeds) {
    const RunRecord own = RunRecord::read(seed);
    print("{:<14} seed {}: {}, step {}\n", "", own.first_seed, own.state, own.step);
  }
  return !r.model.empty();
}

Json to_json(const SafetensorsFile& file) {
  Json j = {{"metadata", Json::object()}, {"tensors", Json::object()}};
  for (const auto& [key, text] : file.metadata) j["metadata"][key] = meta_value(text);
  for (const auto& [name, t] : file.tensors) j["tensors"][name] = {{"dtype", dtype_name(t.type)}, {"shape", t.shape}};
  return j;
}

// Any file can be looked at; of a model that no other command would take the reason is told.
void warn_of_unusable(const SafetensorsFile& file, const std::string& path) {
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() || !format->second.starts_with("espalier model")) return;
  try {
    load_model(file, path);
  } catch (const Error& error) {
    note("espalier: this model cannot be used: {}\n", error.what());
  }
}

}  // namespace

Command info_command() {
  struct Flags {
    std::string path;
    bool json = false;
  };
  const auto f = std::make_shared<Flags>();
  Command command{"info", "show what is in a model or checkpoint file, and how far a run is"};
  command.arguments = {{"model", &f->path, "a .safetensors file, or the folder of a run"}};
  add_json(command.options, f->json);
  return std::move(command).with(f, [](Flags& f) {
    const std::string path = file_in(f.path, "model.safetensors");
    if (!f.json && RunFolder::holds_run(f.path) && !print_run(f.path)) return kDone;
    const SafetensorsFile file = read_safetensors(path);
    warn_of_unusable(file, path);
    f.json ? print_json(to_json(file)) : print_table(file);
    return kDone;
  });
}

}  // namespace espalier::app
