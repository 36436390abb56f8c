#include "runs/own_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.hpp"
#include "base/temporary_file.hpp"
#include "espalier/error.hpp"
#include "runs/metrics_file.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxConfig = 1 << 24;

// What a run writes beside its config and its lock, and how such a file begins; of tensors, what their header tells.
struct Kind {
  const char *name, *begins;
};
constexpr Kind kMade[] = {{kCheckpoint, "espalier checkpoint "},
                          {kPrevious, "espalier checkpoint "},
                          {kNext, "espalier checkpoint "},
                          {kModelFile, "espalier model "},
                          {kMetrics, "step,"},
                          {kDamagedMetrics, ""},  // whatever somebody made of the metrics
                          {kSeeds, "seed,"},
                          {"loss.svg", "<svg"},
                          {"gates.svg", "<svg"},
                          {"growth.gif", "GIF8"}};

std::string beginning(const Folder& folder, const char* name, std::size_t most) {
  InputFile file = folder.open(name);
  std::string text(std::min<std::uint64_t>(file.size(), most), 0);
  file.read(std::as_writable_bytes(std::span(text)));
  return text;
}

bool is_tensors(const char* name) { return std::string_view(name).ends_with(".safetensors"); }

// An empty file is nobody's loss.
bool is_own(const Folder& folder, const Kind& kind) {
  if (!folder.is_file(kind.name)) return false;
  const std::string text = beginning(folder, kind.name, is_tensors(kind.name) ? 1 << 20 : 64);
  if (text.empty()) return true;
  return is_tensors(kind.name) ? text.find(fmt::format("\"format\":\"{}", kind.begins)) != std::string::npos
                               : text.starts_with(kind.begins);
}

bool has_run_config(const Folder& folder) {
  if (!folder.is_file(kConfig)) return false;
  try {
    return is_run_config(beginning(folder, kConfig, kMaxConfig));
  } catch (const Error&) {
    return false;
  }
}

bool has_checkpoint(const Folder& folder) {
  if (folder.has(kCheckpoint) || folder.has(kPrevious) || folder.has(kNext)) return true;
  const std::vector<std::string> seeds = seeds_in(folder);
  return std::ranges::any_of(seeds, [&](const std::string& seed) { return has_checkpoint(folder.inner(seed)); });
}

bool is_seed_name(const std::string& name) {
  return name.starts_with("seed-") && name.size() > 5 &&
         std::all_of(name.begin() + 5, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// All that a run has made, and its seeds; not its config, its lock, nor what it replaces.
std::vector<std::string> made_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const std::string& name : folder.names())
    if (std::ranges::any_of(kMade, [&](const Kind& kind) { return name == kind.name; }) ||
        (is_seed_name(name) && folder.is_folder(name)))
      names.push_back(name);
  return names;
}

// Files of somebody else stay, and their folder with them.
void remove_run(const Folder& folder) {
  for (const std::string& name : made_in(folder)) {
    if (!folder.is_folder(name)) {
      folder.remove(name);
      continue;
    }
    const Folder seed = folder.inner(name);
    remove_run(seed);
    seed.remove(kLock);
    folder.remove_folder(name);
  }
  folder.remove(kConfig);  // last: as long as it is there, the folder is known as a run
}

void move_made(const Folder& from, const Folder& to) {
  for (const std::string& name : made_in(from))
    if (!to.has(name)) from.move(name, to, name);
}

}  // namespace

bool is_own_name(const std::string& name) {
  return name == kConfig || name == kLock ||
         std::ranges::any_of(kMade, [&](const Kind& kind) { return name == kind.name; });
}

bool is_run_config(std::string_view text) {
  try {
    const nlohmann::json config = parse_json(text, kConfig);
    return config.is_object() && config.contains(kRunMark.first) && config[kRunMark.first] == kRunMark.second;
  } catch (const Error&) {
    return false;
  }
}

bool holds_run(const Folder& folder) {
  return has_run_config(folder) || (folder.is_folder(kReplaced) && has_run_config(folder.inner(kReplaced)));
}

std::vector<std::string> seeds_in(const Folder& folder) {
  std::vector<std::string> seeds;
  for (const std::string& name : folder.names())
    if (is_seed_name(name) && folder.is_folder(name) && holds_run(folder.inner(name))) seeds.push_back(name);
  return seeds;
}

std::vector<std::string> foreign_files(const Folder& folder) {
  std::vector<std::string> foreign;
  for (const std::string& name : folder.names()) {
    const auto kind = std::ranges::find_if(kMade, [&](const Kind& k) { return name == k.name; });
    if ((is_seed_name(name) || name == kReplaced) && folder.is_folder(name)) {
      const Folder inner = folder.inner(name);
      for (const std::string& file : foreign_files(inner)) foreign.push_back(name + "/" + file);
    } else if (kind != std::end(kMade) ? !is_own(folder, *kind)
               : name == kConfig       ? !has_run_config(folder)
                                 : !(name == kLock && folder.is_file(name)) && TemporaryFile::maker_of(name) == 0) {
      foreign.push_back(name);
    }
  }
  return foreign;
}

void refuse_folder_of_inputs(const std::string& folder, const std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path home = fs::canonical(folder, none);
  if (none) return;  // a new one
  for (const std::string& file : files) {
    const fs::path place = fs::weakly_canonical(file, none);
    if (!none && std::ranges::mismatch(home, place).in1 == home.end())
      fail("run folder", fmt::format("{}, which holds {}, a file that this run reads", folder, file), "another folder",
           "the run's own files would take its place");
  }
}

void move_run_aside(const Folder& folder) {
  const Folder aside = folder.make(kReplaced);
  move_made(folder, aside);
  folder.move(kConfig, aside, kConfig);
}

void put_run_back(const Folder& folder) {
  const Folder aside = folder.inner(kReplaced);
  if (aside.has(kConfig)) {
    remove_run(folder);
    aside.move(kConfig, folder, kConfig);
  }
  move_made(aside, folder);
  folder.remove_folder(kReplaced);
}

void remove_replaced_run(const Folder& folder) {
  if (!folder.is_folder(kReplaced)) return;
  remove_run(folder.inner(kReplaced));
  folder.remove_folder(kReplaced);
}

std::string finish_replacing(const Folder& folder, bool undo) {
  if (!folder.is_folder(kReplaced)) return "";
  const bool here = folder.has(kConfig), there = folder.inner(kReplaced).has(kConfig);
  if (here && there && has_checkpoint(folder)) {
    remove_replaced_run(folder);
    return "";
  }
  if (here && there && !undo)
    return fmt::format("the run that this one replaces is in {}/{} until the first checkpoint", folder.path(),
                       kReplaced);
  const bool moves = there || !made_in(folder.inner(kReplaced)).empty();
  put_run_back(folder);
  if (!moves) return "";
  return fmt::format("{} was about to be replaced when its process ended; it was put back", folder.path());
}

}  // namespace espalier
