// Models as circuits with proofs, by what they say of their netlist and their board.
#include "espalier/circuit_model.hpp"

#include "espalier/error.hpp"
#include "synth/channels.hpp"

namespace espalier {
namespace {

ChannelOptions channel_options(const CircuitModel& model, bool from_start) {
  const std::optional<CellBoard> board = model.board();
  if (!board) fail("circuit", "a " + model.kind() + " without steps", "the cell of a board, to look across steps");
  ChannelOptions options;
  options.visible = board->visible;
  options.periodic = board->periodic;
  options.steps = 4 * static_cast<std::uint64_t>(board->trained_steps);
  if (from_start && board->one_start) options.start = board->start();
  options.from_any = from_start && !options.start;
  return options;
}

ProvedCircuit proved(const Netlist& raw, const CircuitModel* model, const CellOptions& options) {
  if (options.form == CellForm::kAsTrained) return ProvedCircuit::unproved(raw);
  if (options.form == CellForm::kAcrossSteps && !model) fail("circuit", "a netlist", "a model, to look across steps");
  ProvedCircuit circuit = prove_and_simplify(raw, options.simplify);
  if (options.form == CellForm::kSimplified) return circuit;
  return prove_across_steps(circuit, channel_options(*model, options.from_start));
}

}  // namespace

ProvedCircuit prove_cell(const CircuitModel& model, const CellOptions& options) {
  return proved(model.raw_netlist(), &model, options);
}

ExportableCircuit prove_circuit(const LoadedCircuit& loaded, const CellOptions& options) {
  ExportableCircuit result{proved(loaded.netlist(), loaded.model.get(), options)};
  if (loaded.model) result.options = export_options(*loaded.model, result.circuit);
  return result;
}

ChannelReport across_steps(const CircuitModel& model, const Netlist& simplified, bool from_start) {
  return reduce_channels(simplified, channel_options(model, from_start));
}

ChannelReport after_first_step(const CircuitModel& model, const Netlist& simplified) {
  ChannelOptions options = channel_options(model, false);
  options.from_any = true;
  return reduce_channels(simplified, options);
}

ExportOptions export_options(const CircuitModel& model, const ProvedCircuit& circuit) {
  const std::optional<CellBoard> board = model.board();
  ExportOptions options;
  if (!board) return options;
  options.height = board->height;
  options.width = board->width;
  options.steps = board->steps;
  options.periodic = board->periodic;
  options.start = board->start();
  if (!circuit.kept_channels().empty()) options.start = pick_channels(*options.start, circuit.kept_channels());
  return options;
}

}  // namespace espalier
