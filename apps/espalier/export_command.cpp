// espalier export MODEL --to FORMAT -o FILE: a trained circuit for other tools, simplified and proved first.
#include <fmt/format.h>

#include "base/files.hpp"
#include "board_argument.hpp"
#include "circuit_files.hpp"
#include "commands.hpp"
#include "espalier/synth.hpp"
#include "model_argument.hpp"
#include "models/lattice/model_proof.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string path, format, output, name, board;
  std::uint64_t search = 0;
  int steps = 0;
  bool raw = false, with_abc = false, across_steps = false, from_start = false, json = false;
  CircuitGoal goal = CircuitGoal::kGates;
};

// The whole board with latches: output 0 says that the target is not there in time.
int export_board(const Options& o) {
  const bool binary = circuit_format(o.format) == CircuitFormat::kAigerBinary;
  if (!binary && circuit_format(o.format) != CircuitFormat::kAiger)
    throw UsageError("--board", fmt::format("got the format {}, expected aiger or aiger-binary", o.format));
  const auto model = load_lattice_model(o.path);
  const auto [height, width] = parse_board_size("--board", o.board);
  const int steps = o.steps ? o.steps : model->rollout().steps;
  const Board target = model->goal().target(model->rollout(), height, width);
  const Board start = start_board(*model, height, width, 1);
  BoardProver prover(board_system(*model, 1));
  const std::string text = prover.export_aiger(target, steps, o.from_start ? &start : nullptr, binary);
  write_output(o.output, text);
  const std::string property = fmt::format(
      "output 0 is 1 when the {} x {} board does not show the target after {} steps "
      "or later, from {}",
      height, width, steps, o.from_start ? "the task's start" : "any start");
  if (o.json)
    print_json({{"files", {o.output}}, {"format", o.format}, {"property", property}});
  else if (o.output == "-" || is_stream(o.output))
    note("{}\n", property);
  else
    fmt::print("{}  {} bytes\n{}\n", o.output, text.size(), property);
  return kDone;
}

// Into a stream goes one text: the main file, and of C the header in the place of the line that includes it.
std::string one_text(const std::vector<ExportedFile>& files, CircuitFormat format) {
  const std::string& main = files.front().content;
  if (format != CircuitFormat::kC) return main;
  return files.back().content + main.substr(main.find('\n') + 1);
}

int run(const Options& o) {
  const bool alone = o.output == "-" || is_stream(o.output);
  check_output("-o", o.output, {o.path});
  if (!o.board.empty()) return export_board(o);
  const LoadedCircuit loaded = load_circuit(o.path);
  const Netlist& raw = loaded.netlist;
  SimplifyOptions simplify;
  simplify.with_abc = o.with_abc;
  simplify.goal = o.goal;
  simplify.search = o.search;
  if (o.across_steps && !loaded.model) throw UsageError("--across-steps", "got a netlist, expected a model");
  if (o.across_steps && o.raw) throw UsageError("--across-steps", "got --raw, too, expected one of them");
  ProvedCircuit circuit = o.raw ? ProvedCircuit::as_given(raw) : prove_and_simplify(raw, simplify);
  std::string proof = o.raw ? loaded.as() : circuit.proof();
  ExportOptions options;
  options.format = circuit_format(o.format);
  if (!alone) options.file = o.output;
  options.name = o.name;
  if (loaded.model) {
    const LatticeGoal::View view = loaded.model->goal().view(loaded.model->rollout());
    options.height = view.height;
    options.width = view.width;
    options.periodic = loaded.model->periodic();
    options.start = start_board(*loaded.model, view.height, view.width, 1);
    options.steps = static_cast<int>(view.steps);
    if (o.across_steps) {
      const ChannelReport across = across_steps(*loaded.model, circuit.netlist(), o.from_start);
      proof += fmt::format("; {} of {} channels, {}", across.kept.size(), loaded.model->channels(), across.proof);
      circuit = ProvedCircuit::as_given(across.cell);
      options.start = pick_channels(*options.start, across.kept);
    }
  }
  const std::vector<ExportedFile> files = export_circuit(circuit, options);
  Json written = Json::array();
  std::string summary;
  if (alone) {
    write_output(o.output, one_text(files, options.format));
  } else {
    for (const ExportedFile& file : files) check_output("-o", file.path, {o.path});  // before the first is written
    for (const ExportedFile& file : files) {
      write_atomically(file.path, std::string_view(file.content));
      written.push_back(file.path);
      summary += fmt::format("{}  {} bytes\n", file.path, file.content.size());
    }
  }
  const Netlist& n = circuit.netlist();
  summary += fmt::format("{} gates, depth {}; {}\n", count_netlist(n).gates(), count_netlist(n).depth, proof);
  if (o.json)
    print_json({{"files", written}, {"format", o.format}, {"proof", proof}, {"circuit", counts_json(n)}});
  else if (alone)
    note("{}", summary);
  else
    fmt::print("{}", summary);
  return abc_exit_code(circuit.report().abc);
}

}  // namespace

Command export_command() {
  const auto f = std::make_shared<Options>();
  Command command{"export", "write a trained circuit as C, Verilog, BLIF, AIGER, DOT, SVG, JSON or JavaScript"};
  command.arguments = {{"model", &f->path, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)"}};
  command.options.add(
      "to", {[f = f.get()] { return f->format; }, [f = f.get()](const std::string& text) { f->format = text; }},
      "the format; c writes a header beside the source, verilog a testbench (not with -o -)",
      {kCircuitFormatNames.begin(), kCircuitFormatNames.end()});
  command.options.add("output", f->output, "where to write; - is standard output").alias("o").metavar("FILE");
  command.options.add("name", f->name, "name of module and functions (default: what was learned)");
  command.options.add("raw", f->raw, "every gate as trained, or as the file has it");
  command.options.add("for", f->goal, "what is to be small; an XOR is one gate or three ands",
                      {kCircuitGoalNames.begin(), kCircuitGoalNames.end()});
  command.options.add("search", f->search, "mutants to try for fewer gates; the result is proved", 0, 1e12);
  command.options.add("with-abc", f->with_abc, "let Berkeley ABC rewrite it too");
  command.options.add("across-steps", f->across_steps, "only the channels that what is shown ever depends on");
  command.options.add("board", f->board, "aiger: a whole board with latches, its target as the property")
      .metavar("N|HxW");
  command.options.add("steps", f->steps, "--board: after how many steps (default: as trained)", 0, 1e6);
  command.options.add("from-start", f->from_start,
                      "--board, --across-steps: from the task's start alone, not from every start");
  add_json(command.options, f->json);
  command.footer = "Example: espalier export runs/life-1 --to verilog -o life.v";
  command.keeps = f;
  command.run = [f] {
    if (f->format.empty()) throw UsageError("--to", "got no format, expected one");
    if (f->output.empty()) throw UsageError("-o", "got no file, expected where to write");
    if (f->output == "-" && f->json) throw UsageError("--json", "got -o - too, expected one thing on standard output");
    return run(*f);
  };
  return command;
}

}  // namespace espalier::app
