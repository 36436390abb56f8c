#include "espalier/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "espalier/error.hpp"
#include "models/dag/table_model.hpp"
#include "models/lattice/lattice_model.hpp"
#include "models/message/rewrite_model.hpp"

namespace espalier {
namespace {

constexpr const char *kFormat = "espalier model 2", *kFormat1 = "espalier model 1";
constexpr const char* kRefinedFormat =
    "espalier model 3";  // refined automata, which older versions would take for others

// What the keys of a model itself begin with; all others are notes.
bool is_note(const std::string& key) {
  return key == "config" || key == "step" || key == "epoch" || key == "score" || key == "loss" || key == "solved" ||
         key.starts_with("refined");
}

// Files of format 1 name no kind but that of automata; what they hold beside the weights tells.
std::string kind_of(const SafetensorsFile& file) {
  if (const auto kind = file.metadata.find("kind"); kind != file.metadata.end()) return kind->second;
  if (file.metadata.contains("table")) return TableModel::kKind;
  if (file.metadata.contains("vocabulary")) return RewriteModel::kKind;
  return "";
}

}  // namespace

SafetensorsFile model_file(const Model& model, const ModelNotes& notes) {
  SafetensorsFile file;
  const Parameters& p = model.parameters();
  for (std::size_t i = 0; i < p.tensors().size(); ++i) file.add(p.tensors()[i].name, p.tensors()[i].shape, p.values(i));
  for (const auto& [key, value] : notes) file.metadata[key] = value;
  file.metadata["format"] = kFormat;
  file.metadata["kind"] = model.kind();
  model.describe(file);
  if (const auto* lattice = dynamic_cast<const LatticeModel*>(&model); lattice && lattice->is_refined())
    file.metadata["format"] = kRefinedFormat;
  file.seal();
  return file;
}

void save_model(const std::string& path, const Model& model, const ModelNotes& notes) {
  write_safetensors(path, model_file(model, notes));
}

LoadedModel load_model(const std::string& given) {
  const std::string path = std::filesystem::is_directory(given) ? given + "/model.safetensors" : given;
  for (const char* circuit : {".blif", ".aag", ".aig", ".v", ".json"})
    if (path.ends_with(circuit))
      fail("load model", fmt::format("{}, a circuit by its name", path), "a trained model or the folder of its run");
  return load_model(read_safetensors(path), path);
}

LoadedModel load_model(const SafetensorsFile& file, const std::string& name) {
  const auto format = file.metadata.find("format");
  if (format == file.metadata.end() ||
      (format->second != kFormat && format->second != kFormat1 && format->second != kRefinedFormat))
    fail("load model",
         format == file.metadata.end() ? fmt::format("{}, which names no format", name)
                                       : fmt::format("{} of format \"{}\"", name, format->second),
         fmt::format("\"{}\", \"{}\" or \"{}\"", kFormat1, kFormat, kRefinedFormat),
         "is it a model, and of a version this one knows?");
  LoadedModel loaded;
  for (const auto& [key, value] : file.metadata)
    if (is_note(key)) loaded.notes[key] = value;
  const std::string kind = kind_of(file);
  if (kind == LatticeModel::kKind)
    loaded.model = LatticeModel::load(file, name);
  else if (kind == TableModel::kKind)
    loaded.model = TableModel::load(file, name);
  else if (kind == RewriteModel::kKind)
    loaded.model = RewriteModel::load(file, name);
  else
    fail("load model", fmt::format("{} of kind \"{}\"", name, kind),
         fmt::format("{}, {} or {}", LatticeModel::kKind, TableModel::kKind, RewriteModel::kKind));
  return loaded;
}

}  // namespace espalier
