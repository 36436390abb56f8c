// espalier export MODEL --to FORMAT -o FILE: a trained circuit for other tools, simplified and proved first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arguments.hpp"
#include "base/files.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "runs/outputs.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string path, format, output, name, board;
  CellOptions cell;
  int steps = 0;
  bool raw = false, across_steps = false, json = false;
};

// The whole board with latches: output 0 says that the target is not there in time.
int write_board(const Options& o) {
  const bool binary = circuit_format(o.format) == CircuitFormat::kAigerBinary;
  if (!binary && circuit_format(o.format) != CircuitFormat::kAiger)
    throw UsageError("--board", fmt::format("got the format {}, expected aiger or aiger-binary", o.format));
  const auto model = load_lattice_model(o.path);
  const auto [height, width] = parse_board_size("--board", o.board);
  const auto [content, property] = export_board(*model, {height, width, o.steps, o.cell.from_start, binary});
  write_output(o.output, content);
  if (o.json)
    print_json({{"files", {o.output}}, {"format", o.format}, {"property", property}});
  else if (o.output == "-" || is_stream(o.output))
    note("{}\n", property);
  else
    print("{}  {} bytes\n{}\n", o.output, content.size(), property);
  return kDone;
}

// The format that a file's name says it is in; nothing for other names.
std::string format_of(const std::string& file) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".c", "c"},     {".v", "verilog"}, {".blif", "blif"}, {".aag", "aiger"}, {".aig", "aiger-binary"},
      {".dot", "dot"}, {".gv", "dot"},    {".svg", "svg"},   {".json", "json"}, {".js", "js"},
      {".mjs", "js"}};
  for (const auto& [ending, format] : kEndings)
    if (file.ends_with(ending)) return std::string(format);
  return "";
}

// Into a stream goes one text: the main file, and of C the header in the place of the line that includes it.
std::string one_text(const std::vector<ExportedFile>& files, CircuitFormat format) {
  const std::string& main = files.front().content;
  if (format != CircuitFormat::kC) return main;
  return files.back().content + main.substr(main.find('\n') + 1);
}

void refuse_without_effect(Options& o, const std::set<std::string>& given) {
  std::vector<std::string> simplifying;
  const Fields fields = fields_of(o.cell.simplify);
  for (const Field& field : fields.list()) simplifying.push_back(field.name());
  if (o.across_steps && o.raw) throw UsageError("--across-steps", "got --raw, too, expected one of them");
  if (!o.board.empty()) {
    const std::string why = "got --board, expected a cell: a board is written as it is proved";
    refuse_given(given, {"raw", "across-steps", "name"}, why);
    refuse_given(given, simplifying, why);
    return;
  }
  refuse_given(given, {"steps"}, "got no --board, expected both");
  if (!o.across_steps) refuse_given(given, {"from-start"}, "got no --board or --across-steps, expected one of them");
  if (o.raw) refuse_given(given, simplifying, "got --raw, which keeps every gate, expected one of them");
}

int run(const Options& o) {
  const bool alone = o.output == "-" || is_stream(o.output);
  check_output("-o", o.output, {o.path});
  if (!o.board.empty()) return write_board(o);
  const LoadedCircuit loaded = load_circuit(o.path);
  if (o.across_steps && !loaded.has_steps()) throw UsageError("--across-steps", "got a netlist, expected a model");
  auto [circuit, options] = prove_circuit(loaded, o.cell);
  options.format = circuit_format(o.format);
  if (!alone) options.file = o.output;
  options.name = o.name;
  const std::vector<ExportedFile> files = export_circuit(circuit, options);
  Json written = Json::array();
  std::string summary;
  if (alone) {
    write_output(o.output, one_text(files, options.format));
  } else {
    for (const ExportedFile& file : files) {  // before the first is written
      check_output("-o", file.path, {o.path});
      if (file.path != o.output) check_unnamed_output("-o", file.path);
    }
    for (const ExportedFile& file : files) {
      write_atomically(file.path, std::string_view(file.content));
      written.push_back(file.path);
      summary += fmt::format("{}  {} bytes\n", file.path, file.content.size());
    }
  }
  const NetlistCounts& counts = circuit.counts();
  summary += fmt::format("{} gates, depth {}; {}\n", counts.gates(), counts.depth, circuit.proof());
  if (o.json)
    print_json(
        {{"files", written}, {"format", o.format}, {"proof", circuit.proof()}, {"circuit", counts_json(counts)}});
  else if (alone)
    note("{}", summary);
  else
    print("{}", summary);
  return abc_exit_code(circuit.report().abc);
}

}  // namespace

Command export_command() {
  const auto f = std::make_shared<Options>();
  Command command{"export", "write a trained circuit as C, Verilog, BLIF, AIGER, DOT, SVG, JSON or JavaScript"};
  command.arguments = {{"model", &f->path, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)"}};
  command.options.add(
      "to", {[f = f.get()] { return f->format; }, [f = f.get()](const std::string& text) { f->format = text; }},
      "the format (default: as the ending of the file says); c writes a header beside the source, verilog a "
      "testbench (not with -o -)",
      {kCircuitFormatNames.begin(), kCircuitFormatNames.end()});
  command.options.add("output", f->output, "where to write; - is standard output").alias("o").metavar("FILE");
  command.options.add("name", f->name, "name of the module and functions (default: the task, or what the model is of)");
  command.options.add("raw", f->raw, "keep every gate: as trained, found or built, or as in the file");
  command.options.append(fields_of(f->cell.simplify));
  command.options.add("across-steps", f->across_steps, "keep only the channels that a visible one ever depends on");
  command.options.add("board", f->board, "aiger: a whole board with latches, its target as the property")
      .metavar("N|HxW");
  command.options.add("steps", f->steps, "--board: the step from which the target must be shown (default: as trained)",
                      1, 1e6);
  command.options.add("from-start", f->cell.from_start,
                      "--board, --across-steps: from the task's start alone, not from every start");
  add_json(command.options, f->json);
  command.footer = "Example: espalier export runs/life-1 --to verilog -o life.v";
  return std::move(command).with(f, [given = command.given](Options& f) {
    if (f.output.empty()) throw UsageError("-o", "got no file, expected where to write");
    const bool by_ending = f.format.empty();
    if (by_ending) {
      f.format = format_of(f.output);
      if (f.format.empty())
        throw UsageError("--to", fmt::format("got no format, and {} says none by its ending, expected one of {}",
                                             f.output, fmt::join(kCircuitFormatNames, ", ")));
    }
    if (f.output == "-" && f.json) throw UsageError("--json", "got -o - too, expected one thing on standard output");
    refuse_without_effect(f, *given);
    f.cell.form = f.raw ? CellForm::kAsTrained : f.across_steps ? CellForm::kAcrossSteps : CellForm::kSimplified;
    const int exit_code = run(f);
    if (by_ending) note("espalier: {} is written as {}, by its ending\n", f.output, f.format);
    return exit_code;
  });
}

}  // namespace espalier::app
