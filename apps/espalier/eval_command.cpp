// espalier eval MODEL: the validation of a trained automaton and the trials of what it learned; of a table model, how
// well it predicts the rows of a CSV file.
#include <cmath>

#include "arguments.hpp"
#include "base/clock.hpp"
#include "commands.hpp"
#include "models/lattice/divergence.hpp"
#include "output.hpp"
#include "program_ranks.hpp"

namespace espalier {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DivergenceRow, step, difference, visible, largest, other_bits, soft_distance,
                                   hard_distance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Trial, name, description, score, exact, limit)

}  // namespace espalier

namespace espalier::app {
namespace {

struct EvalFlags {
  std::string model, csv;
  int threads = 0;
  bool json = false, require_solved = false;
  TrialOptions trials;
  bool divergence = false;
  int boards = 8;
  std::string svg;
  double rank_timeout = kRankTimeout;
};

int evaluate_table(const EvalFlags& f, const TableModel& model) {
  if (f.csv.empty()) throw UsageError("eval", "got only a table model, expected a CSV file with its target as well");
  const CsvTable table = read_csv(f.csv);
  if (table.rows.empty()) fail("eval", fmt::format("{} without rows", f.csv), "one row or more");
  const auto [score, solved, loss, extra] = model.evaluate(table, ThreadPool(f.threads));
  const bool classifies = !model.classes().empty();
  const std::size_t rows = table.rows.size();
  if (f.json)
    print_json({{"model", f.model},
                {"rows", rows},
                {classifies ? "accuracy" : "r2", score},
                {"loss", loss},
                {"solved", solved}});
  else if (classifies)
    fmt::print("{} of {} rows right ({:.2f} %), loss {:.6g}\n", std::llround(score * static_cast<double>(rows)), rows,
               100 * score, loss);
  else
    fmt::print("R² {:.4f} over {} rows, loss {:.6g}\n", score, rows, loss);
  return f.require_solved && !solved ? kUnsolved : kDone;
}

// Soft beside hard after every step, on the validation boards.
int compare_soft_and_hard(const EvalFlags& f) {
  check_output("--svg", f.svg, {f.model});
  const auto model = load_lattice_model(f.model);
  if (model->is_refined())
    note("{}: a circuit found by search has no soft gates; these are the weights that it was made from\n", f.model);
  const std::vector<DivergenceRow> rows = divergence(*model, f.boards, ThreadPool(f.threads));
  if (!f.svg.empty())
    write_output(f.svg, divergence_picture(rows, fmt::format("{}: soft against hard", model->learned())));
  if (f.json) {
    print_json({{"model", f.model}, {"steps", rows}});
    return kDone;
  }
  fmt::print("{:>5} {:>12} {:>12} {:>9} {:>11} {:>14} {:>14}\n", "step", "|soft-hard|", "visible", "largest",
             "other bits", "soft to goal", "hard to goal");
  for (const DivergenceRow& r : rows)
    fmt::print("{:>5} {:>12.5f} {:>12.5f} {:>9.4f} {:>10.3f}% {:>14.4g} {:>14.4g}\n", r.step, r.difference, r.visible,
               r.largest, 100 * r.other_bits, r.soft_distance, r.hard_distance);
  return kDone;
}

int evaluate(const EvalFlags& f, const std::set<std::string>& given) {
  const double start = seconds_now();
  const LoadedModel loaded = load_model(f.model);
  if (program_ranks()) check_same_model(*program_ranks(), *loaded.model);
  if (const auto* table = dynamic_cast<const TableModel*>(loaded.model.get())) {
    refuse_given(given, {"seed", "reset-steps"}, "got a table model, expected an automaton, which has trials");
    return program_ranks() && !program_ranks()->first() ? kDone : evaluate_table(f, *table);
  }
  if (!f.csv.empty())
    throw UsageError("eval", fmt::format("got {}, expected no rows: only a table model takes them", f.csv));
  const auto model = load_lattice_model(f.model);
  ThreadPool pool(f.threads);
  pool.join(program_ranks());
  const std::vector<Trial> trials = run_trials(*model, f.trials, pool);
  const bool solved = trials.front().exact;
  const Json facts = json_of(model->facts());
  if (f.json) {
    Json j = facts;
    j.update({{"model", f.model},
              {"solved", solved},
              {"score", trials[0].score},
              {"trials", trials},
              {"seconds", seconds_now() - start}});
    print_json(j);
  } else {
    fmt::print("{}: {} gates, {} active\n\n", facts["learned"].get<std::string>(), facts["gates"].dump(),
               facts["active_gates"].dump());
    fmt::print("{:<14} {:>10}  {:<7} {}\n", "trial", "right", "", "what");
    for (const Trial& t : trials)
      fmt::print("{:<14} {:>8.2f} %  {:<7} {}{}\n", t.name, 100 * t.score, t.exact ? "exact" : "", t.description,
                 t.limit < 1 ? fmt::format("; a perfect rule: {:.2f} %", 100 * t.limit) : "");
  }
  return f.require_solved && !solved ? kUnsolved : kDone;
}

}  // namespace

Command eval_command() {
  const auto f = std::make_shared<EvalFlags>();
  Command command{
      "eval",
      "validate a trained automaton and put it through its trials, or test a table model on the rows of a file"};
  command.arguments = {
      {"model", &f->model, "a trained automaton or table model: its run's folder or model.safetensors"},
      {"csv", &f->csv, "for a table model: rows with its columns and its target; - reads standard input", false}};
  command.options.add("seed", f->trials.seed, "seed of boards, updates and damage", 0, 1.8446744073709552e19);
  command.options.add("reset-steps", f->trials.reset_steps, "steps of the trial with a reset at every step", 1, 1e7);
  command.options.add("divergence", f->divergence, "soft against hard, step by step, instead of the trials");
  command.options.add("boards", f->boards, "with --divergence: how many validation boards", 1, 1e6);
  command.options.add("svg", f->svg, "with --divergence: also draw it").metavar("FILE");
  add_threads(command.options, f->threads);
  add_rank_timeout(command.options, f->rank_timeout);
  add_json(command.options, f->json);
  command.options.add("require-solved", f->require_solved, "exit with 3 when the validation is not exact");
  command.over_ranks = true;
  return std::move(command).with(f, [given = command.given](EvalFlags& f) {
    if (program_ranks()) program_ranks()->set_patience(f.rank_timeout);
    if (!f.divergence) refuse_given(*given, {"svg", "boards"}, "got no --divergence, expected both");
    if (!f.divergence) return evaluate(f, *given);
    refuse_given(*given, {"seed", "reset-steps", "require-solved"},
                 "got --divergence, which runs no trials, expected only one of the two");
    if (!f.csv.empty()) throw UsageError("--divergence", fmt::format("got {}, expected no rows", f.csv));
    return program_ranks() && !program_ranks()->first() ? kDone : compare_soft_and_hard(f);
  });
}

}  // namespace espalier::app
