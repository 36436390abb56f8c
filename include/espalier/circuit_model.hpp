// Models that harden to circuits of gates: the cell of a board, or plain logic with inputs and outputs. All are
// counted, simplified, proved and exported alike.
// Example:
//   const LoadedCircuit loaded = load_circuit("runs/board");  // or a netlist
//   const ExportableCircuit made = prove_circuit(loaded);
//   ExportOptions options = made.options;
//   options.file = "cell.v";
//   for (const ExportedFile& file : export_circuit(made.circuit, options)) std::printf("%s\n", file.path.c_str());
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "espalier/model.hpp"
#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"
#include "espalier/synth.hpp"

namespace espalier {

// The board that a circuit is the cell of, as it is best looked at.
struct CellBoard {
  int height = 0, width = 0, steps = 0;
  int trained_steps = 0;
  bool periodic = true;
  int visible = 1;         // the first channels: those that are shown and judged
  bool one_start = false;  // others do not count
  std::function<Board()> start;
};

class CircuitModel : public virtual Model {  // a kind may predict rows as well
 public:
  // Every gate as trained, or as search or construction made them.
  virtual Netlist raw_netlist() const = 0;
  // Whether search or construction made it: weights no longer compute it.
  virtual bool is_refined() const { return false; }
  // Nothing: a plain circuit, which has no steps. What it returns is used while the model is there.
  virtual std::optional<CellBoard> board() const { return std::nullopt; }
};

enum class CellForm : std::uint8_t {
  kAsTrained,   // every gate
  kSimplified,  // proved equal to it
  // The channels alone that those shown ever depend on: proved to show the same for ever, not to be equal.
  kAcrossSteps,
};
struct CellOptions {
  CellForm form = CellForm::kSimplified;
  bool from_start = false;  // kAcrossSteps: also by what holds from the task's start on (from noise: after a step)
  SimplifyOptions simplify = {};
};
// An Error when there is no proof: what is exported is proved, or says that it is as trained.
ProvedCircuit prove_cell(const CircuitModel& model, const CellOptions& options = {});
// What is left of a simplified cell across steps, by itself; an Error for a plain circuit.
ChannelReport across_steps(const CircuitModel& model, const Netlist& simplified, bool from_start);
// What is left from the second step on, from every start: of asynchronous models once every cell has updated.
ChannelReport after_first_step(const CircuitModel& model, const Netlist& simplified);
// The model's own board, boundary and start, in the channels that the circuit has.
ExportOptions export_options(const CircuitModel& model, const ProvedCircuit& circuit);

// A model, the folder of its run, or a netlist in JSON, BLIF or AIGER; load_circuit() in model.hpp tells them apart by
// what is in the file.
struct LoadedCircuit {
  Netlist given = {};                              // as the file has it
  std::shared_ptr<const CircuitModel> model = {};  // null: a netlist from a file
  ModelNotes notes = {};
  Netlist netlist() const { return model ? model->raw_netlist() : given; }
  bool has_steps() const { return model && model->board(); }
};
// A circuit that may be exported, and the board that it is exported with.
struct ExportableCircuit {
  ProvedCircuit circuit;
  ExportOptions options = {};
};
// prove_cell() and export_options() of a model; a netlist has neither steps to look across nor a board.
ExportableCircuit prove_circuit(const LoadedCircuit& loaded, const CellOptions& options = {});

}  // namespace espalier
