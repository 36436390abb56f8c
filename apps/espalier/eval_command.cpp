// espalier eval MODEL: the validation of a trained automaton and the trials of what it learned.
#include "base/clock.hpp"
#include "commands.hpp"
#include "model_argument.hpp"
#include "output.hpp"

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
  const auto model = load_lattice_model(f.model);
  const ThreadPool pool(f.threads);
  const std::vector<Trial> trials = run_trials(*model, f.trials, pool);
  const bool solved = trials.front().exact;
  const Json facts = json_of(model->facts());
  if (f.json) {
    Json j = facts;
    j.update({{"model", f.model},
              {"solved", solved},
              {"score", trials[0].score},
              {"trials", Json::array()},
              {"seconds", seconds_now() - start}});
    for (const Trial& t : trials)
      j["trials"].push_back({{"name", t.name}, {"description", t.description}, {"score", t.score}, {"exact", t.exact}});
    print_json(j);
  } else {
    fmt::print("{}: {} gates, {} active\n\n", facts["learned"].get<std::string>(), facts["gates"].dump(),
               facts["active_gates"].dump());
    fmt::print("{:<14} {:>10}  {:<7} {}\n", "trial", "right", "", "what");
    for (const Trial& t : trials)
      fmt::print("{:<14} {:>8.2f} %  {:<7} {}\n", t.name, 100 * t.score, t.exact ? "exact" : "", t.description);
  }
  return f.require_solved && !solved ? kUnsolved : kDone;
}

}  // namespace

Command eval_command() {
  const auto f = std::make_shared<EvalFlags>();
  Command command{"eval", "validate a trained automaton and put it through the trials of what it learned"};
  command.arguments = {{"model", &f->model, "a trained automaton: its run's folder or model.safetensors"}};
  command.options.add("seed", f->trials.seed, "seed of boards, updates and damage", 0, 1.8446744073709552e19);
  command.options.add("reset-steps", f->trials.reset_steps, "steps of the trial with a reset at every step", 1, 1e7);
  add_threads(command.options, f->threads);
  add_json(command.options, f->json);
  command.options.add("require-solved", f->require_solved, "exit with 3 when the validation is not exact");
  command.keeps = f;
  command.run = [f] { return evaluate(*f); };
  return command;
}

}  // namespace espalier::app
