// espalier refine MODEL: search over the hardened circuit of a trained automaton for one with fewer wrong bits.
#include <fmt/format.h>

#include <filesystem>

#include "base/clock.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "interrupt.hpp"
#include "model_argument.hpp"
#include "models/lattice/refine_model.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string model, output;
  SearchOptions search;
  double seconds = 0;
  int threads = 0;
  bool json = false, quiet = false, resume = false, require_solved = false;
};

std::string default_output(const std::string& model) {
  const std::filesystem::path path(model);
  if (std::filesystem::is_directory(path)) return (path / "refined.safetensors").string();
  return (path.parent_path() / (path.stem().string() + "-refined.safetensors")).string();
}

constexpr double kSaveSeconds = 10;

int refine(const Options& o) {
  const double start = seconds_now();
  const std::string output = o.output.empty() ? default_output(o.model) : o.output, search_file = output + ".search";
  check_output("-o", output, {o.model});
  const auto model = load_lattice_model(o.model);
  ThreadPool pool(o.threads);
  ModelRefiner refiner(*model, o.search, pool);
  if (o.resume) refiner.restore(read_safetensors(search_file), pool);
  pool.watch(&interrupt_flag());
  const CircuitSearch& search = refiner.search();
  const auto boards = static_cast<double>(refiner.boards());
  const auto save = [&] {
    const SearchState& s = search.state();
    ModelNotes notes{{"refined.from", o.model},
                     {"refined.wrong", fmt::format("{}", refiner.before().wrong)},
                     {"refined.gates", fmt::format("{}", refiner.before().size.gates)},
                     {"refined.seed", std::to_string(o.search.seed)},
                     {"refined.evaluations", std::to_string(s.evaluations)},
                     {"solved", s.best_score.wrong ? "false" : "true"}};
    save_model(output, *refiner.best(), notes);
    write_safetensors(search_file, refiner.checkpoint());
  };
  Progress progress(o.quiet, o.search.evaluations + o.search.shrink, search.state().evaluations);
  double saved = seconds_now();
  std::string stopped;
  const std::uint64_t before = search.state().evaluations;
  while (!search.ended()) {
    if (interrupt_flag().raised()) stopped = "interrupted";
    if (o.seconds > 0 && seconds_now() - start > o.seconds) stopped = "out of time";
    if (!stopped.empty()) break;
    try {
      refiner.search().step(pool);
    } catch (const Cancelled&) {
      continue;
    }
    const SearchState& s = search.state();
    progress.update(s.evaluations,
                    fmt::format("wrong {:.4g}  gates {}", static_cast<double>(s.best_score.wrong) / boards,
                                s.best_score.size.gates));
    if (seconds_now() - saved > kSaveSeconds) save(), saved = seconds_now();
  }
  progress.clear();
  save();
  const SearchState& s = search.state();
  const bool solved = s.best_score.wrong == 0;
  if (stopped.empty()) std::filesystem::remove(search_file);
  const double seconds = seconds_now() - start;
  const double rate = static_cast<double>(s.evaluations - before) / seconds;
  const SearchScore &from = refiner.before(), &to = s.best_score;
  if (o.json)
    print_json({{"model", output},
                {"from", o.model},
                {"solved", solved},
                {"wrong_before", static_cast<double>(from.wrong) / boards},
                {"wrong", static_cast<double>(to.wrong) / boards},
                {"gates_before", from.size.gates},
                {"gates", to.size.gates},
                {"depth", to.size.depth},
                {"generations", s.generation},
                {"evaluations", s.evaluations},
                {"evaluations_per_second", rate},
                {"stopped", stopped},
                {"seconds", seconds}});
  else
    fmt::print(
        "{}: {:.4g} wrong bits, {} gates -> {:.4g} wrong, {} gates, depth {}; {} evaluations, {:.0f}/s, {:.1f} s{}\n",
        output, static_cast<double>(from.wrong) / boards, from.size.gates, static_cast<double>(to.wrong) / boards,
        to.size.gates, to.size.depth, s.evaluations, rate, seconds,
        stopped.empty() ? "" : fmt::format("; {}: go on with --resume", stopped));
  if (stopped == "interrupted") return kInterrupted;
  return o.require_solved && !solved ? kUnsolved : kDone;
}

}  // namespace

Command refine_command() {
  const auto f = std::make_shared<Options>();
  Command command{"refine", "search for a better circuit: fewer wrong bits first, then fewer gates"};
  command.arguments = {{"model", &f->model, "a trained automaton: its run's folder or model.safetensors"}};
  command.options.add("output", f->output, "where to write the refined model").alias("o").metavar("FILE");
  command.options.add("evaluations", f->search.evaluations, "mutants to try while bits are wrong", 1, 1e15);
  command.options.add("shrink", f->search.shrink, "mutants to try for fewer gates once no bit is wrong", 0, 1e15);
  command.options.add("seconds", f->seconds, "stop after this time; 0 = never", 0, 1e9);
  command.options.add("seed", f->search.seed, "seed of the search", 0, 1.8446744073709552e19);
  command.options.add("groups", f->search.groups, "groups of 512 mutants in a generation", 1, 1024);
  command.options.add("moves", f->search.moves, "distinct changes of a group", 1, 511);
  command.options.add("slack", f->search.slack, "wrong bits more that are taken now and then", 0, 1e6);
  command.options.add("patience", f->search.patience, "mutants without progress, before bits are put right by force", 0,
                      1e15);
  command.options.add("room", f->search.room, "gates more than the best that the parent may have", 0, 1e6);
  command.options.add("company", f->search.company, "good mutants that are tried together", 0, 200);
  command.options.add("gates-first", f->search.gates_first, "fewer gates count while bits are wrong, too");
  command.options.add("resume", f->resume, "go on with a search that was stopped");
  add_threads(command.options, f->threads);
  add_json(command.options, f->json);
  command.options.add("quiet", f->quiet, "no progress");
  command.options.add("require-solved", f->require_solved, "exit with 3 when bits are still wrong");
  command.footer = "Example: espalier refine runs/picture -o runs/picture/refined.safetensors --shrink 1000000";
  command.keeps = f;
  command.run = [f] { return refine(*f); };
  return command;
}

}  // namespace espalier::app
