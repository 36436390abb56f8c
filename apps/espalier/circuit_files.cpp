#include "circuit_files.hpp"

#include <filesystem>

#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "model_argument.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

// Eight bytes of length, then a JSON object: no netlist begins like that.
bool looks_like_safetensors(std::string_view bytes) { return bytes.size() > 8 && bytes[7] == 0 && bytes[8] == '{'; }

}  // namespace

LoadedCircuit load_circuit(const std::string& path) {
  const std::string file = std::filesystem::is_directory(path) ? path + "/model.safetensors" : path;
  const std::string bytes = read_text(file);
  if (!looks_like_safetensors(bytes)) return {import_circuit(bytes, file)};
  LoadedModel loaded =
      load_model(SafetensorsFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), file), file);
  const std::shared_ptr<const Model> any = std::move(loaded.model);
  auto model = std::dynamic_pointer_cast<const LatticeModel>(any);
  if (!model) fail("circuit", file + ", a " + any->kind(), "a logic automaton or a netlist");
  Netlist cell = model->raw_cell();
  cell.name = model->goal().kind();
  return {std::move(cell), std::move(model)};
}

nlohmann::json counts_json(const Netlist& netlist) {
  const NetlistCounts counts = count_netlist(netlist);
  nlohmann::json histogram = nlohmann::json::object();
  for (std::size_t g = 0; g < kGates; ++g)
    if (counts.histogram[g]) histogram[std::string(kGateNames[g])] = counts.histogram[g];
  return {{"inputs", counts.inputs},       {"used_inputs", counts.live_inputs},
          {"outputs", counts.outputs},     {"gates", counts.gates()},
          {"constants", counts.constants}, {"active", counts.active},
          {"depth", counts.depth},         {"by_type", histogram}};
}

int abc_exit_code(const AbcReport& report) {
  if (report.failed == 0) return kDone;
  note("espalier: {} of {} runs of {} failed; the circuit is proved all the same\n", report.failed, report.runs,
       report.program);
  return kFailed;
}

}  // namespace espalier::app
