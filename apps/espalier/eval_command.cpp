// espalier eval MODEL: the validation of a trained automaton and the trials of what it learned; of a table model, how
// well it predicts the rows of a CSV file.
#include <cmath>

#include "arguments.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "models/lattice/board_pairs.hpp"
#include "models/lattice/divergence.hpp"
#include "models/lattice/lattice_verdict.hpp"
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
  std::string model, csv, data;
  int steps = 0;
  int threads = 0;
  bool json = false, require_solved = false, allow_unknown = false;
  TrialOptions trials;
  bool divergence = false;
  int boards = 8;
  std::string svg;
  double rank_timeout = kRankTimeout;
};

std::string how_made(const ModelNotes& notes) {
  const Provenance provenance = provenance_of(notes);
  return fmt::format("{}: {}", word_for(provenance), text_of(provenance));
}

int evaluate_table(const EvalFlags& f, const RowModel& model, const ModelNotes& notes) {
  if (f.csv.empty()) throw UsageError("eval", "got only a table model, expected a CSV file with its target as well");
  const CsvTable table = read_csv(f.csv);
  if (table.rows.empty()) fail("eval", fmt::format("{} without rows", f.csv), "one row or more");
  const auto [score, passed, loss, extra] =
      model.evaluate(table, ThreadPool(f.threads), unknown_words(f.allow_unknown));
  if (f.allow_unknown) told_unknown_words(model, table);
  const bool classifies = !model.classes().empty();
  const std::size_t rows = table.rows.size();
  if (f.json)
    print_json({{"model", f.model},
                {"rows", rows},
                {classifies ? "accuracy" : "r2", score},
                {"loss", loss},
                {"passed", passed},
                {"made", word_for(provenance_of(notes))},
                {"provenance", json_of(provenance_of(notes))}});
  else if (classifies)
    fmt::print("{} of {} rows right ({:.2f} %), loss {:.6g}\n", std::llround(score * static_cast<double>(rows)), rows,
               100 * score, loss);
  else
    fmt::print("R² {:.4f} over {} rows, loss {:.6g}\n", score, rows, loss);
  if (!f.json) print("{}\n", how_made(notes));
  return f.require_solved && !passed ? kUnsolved : kDone;
}

// Soft beside hard after every step, on the validation boards.
int compare_soft_and_hard(const EvalFlags& f) {
  check_output("--svg", f.svg, {f.model});
  const auto model = load_lattice_model(f.model);
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

// On boards of a file: figures, and no verdict, as nobody can tell whether the model was made from them.
int evaluate_boards(const EvalFlags& f, const LatticeModel& model) {
  const BoardPairs pairs = read_board_pairs(f.data);
  const int steps = f.steps ? f.steps : model.rollout().steps;
  const PairScore score = score_pairs(model, pairs, steps, ThreadPool(f.threads));
  if (f.json)
    print_json({{"model", f.model},
                {"data", f.data},
                {"steps", steps},
                {"boards", score.boards},
                {"exact_boards", score.exact},
                {"score", score.score},
                {"wrong_per_board", score.wrong_per_board}});
  else
    fmt::print("{} of {} boards exact, {:.4f} % of bits right, {} per board after {}\n", score.exact, score.boards,
               100 * score.score, averaged(score.wrong_per_board, "wrong bit"),
               counted(static_cast<std::uint64_t>(steps), "step"));
  return f.require_solved && score.exact < score.boards ? kUnsolved : kDone;
}

int evaluate(const EvalFlags& f, const std::set<std::string>& given) {
  const double start = seconds_now();
  const LoadedModel loaded = load_model(f.model);
  if (program_ranks()) check_same_model(*program_ranks(), *loaded.model);
  if (const auto* table = dynamic_cast<const RowModel*>(loaded.model.get())) {
    refuse_given(given, {"seed", "reset-steps"}, "got a table model, expected an automaton, which has trials");
    return program_ranks() && !program_ranks()->first() ? kDone : evaluate_table(f, *table, loaded.notes);
  }
  if (!f.csv.empty())
    throw UsageError("eval", fmt::format("got {}, expected no rows: only a table model takes them", f.csv));
  refuse_given(given, {"allow-unknown"}, "got an automaton, expected a table model");
  const auto* model = dynamic_cast<const LatticeModel*>(loaded.model.get());
  if (!model)
    fail("eval", fmt::format("{}, a {}", f.model, loaded.model->kind()), "a logic automaton or a table network");
  if (!f.data.empty()) {
    refuse_given(given, {"seed", "reset-steps"}, "got --data, which runs no trials, expected only one of the two");
    return program_ranks() && !program_ranks()->first() ? kDone : evaluate_boards(f, *model);
  }
  refuse_given(given, {"steps"}, "got no --data, expected both");
  ThreadPool pool(f.threads);
  pool.join(program_ranks());
  const std::vector<Trial> trials = run_trials(*model, f.trials, pool);
  // What it was not asked for when it was called solved counts no more here; the trials below tell how it does.
  const bool asked = !loaded.notes.contains("verdict.not-asked");
  const Verdict verdict = judge_model(*model, f.trials.seed, asked, pool);
  const Provenance provenance = provenance_of(loaded.notes);
  const Json facts = json_of(model->facts());
  if (f.json) {
    Json j = facts;
    j.update({{"model", f.model},
              {"solved", verdict.solved},
              {"explained", verdict.explained},
              {"score", verdict.score},
              {"judged_by", verdict.data},
              {"verdict", verdict.text},
              {"made", word_for(provenance)},
              {"provenance", json_of(provenance)},
              {"trials", trials},
              {"seconds", seconds_now() - start}});
    print_json(j);
  } else {
    print("{}: {} gates, {} active; {}\n", facts["goal"].get<std::string>(), facts["gates"].dump(),
          facts["active_gates"].dump(), how_made(loaded.notes));
    print("{}: {}, judged by {}\n\n", verdict_word(verdict), verdict.text, verdict.data);
    fmt::print("{:<14} {:>10}  {:<7} {}\n", "trial", "right", "", "what");
    for (const Trial& t : trials)
      print("{:<14} {:>8.2f} %  {:<7} {}{}\n", t.name, 100 * t.score, t.exact ? "exact" : "", t.description,
            t.limit < 1 ? fmt::format("; a perfect rule: {:.2f} %", 100 * t.limit) : "");
  }
  return f.require_solved && !verdict.solved ? kUnsolved : kDone;
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
  command.options
      .add("data", f->data,
           "for an automaton: pairs of boards in an .npz, as train boards reads them, instead of its trials")
      .metavar("FILE");
  command.options.add("steps", f->steps, "with --data: steps between start and target; 0 = those of the training", 0,
                      1e6);
  command.options.add("seed", f->trials.seed, "seed of boards, updates and damage", 0, 1.8446744073709552e19);
  command.options.add("reset-steps", f->trials.reset_steps, "steps of the trial with a reset at every step", 1, 1e7);
  add_allow_unknown(command.options, f->allow_unknown);
  command.options.add("divergence", f->divergence, "soft against hard, step by step, instead of the trials");
  command.options.add("boards", f->boards, "with --divergence: how many validation boards", 1, 1e6);
  command.options.add("svg", f->svg, "with --divergence: also draw it").metavar("FILE");
  add_threads(command.options, f->threads);
  add_rank_timeout(command.options, f->rank_timeout);
  add_json(command.options, f->json);
  command.options.add("require-solved", f->require_solved,
                      "exit with 3 when the model is not solved, or boards of --data are not exact");
  command.over_ranks = true;
  return std::move(command).with(f, [given = command.given](EvalFlags& f) {
    if (program_ranks()) program_ranks()->set_patience(f.rank_timeout);
    if (!f.divergence) refuse_given(*given, {"svg", "boards"}, "got no --divergence, expected both");
    if (!f.divergence) return evaluate(f, *given);
    refuse_given(*given, {"seed", "reset-steps", "require-solved", "allow-unknown"},
                 "got --divergence, which runs no trials, expected only one of the two");
    if (!f.csv.empty()) throw UsageError("--divergence", fmt::format("got {}, expected no rows", f.csv));
    return program_ranks() && !program_ranks()->first() ? kDone : compare_soft_and_hard(f);
  });
}

}  // namespace espalier::app
