// espalier train TASK [options]: trains a task into a run folder; --resume continues one.
#include <malloc.h>

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "espalier/error.hpp"
#include "espalier/run.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program_ranks.hpp"
#include "progress.hpp"
#include "runs/event_queue.hpp"
#include "runs/report_values.hpp"

namespace espalier::app {
namespace {

constexpr const char* kDefaultFolder = "runs/TASK-SEED";

struct TrainFlags {
  int threads = 0;
  RunOptions run;
  bool quiet = false, json = false, timing = false, require_solved = false;
  std::string resume;
  std::uint64_t more_steps = 0, more_budget = 0;
  double seconds = 0;
  bool published = false;
  double rank_timeout = kRankTimeout;
  bool list = false;
};

void add_run_flags(Fields& options, TrainFlags& f) {
  add_threads(options, f.threads);
  options.add("checkpoint-every", f.run.checkpoint_every, "steps between checkpoints; 0 = every few seconds", 0, 1e12);
  options.add("seconds", f.seconds, "stop after this many seconds, as if interrupted; 0 = never", 0, 1e9);
  options.add("quiet", f.quiet, "no progress");
  options.add("json", f.json, "print one JSON object on standard output at the end");
  options.add("timing", f.timing, "show where the time of a step goes");
  options.add("check-ranks", f.run.check_ranks, "under mpirun: compare the weights of all ranks after every step");
  add_rank_timeout(options, f.rank_timeout);
  options.add("require-solved", f.require_solved, "exit with 3 when the task is not solved");
}

// Progress of one seed, of one attempt after the other, or of many seeds, made from the run's events.
class TrainProgress {
 public:
  TrainProgress(const RunConfig& config, const RunControl& control, bool quiet)
      : control_(control),
        quiet_(quiet),
        seeds_(config.seeds),
        steps_(config.train.steps),
        budget_(config.seeds > 1 || !config.train.until_solved ? 0 : config.budget),
        bar_(quiet, steps_ * seeds_) {}

  void show(const EventCopy& event) {
    using Kind = RunEvent::Kind;
    if (event.kind == Kind::kMessage) {
      bar_.clear();
      note("{}\n", event.text);
      return;
    }
    if (event.kind != Kind::kStep && event.kind != Kind::kEvaluated && event.kind != Kind::kSeedStarted &&
        event.kind != Kind::kSeedEnded && event.kind != Kind::kSearch)
      return;
    if (rows_.empty() && seeds_ == 1) plan(event.search_work);
    if (!rows_.contains(event.seed)) order_.push_back(event.seed);
    Row& row = rows_[event.seed];
    row.steps = event.step;
    if (seeds_ == 1) {
      if (event.search && event.search->work < row.search) row.searched += std::exchange(row.search, 0);
      if (event.search) row.search = event.search->work;
      row.steps += row.searched + row.search;
    }
    if (event.kind == Kind::kSeedEnded && !control_.stopped()) row.steps = steps_ + (seeds_ > 1 ? 0 : work_);
    row.score = event.best_score;
    row.passed = event.best_passed;
    row.ended = event.kind == Kind::kSeedEnded;
    if (event.kind == Kind::kSeedStarted) bar_.resume_from(done());
    // The end of one seed is told by its result: training's last score is not that of what a search has found.
    if (quiet_ || (seeds_ == 1 && row.ended)) return;
    bar_.update(done(), seeds_ > 1 ? detail() : attempt() + detail(event));
  }
  void clear() { bar_.clear(); }

 private:
  struct Row {
    std::uint64_t steps = 0;                 // with the work of searches
    std::uint64_t searched = 0, search = 0;  // work of the searches before this one, and of this one
    double score = 0;
    bool passed = false, ended = false;
  };
  static constexpr std::size_t kShownSeeds = 8;  // more do not fit in a line

  // How much there is to do if nothing is solved before.
  void plan(std::uint64_t work) {
    work_ = work;
    const std::uint64_t each = std::max<std::uint64_t>(1, steps_ + work_);
    attempts_ = std::max<std::uint64_t>(1, (budget_ + each - 1) / each);
    bar_.set_total(each * attempts_);
  }
  std::uint64_t done() const {
    std::uint64_t total = 0;
    for (const auto& [seed, row] : rows_) total += row.steps;
    return total;
  }
  std::string attempt() const {
    return attempts_ > 1 ? fmt::format("try {} of {}, seed {}  ", order_.size(), attempts_, order_.back()) : "";
  }
  static std::string detail(const EventCopy& event) {
    if (event.search)
      return fmt::format("search after step {}: {} of {} mutants  wrong {:.4g}  gates {}", event.step,
                         event.search->done, event.search->total, event.search->wrong, event.search->gates);
    return fmt::format("loss {:.4g}  validation {:.4g}  score {:.2f}%  best {:.2f}%", event.loss, event.validation_loss,
                       100 * event.score, 100 * event.best_score);
  }
  std::string detail() const {
    std::string text;
    std::size_t passed = 0, running = 0;
    double best = 0;
    for (const auto& [seed, row] : rows_) {
      text += row.passed ? fmt::format(" {}:passed", seed) : fmt::format(" {}:{:.1f}%", seed, 100 * row.score);
      passed += row.passed;
      running += !row.ended;
      best = std::max(best, row.score);
    }
    if (rows_.size() <= kShownSeeds) return "seeds" + text;
    return fmt::format("{} seeds running, {} passed, best {:.2f}%", running, passed, 100 * best);
  }

  const RunControl& control_;
  bool quiet_;
  std::uint64_t seeds_, steps_, budget_, work_ = 0, attempts_ = 1;
  Progress bar_;
  std::map<std::uint64_t, Row> rows_;
  std::vector<std::uint64_t> order_;  // of attempts
};

// Shows a run's events on a thread of its own: a terminal that is slow to print holds up nothing.
class ProgressThread {
 public:
  ProgressThread(Run& run, bool quiet) : progress_(run.config(), run.control(), quiet) {
    run.listen([this](const RunEvent& event) { queue_.push(event); });
  }
  ~ProgressThread() { finish(); }
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void finish() {  // all is told, and the bar is gone
    queue_.close();
    if (thread_.joinable()) thread_.join();
    progress_.clear();
  }

 private:
  static constexpr std::chrono::milliseconds kRedraw{50};

  TrainProgress progress_;
  EventQueue queue_;
  EventReader reader_{queue_};
  std::thread thread_{[this] {
    for (bool more = true; more;) {
      more = reader_.wait(kRedraw);
      for (const EventCopy& event : reader_.take()) progress_.show(event);
    }
  }};
};

// What each rank has sent and how much memory it had, by rank; called by all of them. Of one seed the bytes are those
// of its steps; of several, whose ranks tell rank 0 how theirs do, all that was sent, for each step of any seed.
struct RankFigures {
  std::vector<std::uint64_t> bytes_per_step;
  std::vector<double> peak_rss_mb;
};
RankFigures gather_figures(const RunReport& report, bool several, std::uint64_t sent_before) {
  RankFigures figures;
  ProgramRanks* const ranks = program_ranks();
  if (!ranks) return figures;
  std::uint64_t steps = 0, bytes = several ? ranks->bytes_sent() - sent_before : 0;
  for (const SeedReport& r : report.seeds) steps += r.phase_steps, bytes += r.bytes_sent;
  const std::uint64_t all_steps = ranks->all_gather(steps).front();  // the report of rank 0 is whole
  for (const std::uint64_t one : ranks->all_gather(bytes))
    figures.bytes_per_step.push_back(one / std::max<std::uint64_t>(1, all_steps));
  figures.peak_rss_mb = ranks->all_gather(peak_rss_mb());
  return figures;
}

// Where the time went, over all seeds, attempts and rounds of this call.
struct Timing {
  std::uint64_t steps = 0;
  double whole = 0;
  std::vector<std::pair<const char*, double>> phases;  // those that took time, and what is left
};
Timing timing_of(const RunReport& report) {
  constexpr std::pair<const char*, double PhaseSeconds::*> kPhases[] = {
      {"data", &PhaseSeconds::data},           {"forward", &PhaseSeconds::forward},
      {"backward", &PhaseSeconds::backward},   {"reduction", &PhaseSeconds::reduction},
      {"optimizer", &PhaseSeconds::optimizer}, {"evaluation", &PhaseSeconds::evaluation},
      {"search", &PhaseSeconds::search}};
  Timing timing;
  PhaseSeconds phases;
  for (const SeedReport& r : report.seeds) {
    timing.steps += r.phase_steps;
    phases = sum(phases, r.phases);
  }
  timing.whole = phases.whole;
  double other = phases.whole;
  for (const auto& [name, phase] : kPhases) {
    other -= phases.*phase;
    if (phases.*phase > 0) timing.phases.emplace_back(name, phases.*phase);
  }
  if (other > 0) timing.phases.emplace_back("other", other);
  return timing;
}

Json timing_json(const RunReport& report) {
  const Timing timing = timing_of(report);
  Json phases = Json::object();
  for (const auto& [name, seconds] : timing.phases) phases[name] = seconds;
  return {{"steps", timing.steps}, {"seconds", timing.whole}, {"phases", phases}};
}

void print_timing(const RunReport& report, const RankFigures& ranks) {
  const Timing timing = timing_of(report);
  if (timing.steps == 0 || timing.whole <= 0) return;
  note("time of a step, over {} steps:\n", timing.steps);
  for (const auto& [name, seconds] : timing.phases)
    note("  {:<10} {:9.3f} ms {:6.1f} %\n", name, seconds * 1e3 / static_cast<double>(timing.steps),
         100 * seconds / timing.whole);
  if (ranks.peak_rss_mb.empty()) return;
  const auto [least, most] = std::ranges::minmax(ranks.bytes_per_step);
  const auto [small, large] = std::ranges::minmax(ranks.peak_rss_mb);
  note("  each rank sends {} bytes per step, and has had {} MB of memory\n",
       least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
       small == large ? fmt::format("{:.0f}", large) : fmt::format("{:.0f} to {:.0f}", small, large));
}

Json json_of(const SeedReport& r) {
  Json j = {{"provenance", app::json_of(r.provenance)}};
  for (const auto& [name, value] : values_of(r))
    j[name] = value ? std::visit([](const auto& v) { return Json(v); }, *value) : Json();
  j["steps"] = r.steps;  // none of a seed that was not started
  j["model_hash"] = r.model_hash;
  return j;
}

Json summary(const Run& run, const RunReport& report, int threads, const RankFigures& ranks) {
  const SeedReport& best = report.best();
  Json j = json_of(best);
  j.update({{"task", run.config().task},
            {"threads", threads},
            {"soft_loss", best.loss},
            {"explained", best.verdict.explained},
            {"outcome", report.interrupted ? outcome_name(Outcome::kInterrupted) : best.outcome},
            {"ms_per_step", best.steps > 0 ? best.seconds * 1e3 / static_cast<double>(best.steps) : 0.0},
            {"wall_seconds", report.seconds},
            {"model", run.folder() + "/model.safetensors"},
            {"peak_rss_mb", peak_rss_mb()},
            {"timing", timing_json(report)},
            {"report", app::json_of(best.facts)}});
  if (!ranks.peak_rss_mb.empty())
    j["ranks"] = {{"bytes_per_step", ranks.bytes_per_step}, {"peak_rss_mb", ranks.peak_rss_mb}};
  if (report.seeds.size() == 1) return j;
  j["seeds"] = Json::array();
  for (const SeedReport& r : report.seeds) {
    Json row = json_of(r);
    for (const char* of_best : {"best_step", "judged_by", "verdict", "seconds", "num_parameters"}) row.erase(of_best);
    j["seeds"].push_back(row);
  }
  return j;
}

// "solved: every bit right, judged by 1,024 boards that nothing has seen"; what was not judged is not called anything.
std::string verdict_text(const SeedReport& r) {
  if (!r.verdict.judged()) return fmt::format("not judged; on the validation part: {}", r.verdict.text);
  return fmt::format("{}: {}, judged by {}", verdict_word(r.verdict), r.verdict.text, r.verdict.data);
}

void print_result(const Run& run, const RunReport& report) {
  const SeedReport& best = report.best();
  if (report.seeds.size() > 1) {
    fmt::print("{:>6} {:>8} {:>11} {:>16} {:>9}  {:<12} {}\n", "seed", "steps", "validation", "validation loss", "test",
               "outcome", "model");
    for (const SeedReport& r : report.seeds)
      if (r.started)
        fmt::print("{:>6} {:>8} {:>10.2f}% {:>16.6g} {:>9}  {:<12} {}\n", r.seed, r.steps, 100 * r.validation_score,
                   r.validation_loss, r.verdict.judged() ? fmt::format("{:.2f}%", 100 * r.verdict.score) : "-",
                   r.outcome, r.model_hash);
      else
        fmt::print("{:>6} {:>8} {:>11} {:>16} {:>9}  {}\n", r.seed, "-", "-", "-", "-", r.outcome);
  }
  const std::string time = clock_text(report.seeds.size() > 1 ? report.seconds : best.seconds);
  print("{} seed {}: {} in {}\n", run.config().task, best.seed, verdict_text(best), time);
  print("{:<7} {}\n", word_for(best.provenance), text_of(best.provenance));
  print("{:<7} {}\n", best.weights_hash.empty() ? "circuit" : "weights", best.model_hash);
  if (file_exists(run.folder() + "/model.safetensors")) print("model   {}/model.safetensors\n", run.folder());
  for (const auto& [name, value] : best.facts)
    print("  {:<36} {}\n", name,
          std::visit(
              [](const auto& v) {
                if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>)
                  return fmt::format("{:.4g}", v);
                else
                  return fmt::format("{}", v);
              },
              value));
}

// An unsolved end: how near it came, and what to try.
void print_advice(const Run& run, const RunReport& report) {
  const SeedReport& best = report.best();
  const RunConfig& config = run.config();
  const bool attempts = config.budget && config.seeds == 1;
  note("{}; the best of {}: {}. What to try:\n", verdict_word(best.verdict), counted(report.seeds.size(), "attempt"),
       best.verdict.text);
  if (!best.verdict.hint.empty()) {
    note("  {}\n", best.verdict.hint);
    return;
  }
  note("  espalier train --resume {} {}    more of the same\n", run.folder(),
       attempts ? fmt::format("--budget {}", 2 * std::max(config.budget, report.work))
                : fmt::format("--train-steps {}", config.train.steps ? 2 * config.train.steps : 100));
  note("  --seed {}    {}\n", config.seed + config.seeds,
       config.seeds > 1 ? "other starts" : "another start; or --seeds 4");
  if (best.validation_score == 1)
    note("  espalier eval {}    which trials fail; --no-trials does without them\n", run.folder());
}

// A seed that failed is told of, and is a failure of the whole.
bool print_failures(const RunReport& report) {
  bool failed = false;
  for (const SeedReport& r : report.seeds) {
    if (!r.error) continue;
    failed = true;
    const std::string what = text_of(r.error);
    const bool named = !program_ranks() || what == "out of memory" || what.starts_with("rank ");
    note("espalier: seed {} failed: {}{}\n", r.seed,
         named ? "" : fmt::format("rank 0 on {}: ", program_ranks()->host(0)), what);
  }
  return failed;
}

int train(Run run, ThreadPool& pool, const TrainFlags& f) {
  ProgressThread progress(run, f.quiet);
  const OnInterrupt limit([&run] { run.control().stop(); }, f.seconds);
  // Rank 0 takes in the checkpoints of all others: it gives their memory back at once, or it would need the most.
  if (program_ranks() && run.config().seeds > 1) ::mallopt(M_MMAP_THRESHOLD, 1 << 18);
  const std::uint64_t sent_before = program_ranks() ? program_ranks()->bytes_sent() : 0;
  const RunReport report = run.train(pool);
  const RankFigures figures = gather_figures(report, run.config().seeds > 1, sent_before);
  progress.finish();
  const bool failed = print_failures(report);
  if (f.timing) print_timing(report, figures);
  if (f.json)
    print_json(summary(run, report, pool.threads(), figures));
  else if (!report.interrupted || limit.out_of_time())
    print_result(run, report);
  if (report.interrupted && limit.out_of_time()) {
    note("out of time after {:g} s; continue with: espalier train --resume {}\n", f.seconds, run.folder());
    if (failed) return kFailed;
    return f.require_solved && !report.best().solved ? kUnsolved : kDone;
  }
  if (report.interrupted) {
    note("interrupted{}; continue with: espalier train --resume {}\n",
         report.seeds.size() == 1 ? fmt::format(" after step {}", report.best().steps) : "", run.folder());
    return kInterrupted;
  }
  if (failed) return kFailed;
  if (!f.json && !report.best().solved && run.config().train.until_solved) print_advice(run, report);
  return f.require_solved && !report.best().solved ? kUnsolved : kDone;
}

void join(RunOptions& options, const TrainFlags& f) {
  if (!program_ranks()) return;
  program_ranks()->set_patience(f.rank_timeout);
  options.ranks = program_ranks();
}

Command task_command(const Task& task) {
  struct Own {
    explicit Own(const Task& t) : config(t) {}
    TrainFlags flags;
    RunConfig config;
  };
  const auto own = std::make_shared<Own>(task);
  Command command{task.name, task.summary};
  add_run_flags(command.options, own->flags);
  own->flags.run.folder = kDefaultFolder;
  command.options.add("out", own->flags.run.folder, "run folder").metavar("DIR");
  command.options.add("force", own->flags.run.force, "replace a run already in the folder");
  if (!task.published.empty())
    command.options.add("published", own->flags.published,
                        "use the published settings where none are given: one attempt, no search");
  command.options.append(own->config.fields());
  command.over_ranks = true;
  return std::move(command).with(own, [&task, given = command.given](Own& own) {
    if (own.flags.published)
      for (const auto& [name, value] : task.published)
        if (!given->contains(name)) own.config.set(name, value);
    RunOptions options = own.flags.run;
    if (options.folder.empty()) throw UsageError("--out", "got an empty name, expected a folder");
    if (options.folder == kDefaultFolder) options.folder = fmt::format("runs/{}-{}", own.config.task, own.config.seed);
    join(options, own.flags);
    ThreadPool pool(own.flags.threads);  // before there is a folder
    return train(Run::create(own.config, options), pool, own.flags);
  });
}

}  // namespace

Command train_command() {
  const auto flags = std::make_shared<TrainFlags>();
  Command command{"train", "train a task, or continue a run"};
  command.footer = "espalier train TASK --help shows the options of a task.";
  command.what_it_takes = "task";
  command.options.add("list", flags->list, "list the tasks");
  command.options.add("resume", flags->resume, "continue the run in this folder").metavar("DIR");
  command.options.add("train-steps", flags->more_steps, "with --resume: train up to this many steps in all", 0, 1e9);
  command.options.add("budget", flags->more_budget, "with --resume: a larger budget for attempts with other seeds", 0,
                      1e15);
  add_run_flags(command.options, *flags);
  for (const Task& task : all_tasks()) command.commands.push_back(task_command(task));
  command.unknown = [](const std::string& word) {
    try {
      find_task(word);
    } catch (const Error& e) {
      throw UsageError("train", fmt::format("{}; espalier train --list shows them", e.what()));
    }
  };
  command.over_ranks = true;
  return std::move(command).with(flags, [](TrainFlags& flags) {
    if (flags.list && flags.json) {
      Json tasks = Json::array();
      for (const Task& task : all_tasks()) tasks.push_back({{"task", task.name}, {"summary", task.summary}});
      print_json({{"tasks", tasks}});
      return static_cast<int>(kDone);
    }
    if (flags.list) {
      for (const Task& task : all_tasks()) fmt::print("{:<20} {}\n", task.name, task.summary);
      return static_cast<int>(kDone);
    }
    if (flags.resume.empty())
      throw UsageError("train", "got no task, expected one; hint: espalier train --list shows them");
    RunOptions options = flags.run;
    join(options, flags);
    ThreadPool pool(flags.threads);
    return train(Run::resume(flags.resume, options, flags.more_steps, flags.more_budget), pool, flags);
  });
}

}  // namespace espalier::app
