// espalier eval MODEL: the validation of a trained automaton and the published trials.
#include <fmt/format.h>

#include "checks.hpp"
#include "commands.hpp"
#include "base/clock.hpp"
#include "models/lattice/trials.hpp"

namespace espalier::app {
namespace {

struct EvalFlags {
  std::string model;
  int threads = 0;
  bool json = false, require_solved = false;
  TrialOptions trials;
};

int evaluate(const EvalFlags& f) {
  const double start = seconds_now();
  const LatticeModel model = load_lattice_model(f.model);
  const ThreadPool pool(f.threads);
  const std::vector<Trial> trials = run_trials(model, f.trials, pool);
  const GateCounts counts = count_gates(model.parameters.values());
  const bool solved = trials.front().exact;
  if (f.json) {
    Json j = {{"model", f.model},        {"task", model.task()},
              {"solved", solved},        {"score", trials[0].score},
              {"gates", counts.raw},     {"active_gates", counts.active},
              {"trials", Json::array()}, {"seconds", seconds_now() - start}};
    for (const Trial& t : trials)
      j["trials"].push_back({{"name", t.name}, {"description", t.description}, {"score", t.score}, {"exact", t.exact}});
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} gates, {} active\n\n", model.task(), counts.raw, counts.active);
    fmt::print("{:<14} {:>10}  {:<7} {}\n", "trial", "right", "", "what");
    for (const Trial& t : trials)
      fmt::print("{:<14} {:>8.2f} %  {:<7} {}\n", t.name, 100 * t.score, t.exact ? "exact" : "", t.description);
  }
  return f.require_solved && !solved ? kUnsolved : kDone;
}

}  // namespace

void add_eval_command(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = program.add_subcommand("eval", "validate a trained automaton and run the published trials");
  command->add_option("model", flags->model, "a trained automaton: its run's folder or model.safetensors")
      ->required()
      ->type_name("FILE");
  command->add_option("--seed", flags->trials.seed, "seed of boards, updates and damage")
      ->capture_default_str()
      ->check(is_seed());
  command->add_option("--reset-steps", flags->trials.reset_steps, "steps of the trial with a reset at every step")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--threads", flags->threads, "worker threads; 0 = all cores");
  command->add_flag("--json", flags->json, "print one JSON object");
  command->add_flag("--require-solved", flags->require_solved, "exit with 3 when the validation is not exact");
  command->callback([flags, &exit_code] { exit_code = evaluate(*flags); });
}

}  // namespace espalier::app
