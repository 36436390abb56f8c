// espalier verify A B: proves that two circuits compute the same function, or shows where they do not.
#include <fmt/format.h>

#include "circuit_files.hpp"
#include "commands.hpp"
#include "espalier/verify.hpp"

namespace espalier::app {
namespace {

using Json = nlohmann::json;
using Verdict = VerifyReport::Verdict;

struct Options {
  std::string first, second;
  double seconds = 0;
  bool json = false;
};

const char* word(Verdict verdict) {
  return verdict == Verdict::kEqual ? "equal" : verdict == Verdict::kDifferent ? "different" : "undecided";
}

Json to_json(const VerifyReport& report, const Netlist& first) {
  Json j = {{"verdict", word(report.verdict)},
            {"outputs", report.outputs},
            {"by_structure", report.by_structure},
            {"by_table", report.by_table},
            {"by_sat", report.by_sat},
            {"undecided", report.undecided},
            {"inputs_matched_by", report.inputs_by_name ? "name" : "position"},
            {"outputs_matched_by", report.outputs_by_name ? "name" : "position"},
            {"summary", describe(report, first)}};
  if (report.counter_example) {
    const CounterExample& e = *report.counter_example;
    Json inputs = Json::object();
    for (std::size_t i = 0; i < e.inputs.size(); ++i) inputs[first.inputs[i]] = int{e.inputs[i]};
    j["counter_example"] = {
        {"output", e.output}, {"first", int{e.first}}, {"second", int{e.second}}, {"inputs", inputs}};
  }
  return j;
}

}  // namespace

void add_verify_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("verify", "prove that two circuits compute the same function");
  auto options = std::make_shared<Options>();
  command->add_option("first", options->first, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)")
      ->required()
      ->type_name("A");
  command->add_option("second", options->second, "another")->required()->type_name("B");
  command->add_option("--seconds", options->seconds, "give up on SAT proofs after so long (0: never)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Exit code 0: proved equal, 1: different, or an error (on standard error), 3: undecided.\n"
      "Example: espalier verify runs/life-1 life.blif");
  command->callback([options, &exit_code] {
    const Netlist first = load_circuit(options->first), second = load_circuit(options->second);
    VerifyOptions limits;
    limits.seconds = options->seconds;
    const VerifyReport report = verify(first, second, limits);
    if (options->json)
      fmt::print("{}\n", to_json(report, first).dump(-1, ' ', true, Json::error_handler_t::replace));
    else
      fmt::print("{}\n", describe(report, first));
    exit_code = report.verdict == Verdict::kEqual ? kDone : report.verdict == Verdict::kDifferent ? kFailed : kUnsolved;
  });
}

}  // namespace espalier::app
