// espalier verify A B: proves that two circuits compute the same function, or shows where they do not.
#include <fmt/format.h>

#include "commands.hpp"
#include "espalier/circuit_model.hpp"
#include "output.hpp"

namespace espalier::app {
namespace {

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
            {"warning", order_warning(report)},
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

Command verify_command() {
  const auto f = std::make_shared<Options>();
  Command command{"verify", "prove that two circuits compute the same function"};
  command.arguments = {{"first", &f->first, "a trained model, its run's folder, or a netlist (JSON, BLIF, AIGER)"},
                       {"second", &f->second, "another of these, to compare it with"}};
  command.options.add("seconds", f->seconds, "give up on SAT proofs after this many seconds; 0 = never", 0, 1e9);
  add_json(command.options, f->json);
  command.footer =
      "Exit code 0: proved equal, 4: different, 3: undecided, 1: an error, 2: wrong usage.\n"
      "Example: espalier verify runs/life-1 life.blif";
  return std::move(command).with(f, [](Options& f) {
    const Netlist first = load_circuit(f.first).netlist(), second = load_circuit(f.second).netlist();
    VerifyOptions limits;
    limits.seconds = f.seconds;
    const VerifyReport report = verify(first, second, limits);
    const std::string warning = order_warning(report);
    if (!warning.empty()) note("warning: {}\n", warning);
    if (f.json)
      print_json(to_json(report, first));
    else
      print("{}\n", describe(report, first));
    return static_cast<int>(report.verdict == Verdict::kEqual       ? kDone
                            : report.verdict == Verdict::kDifferent ? kRefuted
                                                                    : kUnsolved);
  });
}

}  // namespace espalier::app
