// espalier refine MODEL: search over the hardened circuit of a trained automaton for one with fewer wrong bits.
// espalier refine CIRCUIT --table FILE: the same for a circuit and a table of what it should compute.
#include <fmt/format.h>

#include <filesystem>

#include "arguments.hpp"
#include "base/clock.hpp"
#include "base/file_lock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "interrupt.hpp"
#include "models/lattice/lattice_verdict.hpp"
#include "models/lattice/refine_model.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "runs/outputs.hpp"
#include "synth/target_table.hpp"

namespace espalier::app {
namespace {

struct Options {
  std::string model, output, table;
  SearchOptions search;
  double seconds = 0;
  int threads = 0;
  bool json = false, quiet = false, resume = false, require_solved = false;
};

constexpr double kFirstSave = 1, kSaveSeconds = 10;
constexpr std::uint64_t kImprove = 200'000;
constexpr const char* kGraded = " ({:.2f} % in graded trials)";

std::string default_output(const std::string& model) {
  const std::filesystem::path path(model);
  if (is_folder(model)) return (path / "refined.safetensors").string();
  return (path.parent_path() / (path.stem().string() + "-refined" + path.extension().string())).string();
}

// The search with its progress, until its end, a signal or the time is up; saves now and then, and at the end. Wrong
// bits are shown for one board.
class SearchRun {
 public:
  SearchRun(const Options& options, CircuitSearch& search, const SearchScore& before, double boards, std::string output)
      : o_(options),
        search_(search),
        before_(before),
        boards_(boards),
        output_(std::move(output)),
        evaluations_(search.state().evaluations) {}

  void run(ThreadPool& pool, const std::function<void(bool ended)>& save) {
    pool.watch(&interrupt_flag());
    Progress progress(o_.quiet, o_.search.evaluations + o_.search.improve + o_.search.shrink, evaluations_);
    for (double saved = seconds_now() + kFirstSave - kSaveSeconds; !search_.ended();) {
      if (interrupt_flag().raised()) stopped_ = "interrupted";
      if (o_.seconds > 0 && seconds_now() - start_ > o_.seconds) stopped_ = "out of time";
      if (!stopped_.empty()) break;
      try {
        search_.step(pool);
      } catch (const Cancelled&) {
        continue;
      }
      const SearchScore& best = search_.state().best_score;
      progress.update(search_.state().evaluations,
                      fmt::format("wrong {:.4g}{}  gates {}", wrong(best), graded(kGraded, best), best.size.gates));
      if (seconds_now() - saved > kSaveSeconds) save(false), saved = seconds_now();
    }
    pool.watch(nullptr);
    progress.clear();
    save(stopped_.empty());
  }

  int report(const Verdict& verdict) const {
    const SearchState& s = search_.state();
    const SearchScore& best = s.best_score;
    const double seconds = seconds_now() - start_, rate = static_cast<double>(s.evaluations - evaluations_) / seconds;
    if (o_.json)
      print_json({{"output", output_},
                  {"from", o_.model},
                  {"solved", verdict.solved},
                  {"judged_by", verdict.data},
                  {"verdict", verdict.text},
                  {"wrong_before", wrong(before_)},
                  {"wrong", wrong(best)},
                  {"graded_loss", 1e-6 * static_cast<double>(best.grade)},
                  {"gates_before", before_.size.gates},
                  {"gates", best.size.gates},
                  {"depth", best.size.depth},
                  {"generations", s.generation},
                  {"evaluations", s.evaluations},
                  {"evaluations_per_second", rate},
                  {"stopped", stopped_},
                  {"seconds", seconds}});
    else
      print("{}: {}{}, {} -> {}{}, {}, depth {}\n", output_, wrong_text(before_), graded(kGraded, before_),
            counted(before_.size.gates, "gate"), wrong_text(best), graded(kGraded, best),
            counted(best.size.gates, "gate"), best.size.depth),
          print("{} evaluations in {:.1f} s, {:.0f}/s{}\n", s.evaluations, seconds, rate,
                stopped_.empty() ? "" : "; " + stopped_ + (o_.table.empty() ? ", continue with --resume" : ""));
    if (!o_.json && verdict.judged())
      print("{}: {}, judged by {}\n", verdict_word(verdict), verdict.text, verdict.data);
    if (stopped_ == "interrupted") return kInterrupted;
    return o_.require_solved && !verdict.solved ? kUnsolved : kDone;
  }

 private:
  double wrong(const SearchScore& score) const { return static_cast<double>(score.wrong) / boards_; }
  std::string wrong_text(const SearchScore& score) const { return averaged(wrong(score), "wrong bit"); }
  // Of trials that are only better or worse, the share that is wrong; nothing where there are none.
  static std::string graded(const char* form, const SearchScore& score) {
    return score.grade ? fmt::format(fmt::runtime(form), 1e-4 * static_cast<double>(score.grade)) : "";
  }

  const Options& o_;
  CircuitSearch& search_;
  SearchScore before_;
  double boards_;
  std::string output_, stopped_;
  std::uint64_t evaluations_;
  double start_ = seconds_now();
};

// What lies where the search is saved is replaced, and deleted in the end: it must be of a search.
void check_search_file(const std::string& path) {
  if (!file_exists(path)) return;
  std::string format;
  try {
    format = read_safetensors(path).meta("format");
  } catch (const Error&) {
  }
  if (!format.starts_with("espalier refine"))
    fail("refine", fmt::format("{}, which no search has written", path), "a free name for the state of this search",
         "move it, or choose another output");
}

// A folder's name may be of any bytes, what stands in a model may not.
std::string in_utf8(const std::string& text) { return Json::parse(json_text(text)).get<std::string>(); }

// Most likely a netlist where a model was meant to be, or the table was forgotten.
void refuse_netlist(const std::string& path) {
  for (const char* netlist : {".blif", ".aag", ".aig", ".json"})
    if (path.ends_with(netlist))
      throw UsageError("--table",
                       fmt::format("got none for {}, a netlist by its name, expected a file of what it should compute: "
                                   "a line for each example, its input bits, a space, its output bits",
                                   path));
}

int refine_model(const Options& o, const std::string& output) {
  refuse_netlist(o.model);
  const std::string search_file = output + ".search";
  if (!o.resume) check_search_file(search_file);
  const LoadedModel loaded = load_model(o.model);
  const auto* model = dynamic_cast<const LatticeModel*>(loaded.model.get());
  if (!model) fail("refine", fmt::format("{}, a {}", o.model, loaded.model->kind()), "a logic automaton");
  const Provenance before = provenance_of(loaded.notes);
  Verdict verdict;
  ThreadPool pool(o.threads);
  ModelRefiner refiner(*model, o.search, pool);
  if (o.resume && !file_exists(search_file))
    fail("resume", fmt::format("no {}", search_file), "the file of a search that was stopped",
         "it ended, or was stopped in its first second");
  if (o.resume) refiner.restore(read_safetensors(search_file), pool);
  SearchRun run(o, refiner.search(), refiner.before(), refiner.boards(), output);
  run.run(pool, [&](bool ended) {
    const auto best = refiner.best(pool);
    Provenance provenance = before;
    for (const Making& making : refiner.provenance(pool)) provenance.push_back(making);
    ModelNotes notes{{"refined.from", in_utf8(o.model)}, {"provenance", format_provenance(provenance)}};
    if (ended) verdict = judge_model(*best, kJudgingDraw, true, pool);
    add_verdict(notes, verdict);
    save_model(output, *best, notes);
    if (ended)
      std::filesystem::remove(search_file);
    else
      write_safetensors(search_file, refiner.checkpoint());
  });
  return run.report(verdict);
}

int refine_table(const Options& o, const std::string& output) {
  if (o.resume) throw UsageError("--resume", "got a circuit, expected a model");
  const std::string extension = std::filesystem::path(output).extension().string();
  const CircuitFormat format = circuit_format(extension.empty() ? "blif" : extension.substr(1));
  const Netlist given = load_circuit(o.model).netlist();
  const Netlist circuit = o.search.shrink ? search_start(given, o.search) : given;
  TableScore score(parse_table(read_text(o.table), o.table, circuit.inputs.size(), circuit.outputs.size()));
  ThreadPool pool(o.threads);
  CircuitSearch search(circuit, score, o.search, pool);
  ExportOptions options;
  options.format = format;
  options.file = output;
  const auto files = [&] { return export_circuit(ProvedCircuit::unproved(search.state().best), options); };
  for (const ExportedFile& file : files())
    if (file.path != output) check_unnamed_output("-o", file.path);
  SearchRun run(o, search, search.state().best_score, 1, output);
  run.run(pool, [&](bool) {
    for (const ExportedFile& file : files()) write_atomically(file.path, std::string_view(file.content));
  });
  // The rows of the table are all that it should compute.
  const bool solved = search.state().best_score.wrong == 0;
  return run.report(
      {.solved = solved, .data = "every row of the table", .text = solved ? "every row right" : "rows wrong"});
}

}  // namespace

Command refine_command() {
  const auto f = std::make_shared<Options>();
  f->search.improve = kImprove;
  Command command{"refine", "search for a better circuit: fewer wrong bits first, then fewer gates"};
  command.arguments = {{"model", &f->model, "a trained automaton or its run's folder; with --table a netlist"}};
  command.options.add("output", f->output, "where to write the result (default: beside the model, as a new file)")
      .alias("o")
      .metavar("FILE");
  command.options
      .add("table", f->table, "what a netlist should compute: lines of input bits, a space, output bits, - for either")
      .metavar("FILE");
  command.options.append(fields_of(f->search));
  command.options.add("seconds", f->seconds, "stop after this many seconds; 0 = never", 0, 1e9);
  command.options.add("resume", f->resume, "continue a search that was stopped");
  add_threads(command.options, f->threads);
  add_json(command.options, f->json);
  command.options.add("quiet", f->quiet, "no progress");
  command.options.add("require-solved", f->require_solved, "exit with 3 when bits are still wrong");
  command.footer = "Example: espalier refine runs/picture -o runs/picture/refined.safetensors --shrink 1000000";
  return std::move(command).with(f, [](Options& f) {
    const std::string output = f.output.empty() ? default_output(f.model) : f.output;
    check_output("-o", output, {f.model, f.table});
    if (output == "-" || is_stream(output))
      throw UsageError("-o",
                       fmt::format("got {}, expected a file: the result is replaced as the search goes on", output));
    if (f.output.empty() && !f.resume) check_unnamed_output("-o", output, "");
    check_unnamed_output("-o", output + ".lock", "process ");
    const FileLock lock(output + ".lock", output, "searching for", FileLock::After::kRemove);
    return f.table.empty() ? refine_model(f, output) : refine_table(f, output);
  });
}

}  // namespace espalier::app
