// espalier export MODEL --to FORMAT -o FILE: a trained circuit for other tools, simplified and proved first.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.hpp"
#include "circuit_files.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/export.hpp"
#include "espalier/verify.hpp"
#include "output.hpp"
#include "synth/draw.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string path, format, output, name;
  bool raw = false, with_abc = false, json = false;
};

struct File {
  std::string path, content;
};

// "dir/life.v" and "_tb" give "dir/life_tb.v".
std::string beside(const std::string& path, const std::string& suffix, const std::string& extension) {
  const std::filesystem::path p(path);
  return (p.parent_path() / (p.stem().string() + suffix + extension)).string();
}

std::vector<File> files_of(const Netlist& n, const Options& o) {
  if (o.format == "c") {
    const std::string header = beside(o.output, "", ".h");
    const CSource c = export_c(n, std::filesystem::path(header).filename().string());
    return {{o.output, c.source}, {header, c.header}};
  }
  if (o.format == "verilog")
    return {{o.output, export_verilog(n)}, {beside(o.output, "_tb", ".v"), export_verilog_testbench(n)}};
  if (o.format == "blif") return {{o.output, export_blif(n)}};
  if (o.format == "aiger") return {{o.output, export_aiger_ascii(n)}};
  if (o.format == "aiger-binary") return {{o.output, export_aiger_binary(n)}};
  if (o.format == "dot") return {{o.output, export_dot(n)}};
  if (o.format == "svg") return {{o.output, draw_svg(n)}};
  if (o.format == "json") return {{o.output, export_json(n)}};
  return {{o.output, export_javascript(n)}};
}

// Simplified, unless asked otherwise, and then proved equal: an export that is not is never written.
Netlist prepared(const Netlist& raw, const Options& o, std::string& proof) {
  if (o.raw) {
    proof = "as trained";
    return raw;
  }
  CircuitWork work;
  work.with_abc = o.with_abc;
  Netlist small = work.run(raw);
  const VerifyReport report = verify(raw, small);
  proof = describe(report, raw);
  if (report.verdict != VerifyReport::Verdict::kEqual)
    fail("export", "a simplified circuit that is " + proof, "an equal one", "export with --raw and report this");
  return small;
}

void run(const Options& o) {
  if ((o.format == "c" || o.format == "verilog") && std::filesystem::path(o.output).extension() == ".h")
    fail("export", o.output, "the name of the source file", "the header is written beside it");
  check_output("-o", o.output, {o.path});
  const Netlist raw = load_circuit(o.path);
  std::string proof;
  Netlist n = prepared(raw, o, proof);
  if (!o.name.empty()) n.name = o.name;
  Json written = Json::array();
  for (const File& file : files_of(n, o)) {
    write_atomically(file.path, std::string_view(file.content));
    written.push_back(file.path);
    if (!o.json) fmt::print("{}  {} bytes\n", file.path, file.content.size());
  }
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
      {"c", "verilog", "blif", "aiger", "aiger-binary", "dot", "svg", "json", "js"});
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
