// espalier circuit MODEL: how large a trained circuit is, and what each pass of simplification leaves of it.
#include <fmt/format.h>

#include "base/clock.hpp"
#include "circuit_files.hpp"
#include "commands.hpp"
#include "espalier/verify.hpp"

namespace espalier::app {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string path;
  bool json = false, with_abc = false;
};

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
  fmt::print("{}", title);
  for (std::size_t i = 0; i < std::min(items.size(), kMaxShown); ++i) fmt::print(" {}", items[i]);
  if (items.size() > kMaxShown) fmt::print(" and {} more", items.size() - kMaxShown);
  fmt::print("{}\n", items.empty() ? " none" : "");
}

void print_text(const Options& options, const Netlist& raw, const Netlist& small, const CircuitWork& work,
                const VerifyReport& proof, double seconds) {
  const NetlistCounts before = count_netlist(raw), after = count_netlist(small);
  fmt::print("{}: {} gates as trained, {} active, {} simplified\n\n", options.path, before.raw, before.active,
             after.raw);
  fmt::print("{:<18} {:>8} {:>8} {:>6}\n", "pass", "gates", "active", "depth");
  for (const SimplifyStep& step : work.simplify.steps)
    fmt::print("{:<18} {:>8} {:>8} {:>6}\n", step.pass, step.gates, step.active, step.depth);
  std::vector<std::string> types, kinds;
  for (std::size_t g = 0; g < kGates; ++g)
    if (after.histogram[g]) types.push_back(fmt::format("{} {}", after.histogram[g], kGateNames[g]));
  for (const NetlistOutput& output : small.outputs)
    if (const std::string kind = output_kind(small, output); kind != "gate")
      kinds.push_back(fmt::format("{} ({})", output.name, kind));
  fmt::print("\n");
  print_list("gates:", types);
  print_list(fmt::format("inputs used, {} of {}:", after.live_inputs, after.inputs).c_str(), used_inputs(small));
  print_list(fmt::format("outputs without logic, {} of {}:", kinds.size(), after.outputs).c_str(), kinds);
  const SweepReport& s = work.simplify.sweep;
  fmt::print("sweeping: {} merged ({} proved by table, {} by SAT), {} told apart, {} undecided\n", s.merged, s.by_table,
             s.by_sat, s.refuted, s.undecided);
  if (work.with_abc) fmt::print("abc: {} runs, {} kept, {} failed\n", work.abc.runs, work.abc.kept, work.abc.failed);
  fmt::print("simplified against trained: {}\n{:.2f} s\n", describe(proof, raw), seconds);
}

void print_json(const Options& options, const Netlist& raw, const Netlist& small, const CircuitWork& work,
                const VerifyReport& proof, double seconds) {
  Json passes = Json::array(), outputs = Json::array();
  for (const SimplifyStep& step : work.simplify.steps)
    passes.push_back({{"pass", step.pass}, {"gates", step.gates}, {"active", step.active}, {"depth", step.depth}});
  for (const NetlistOutput& output : small.outputs)
    outputs.push_back({{"name", output.name}, {"from", output_kind(small, output)}});
  const SweepReport& s = work.simplify.sweep;
  Json j = {{"file", options.path},
            {"raw", counts_json(raw)},
            {"simplified", counts_json(small)},
            {"passes", passes},
            {"used_inputs", used_inputs(small)},
            {"outputs", outputs},
            {"sweep",
             {{"merged", s.merged},
              {"by_table", s.by_table},
              {"by_sat", s.by_sat},
              {"refuted", s.refuted},
              {"undecided", s.undecided}}},
            {"equal", proof.verdict == VerifyReport::Verdict::kEqual},
            {"proof", describe(proof, raw)},
            {"seconds", seconds}};
  if (work.with_abc) j["abc"] = {{"runs", work.abc.runs}, {"kept", work.abc.kept}, {"failed", work.abc.failed}};
  fmt::print("{}\n", j.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace

void add_circuit_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("circuit", "simplify a trained circuit and count its gates");
  auto options = std::make_shared<Options>();
  command->add_option("model", options->path, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)")
      ->required()
      ->type_name("FILE");
  command->add_flag("--with-abc", options->with_abc, "let Berkeley ABC rewrite it too");
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer("Example: espalier circuit runs/life-1");
  command->callback([options, &exit_code] {
    const Netlist raw = load_circuit(options->path);
    CircuitWork work;
    work.with_abc = options->with_abc;
    const double start = seconds_now();
    const Netlist small = work.run(raw);
    const double seconds = seconds_now() - start;
    VerifyOptions limits;
    limits.seconds = 60;
    const VerifyReport proof = verify(raw, small, limits);
    (options->json ? print_json : print_text)(*options, raw, small, work, proof, seconds);
    exit_code = proof.verdict == VerifyReport::Verdict::kDifferent ? kFailed : kDone;
  });
}

}  // namespace espalier::app
