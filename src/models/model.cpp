#include "espalier/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/files.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/message_passing.hpp"

namespace espalier {
namespace {

struct ModelKind {
  std::string_view kind;
  int last_format;
  std::unique_ptr<Model> (*load)(const SafetensorsFile& file, const std::string& name);
};
template <class Kind>
constexpr ModelKind kind_of{Kind::kKind, Kind::kLastFormat,
                            [](const SafetensorsFile& file, const std::string& name) -> std::unique_ptr<Model> {
                              return Kind::load(file, name);
                            }};
// Every kind there is.
constexpr std::array kKinds{kind_of<LatticeModel>, kind_of<TableModel>, kind_of<RewriteModel>};

constexpr int kFirstFormat = 2;
std::string format_name(int format) { return fmt::format("espalier model {}", format); }

// What the keys of a model itself begin with; all others are notes.
bool is_note(const std::string& key) {
  return key == "config" || key == "step" || key == "score" || key == "loss" || key == "solved" ||
         key == "provenance" || key.starts_with("verdict.") || key.starts_with("refined");
}

}  // namespace

void add_verdict(ModelNotes& notes, const Verdict& verdict) {
  if (!verdict.judged()) return;
  notes["solved"] = verdict.solved ? "true" : "false";
  notes["verdict.score"] = fmt::format("{}", verdict.score);
  notes["verdict.data"] = verdict.data;
  notes["verdict.text"] = verdict.text;
  if (!verdict.not_asked.empty()) notes["verdict.not-asked"] = verdict.not_asked;
}

Provenance provenance_of(const ModelNotes& notes) {
  const auto told = notes.find("provenance");
  return told == notes.end() ? Provenance() : parse_provenance(told->second);
}

SafetensorsFile model_file(const Model& model, const ModelNotes& notes) {
  SafetensorsFile file;
  const Parameters& p = model.parameters();
  for (std::size_t i = 0; i < p.tensors().size(); ++i) file.add(p.tensors()[i].name, p.tensors()[i].shape, p.values(i));
  for (const auto& [key, value] : notes) file.metadata[key] = value;
  file.metadata["format"] = format_name(model.format());
  file.metadata["kind"] = model.kind();
  model.describe(file);
  file.seal();
  return file;
}

void save_model(const std::string& path, const Model& model, const ModelNotes& notes) {
  write_safetensors(path, model_file(model, notes));
}

LoadedModel load_model(const std::string& given) {
  const std::string path = file_in(given, "model.safetensors");
  for (const char* circuit : {".blif", ".aag", ".aig", ".v", ".json"})
    if (path.ends_with(circuit))
      fail("load model", fmt::format("{}, a circuit by its name", path), "a trained model or the folder of its run");
  return load_model(read_safetensors(path), path);
}

LoadedCircuit load_circuit(const std::string& path) {
  const std::string file = file_in(path, "model.safetensors"), bytes = read_text(file);
  // Eight bytes of length, then a JSON object: no netlist begins like that.
  if (bytes.size() < 9 || bytes[7] != 0 || bytes[8] != '{') return {import_circuit(bytes, file)};
  LoadedModel loaded =
      load_model(SafetensorsFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), file), file);
  const std::shared_ptr<const Model> any = std::move(loaded.model);
  auto model = std::dynamic_pointer_cast<const CircuitModel>(any);
  if (!model) fail("circuit", file + ", a " + any->kind(), "a logic automaton or a netlist");
  return {{}, std::move(model), std::move(loaded.notes)};
}

LoadedModel load_model(const SafetensorsFile& file, const std::string& name) {
  const auto named = file.metadata.find("kind"), format = file.metadata.find("format");
  const auto kind = std::ranges::find(kKinds, named == file.metadata.end() ? "" : named->second, &ModelKind::kind);
  const int last =
      kind != kKinds.end() ? kind->last_format : std::ranges::max(kKinds, {}, &ModelKind::last_format).last_format;
  std::vector<std::string> known;
  for (int f = kFirstFormat; f <= last; ++f) known.push_back(format_name(f));
  if (format == file.metadata.end() || std::ranges::find(known, format->second) == known.end())
    fail("load model",
         format == file.metadata.end() ? fmt::format("{}, which names no format", name)
                                       : fmt::format("{} of format \"{}\"", name, format->second),
         fmt::format("one of \"{}\"", fmt::join(known, "\", \"")), "is it a model, and of a version this one knows?");
  if (kind == kKinds.end()) {
    std::vector<std::string_view> kinds;
    for (const ModelKind& k : kKinds) kinds.push_back(k.kind);
    const std::string_view other = kinds.back();
    kinds.pop_back();
    fail("load model", fmt::format("{} of kind \"{}\"", name, named == file.metadata.end() ? "" : named->second),
         fmt::format("{} or {}", fmt::join(kinds, ", "), other));
  }
  LoadedModel loaded{kind->load(file, name), {}};
  for (const auto& [key, value] : file.metadata)
    if (is_note(key)) loaded.notes[key] = value;
  return loaded;
}

}  // namespace espalier
