// espalier export MODEL --to FORMAT -o FILE: a trained circuit for other tools, simplified and proved first.
#include <fmt/format.h>

#include "base/files.hpp"
#include "circuit_files.hpp"
#include "commands.hpp"
#include "espalier/synth.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string path, format, output, name;
  bool raw = false, with_abc = false, json = false;
};

void run(const Options& o) {
  check_output("-o", o.output, {o.path});
  const Netlist raw = load_circuit(o.path);
  SimplifyOptions simplify;
  simplify.with_abc = o.with_abc;
  const ProvedCircuit circuit = o.raw ? ProvedCircuit::as_given(raw) : prove_and_simplify(raw, simplify);
  const std::string proof = o.raw ? "as trained" : circuit.proof();
  ExportOptions options;
  options.format = circuit_format(o.format);
  options.file = o.output;
  options.name = o.name;
  Json written = Json::array();
  for (const ExportedFile& file : export_circuit(circuit, options)) {
    write_atomically(file.path, std::string_view(file.content));
    written.push_back(file.path);
    if (!o.json) fmt::print("{}  {} bytes\n", file.path, file.content.size());
  }
  const Netlist& n = circuit.netlist();
  if (o.json)
    print_json({{"files", written}, {"format", o.format}, {"proof", proof}, {"circuit", counts_json(n)}});
  else
    fmt::print("{} gates, depth {}; {}\n", n.gates.size(), count_netlist(n).depth, proof);
}

}  // namespace

Command export_command() {
  const auto f = std::make_shared<Options>();
  Command command{"export", "write a trained circuit as C, Verilog, BLIF, AIGER, DOT, SVG, JSON or JavaScript"};
  command.arguments = {{"model", &f->path, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)"}};
  command.options.add(
      "to", {[f = f.get()] { return f->format; }, [f = f.get()](const std::string& text) { f->format = text; }},
      "the format; c writes a header beside the source, verilog a testbench",
      {kCircuitFormatNames.begin(), kCircuitFormatNames.end()});
  command.options.add("output", f->output, "where to write").alias("o").metavar("FILE");
  command.options.add("name", f->name, "name of module and functions (default: what was learned)");
  command.options.add("raw", f->raw, "every gate as trained");
  command.options.add("with-abc", f->with_abc, "let Berkeley ABC rewrite it too");
  add_json(command.options, f->json);
  command.footer = "Example: espalier export runs/life-1 --to verilog -o life.v";
  command.keeps = f;
  command.run = [f] {
    if (f->format.empty()) throw UsageError("--to", "got no format, expected one");
    if (f->output.empty()) throw UsageError("-o", "got no file, expected where to write");
    run(*f);
    return static_cast<int>(kDone);
  };
  return command;
}

}  // namespace espalier::app
