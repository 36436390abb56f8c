// espalier circuit MODEL: how large a trained circuit is, and what each pass of simplification leaves of it.
#include <fmt/format.h>

#include <optional>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "espalier/circuit_model.hpp"
#include "output.hpp"
#include "synth/lut_map.hpp"
#include "train/provenance.hpp"

namespace espalier {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SimplifyStep, pass, gates, active, depth)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepReport, merged, by_table, by_sat, refuted, undecided)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AbcReport, runs, kept, failed)

}  // namespace espalier

namespace espalier::app {
namespace {

struct Options {
  std::string path;
  SimplifyOptions simplify;
  int lut = 0, threads = 0;
  bool json = false, from_start = false;
};

struct Counted {
  std::string as;
  const Netlist& raw;
  Netlist small = {};
  SimplifyReport report = {};
  VerifyReport proof = {};
  // Of an automaton's cell: what is left from every start, or from the task's, and what is from the second step on.
  std::optional<ChannelReport> across = {}, later = {};
  double seconds = 0;
};

std::string describe(const ChannelReport& report) {
  std::string text;
  const auto part = [&](const std::vector<int>& channels, const char* what) {
    if (channels.empty()) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", channels.size(), what);
  };
  part(report.unneeded, "that no visible channel ever depends on");
  part(report.constant, "always constant");
  part(report.equal, "always equal to another");
  part(report.opposite, "always the opposite of another");
  return text.empty() ? "none can go" : text;
}

void print_luts(const Netlist& n, int inputs) {
  const LutMapping mapping = map_luts(n, inputs);
  const NetlistCounts counts = count_netlist(n);
  print("{} gates of depth {}, {} ANDs, {} LUT{} of depth {}\n", counts.gates(), counts.depth, count_ands(n),
        mapping.luts.size(), inputs, mapping.depth);
}

Json luts_json(const Netlist& n, int inputs) {
  const LutMapping mapping = map_luts(n, inputs);
  return {{"inputs", inputs}, {"luts", mapping.luts.size()}, {"depth", mapping.depth}, {"ands", count_ands(n)}};
}

// Where an output comes from, in a word.
std::string output_kind(const Netlist& n, const NetlistOutput& output) {
  if (n.is_input(output.net)) return "input " + n.inputs[output.net];
  const NetlistGate& gate = n.gate_of_net(output.net);
  return is_constant(gate.gate) ? (gate.gate == Gate::kTrue ? "always 1" : "always 0") : "gate";
}

std::vector<std::string> used_inputs(const Netlist& n) {
  const std::vector<bool> live = live_nets(n);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (live[i]) names.push_back(n.inputs[i]);
  return names;
}

void print_list(const char* title, const std::vector<std::string>& items) {
  constexpr std::size_t kMaxShown = 40;
  print("{}", title);
  for (std::size_t i = 0; i < std::min(items.size(), kMaxShown); ++i) print(" {}", one_line(items[i]));
  if (items.size() > kMaxShown) print(" and {} more", items.size() - kMaxShown);
  print("{}\n", items.empty() ? " none" : "");
}

void print_text(const Options& options, const Counted& circuit) {
  const auto& [as, raw, small, report, proof, across, later, seconds] = circuit;
  const NetlistCounts before = count_netlist(raw), after = count_netlist(small);
  print("{}: {} {}, {} active, {} simplified\n\n", options.path, counted(before.gates(), "gate"), as, before.active,
        after.gates());
  print("{:<18} {:>8} {:>8} {:>6}\n", "pass", "gates", "active", "depth");
  for (const SimplifyStep& step : report.steps)
    print("{:<18} {:>8} {:>8} {:>6}\n", step.pass, step.gates, step.active, step.depth);
  std::vector<std::string> types, kinds;
  for (std::size_t g = 0; g < kGates; ++g)
    if (after.histogram[g] && !is_constant(static_cast<Gate>(g)))
      types.push_back(fmt::format("{} {}", after.histogram[g], kGateNames[g]));
  for (const NetlistOutput& output : small.outputs)
    if (const std::string kind = output_kind(small, output); kind != "gate")
      kinds.push_back(fmt::format("{} ({})", output.name, kind));
  print("\n");
  print_list("gates:", types);
  print_list(fmt::format("inputs used, {} of {}:", after.live_inputs, after.inputs).c_str(), used_inputs(small));
  print_list(fmt::format("outputs without logic, {} of {}:", kinds.size(), after.outputs).c_str(), kinds);
  const SweepReport& s = report.sweep;
  print("sweeping: {} merged ({} proved by table, {} by SAT), {} told apart, {} undecided\n", s.merged, s.by_table,
        s.by_sat, s.refuted, s.undecided);
  if (options.simplify.with_abc)
    print("abc: {} runs, {} kept, {} failed\n", report.abc.runs, report.abc.kept, report.abc.failed);
  print("simplified against the circuit {}: {}\n", as, describe(proof, raw));
  const auto print_channels = [&](const char* when, const ChannelReport& r) {
    print("{}: {} -> {}, {} -> {}; {}; {}\n", when, counted(small.outputs.size(), "channel"), r.kept.size(),
          counted(after.gates(), "gate"), count_netlist(r.cell).gates(), describe(r), r.proof);
  };
  if (across) print_channels("across steps", *across);
  if (later) print_channels("from the second step on", *later);
  if (options.lut) {
    print("simplified: ");
    print_luts(small, options.lut);
  }
  if (options.lut && across) {
    print("across steps: ");
    print_luts(across->cell, options.lut);
  }
  print("{:.2f} s\n", seconds);
}

void print_as_json(const Options& options, const Counted& counted) {
  const auto& [as, raw, small, report, proof, across, later, seconds] = counted;
  Json outputs = Json::array();
  for (const NetlistOutput& output : small.outputs)
    outputs.push_back({{"name", output.name}, {"from", output_kind(small, output)}});
  Json j = {{"file", options.path},
            {"as", as},
            {"raw", counts_json(count_netlist(raw))},
            {"simplified", counts_json(count_netlist(small))},
            {"passes", report.steps},
            {"used_inputs", used_inputs(small)},
            {"outputs", outputs},
            {"sweep", report.sweep},
            {"equal", proof.verdict == VerifyReport::Verdict::kEqual},
            {"proof", describe(proof, raw)},
            {"seconds", seconds}};
  const auto channels_json = [](const ChannelReport& r) {
    return Json{{"channels", r.kept.size()}, {"kept", r.kept},
                {"unneeded", r.unneeded},    {"constant", r.constant},
                {"equal", r.equal},          {"opposite", r.opposite},
                {"proof", r.proof},          {"circuit", counts_json(count_netlist(r.cell))}};
  };
  if (across) j["across_steps"] = channels_json(*across);
  if (later) j["from_second_step"] = channels_json(*later);
  if (options.lut) j["lut"] = luts_json(small, options.lut);
  if (options.lut && across) j["across_steps"]["lut"] = luts_json(across->cell, options.lut);
  if (options.simplify.with_abc) j["abc"] = report.abc;
  print_json(j);
}

// What it is before it is simplified.
std::string words_for(const LoadedCircuit& loaded) {
  if (!loaded.model) return "as given";
  if (!loaded.model->is_refined()) return "as trained";
  return circuit_words_for(provenance_of(loaded.notes));
}

}  // namespace

Command circuit_command() {
  const auto f = std::make_shared<Options>();
  Command command{"circuit", "simplify a trained circuit and count its gates"};
  command.arguments = {{"model", &f->path, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)"}};
  command.options.append(fields_of(f->simplify));
  command.options.add("from-start", f->from_start,
                      "across steps, use what holds on every board reached from the task's start alone");
  command.options.add("lut", f->lut, "also count ANDs, and lookup tables of this many inputs; 0 = neither", 0, 6);
  add_threads(command.options, f->threads);
  add_json(command.options, f->json);
  command.footer =
      "Exit code 0: simplified and proved, 1: an error, 3: no proof within a minute plus 2 ms a gate.\n"
      "Example: espalier circuit runs/life-1 --lut 6";
  return std::move(command).with(f, [](Options& f) {
    const LoadedCircuit loaded = load_circuit(f.path);
    const Netlist raw = loaded.netlist();
    const ThreadPool pool(f.threads);
    f.simplify.pool = &pool;
    if (f.lut == 1) throw UsageError("--lut", "got 1, expected 2 to 6");
    if (f.from_start && !loaded.has_steps())
      throw UsageError("--from-start", "got a netlist, expected a model with a task");
    Counted counted{words_for(loaded), raw};
    const double start = seconds_now();
    counted.small = simplify(raw, f.simplify, &counted.report);
    counted.seconds = seconds_now() - start;
    VerifyOptions limits;
    limits.seconds = 60 + static_cast<double>(raw.gates.size()) / 500;
    counted.proof = verify_simplified(raw, counted.small, counted.report, limits);
    if (loaded.has_steps()) {
      counted.across = across_steps(*loaded.model, counted.small, f.from_start);
      if (!f.from_start) counted.later = after_first_step(*loaded.model, counted.small);
    }
    (f.json ? print_as_json : print_text)(f, counted);
    using Verdict = VerifyReport::Verdict;
    if (counted.proof.verdict == Verdict::kEqual) return abc_exit_code(counted.report.abc);
    return static_cast<int>(counted.proof.verdict == Verdict::kDifferent ? kRefuted : kUnsolved);
  });
}

}  // namespace espalier::app
