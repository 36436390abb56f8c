// Circuits from files of any kind, and proved circuits into files.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "espalier/error.hpp"
#include "synth/formats.hpp"
#include "synth/names.hpp"

namespace espalier {

Netlist import_circuit(std::string_view bytes, const std::string& file) {
  if (bytes.starts_with("aag ") || bytes.starts_with("aig ")) return import_aiger(bytes, file);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') return import_json(bytes, file);
  if (first != std::string_view::npos && (bytes[first] == '.' || bytes[first] == '#')) return import_blif(bytes, file);
  fail(file, "a file of unknown kind", "a netlist in JSON, BLIF or AIGER");
}

ProvedCircuit ProvedCircuit::unproved(const Netlist& netlist) {
  check_netlist(netlist, "circuit");
  return {netlist, "as given, nothing proved"};
}

ProvedCircuit prove_and_simplify(const Netlist& raw, const SimplifyOptions& options, const VerifyOptions& proof) {
  SimplifyReport report;
  Netlist small = simplify(raw, options, &report);
  const VerifyReport answer = verify_simplified(raw, small, report, proof);
  const std::string words = describe(answer, raw);
  if (answer.verdict == VerifyReport::Verdict::kUndecided)
    fail("proof", "a simplified circuit that is " + words, "a proof that it is equal",
         "allow more time, or take the circuit as given");
  if (answer.verdict == VerifyReport::Verdict::kDifferent)
    fail("proof", "a simplified circuit that is " + words, "an equal one",
         "take the circuit as given, and report this");
  ProvedCircuit circuit(std::move(small), words);
  report.stages.clear();
  circuit.report_ = std::move(report);
  return circuit;
}

ProvedCircuit prove_across_steps(const ProvedCircuit& cell, const ChannelOptions& options) {
  ChannelReport across = reduce_channels(cell.netlist(), options);
  ProvedCircuit circuit(std::move(across.cell),
                        fmt::format("{}; {} of {} channels, {}", cell.proof(), across.kept.size(),
                                    cell.netlist().outputs.size(), across.proof));
  circuit.report_ = cell.report();
  circuit.kept_ = std::move(across.kept);
  return circuit;
}

CircuitFormat circuit_format(std::string_view name) {
  const auto at = std::find(kCircuitFormatNames.begin(), kCircuitFormatNames.end(), name);
  if (at == kCircuitFormatNames.end())
    fail("export", fmt::format("the format \"{}\"", name),
         fmt::format("one of {}", fmt::join(kCircuitFormatNames, ", ")));
  return static_cast<CircuitFormat>(at - kCircuitFormatNames.begin());
}

namespace {

void check_options(const ExportOptions& o) {
  constexpr int kMaxSide = 1 << 20, kMaxTested = 1024;
  if (static_cast<std::size_t>(o.format) >= kCircuitFormatNames.size())
    fail("export", fmt::format("format {}", static_cast<int>(o.format)), "one of CircuitFormat");
  if (std::filesystem::path(o.file).stem().empty())
    fail("export", fmt::format("the file \"{}\"", o.file), "the name of a file");
  const auto check = [](const char* what, int got, int least, int most) {
    if (got < least || got > most)
      fail("export", fmt::format("{} of {}", what, got), fmt::format("{} to {}", least, most));
  };
  check("a board's height", o.height, 1, kMaxSide);
  check("a board's width", o.width, 1, kMaxSide);
  check("a run of the model's board", o.steps, 0, 1 << 20);
  check("a tested board's height", o.test_height, 1, kMaxTested);
  check("a tested board's width", o.test_width, 1, kMaxTested);
  check("a test's number of steps", o.test_steps, 0, kMaxTested);
  check("a test's number of patterns", o.test_vectors, 0, 1 << 20);
}

}  // namespace

std::vector<ExportedFile> export_circuit(const ProvedCircuit& circuit, const ExportOptions& options) {
  check_options(options);
  Netlist n = circuit.netlist();
  if (!options.name.empty()) n.name = options.name;
  const bool named = options.format == CircuitFormat::kC || options.format == CircuitFormat::kVerilog;
  if (named && !options.name.empty() && identifier(options.name) != options.name)
    fail("export", fmt::format("the name \"{}\"", options.name),
         "letters, digits and underscores, not a digit or underscore first, and no word of C or Verilog",
         fmt::format("for example {}", identifier(options.name)));
  if (const auto& start = options.start; start && (static_cast<int>(start->height()) != options.height ||
                                                   static_cast<int>(start->width()) != options.width ||
                                                   static_cast<std::size_t>(start->channels()) != n.outputs.size()))
    fail("export", fmt::format("a start of {} x {} x {}", start->height(), start->width(), start->channels()),
         fmt::format("{} x {} x {}, the board's", options.height, options.width, n.outputs.size()));
  const std::string& file = options.file;
  // "dir/life.v" and "_tb.v" give "dir/life_tb.v".
  const auto beside = [&](const char* end) {
    const std::filesystem::path path(file);
    return (path.parent_path() / (path.stem().string() + end)).string();
  };
  switch (options.format) {
    case CircuitFormat::kC: {
      const std::string header = beside(".h");
      if (header == file) fail("export", file, "the name of the source file", "the header is written beside it");
      const std::string included =
          options.header_name.empty() ? std::filesystem::path(header).filename().string() : options.header_name;
      if (visible(included, "\"\\") != included)
        fail("export", fmt::format("a header called \"{}\"", included), "a name that C can include",
             "without quotes, backslashes, line breaks and hidden characters");
      const CSource c = export_c(n, included, options);
      return {{file, c.source}, {header, c.header}};
    }
    case CircuitFormat::kVerilog:
      return {{file, export_verilog(n, options)}, {beside("_tb.v"), export_verilog_testbench(n, options)}};
    case CircuitFormat::kBlif: return {{file, export_blif(n)}};
    case CircuitFormat::kAiger: return {{file, export_aiger_ascii(n)}};
    case CircuitFormat::kAigerBinary: return {{file, export_aiger_binary(n)}};
    case CircuitFormat::kDot: return {{file, export_dot(n)}};
    case CircuitFormat::kSvg: return {{file, draw_svg(n)}};
    case CircuitFormat::kJson: return {{file, export_json(n)}};
    case CircuitFormat::kJavaScript: return {{file, export_javascript(n, options)}};
  }
  return {};
}

}  // namespace espalier
