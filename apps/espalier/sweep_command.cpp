// espalier sweep TASK --vary ...: every combination of settings with every seed, and what share of them solves the
// task.
#include <cmath>

#include "base/files.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "runs/outputs.hpp"
#include "runs/sweep.hpp"

namespace espalier::app {
namespace {

struct Flags {
  explicit Flags(const Task& task) : config(task) {}
  RunConfig config;
  std::string vary, out;
  std::uint64_t seed = 1, seeds = 20;
  int threads = 0;
  bool quiet = false, json = false;
};

// What the user set of the task's own options: they hold for every trial.
Settings fixed_settings(RunConfig& config, const std::set<std::string>& given) {
  Settings settings;
  const Fields fields = config.fields();
  for (const Field& field : fields.list())
    if (!is_set_by_sweep(field.name()) && given.contains(field.name()))
      settings.emplace_back(field.name(), field.text());
  return settings;
}

std::string seconds_text(double seconds) { return std::isfinite(seconds) ? fmt::format("{:.1f} s", seconds) : "-"; }

Json row_json(const SweepRow& row) {
  const Share share = row.share();
  const auto [low, high] = share.interval();
  Json settings = Json::object(), seeds = Json::array();
  for (const auto& [name, value] : row.settings) settings[name] = value;
  for (const SeedReport& r : row.seeds)
    seeds.push_back({{"seed", r.seed},
                     {"solved", r.solved},
                     {"steps", r.steps},
                     {"validation_loss", r.validation_loss},
                     {"seconds", r.seconds},
                     {"model_hash", r.model_hash}});
  return {{"settings", settings},
          {"solved", share.solved},
          {"trials", share.trials},
          {"share", share.value()},
          {"share_low", low},
          {"share_high", high},
          {"mean_seconds", row.mean_seconds()},
          {"tts99", std::isfinite(row.tts99()) ? Json(row.tts99()) : Json()},
          {"seeds", seeds}};
}

// Trials that failed count as neither solved nor unsolved; they are told of.
bool print_failures(const std::vector<SweepRow>& rows) {
  bool failed = false;
  for (const SweepRow& row : rows)
    for (const SeedReport& r : row.seeds) {
      if (!r.error) continue;
      failed = true;
      note("espalier: {}, seed {} failed: {}\n", row.settings.empty() ? "defaults" : name_of(row.settings), r.seed,
           text_of(r.error));
    }
  return failed;
}

// A folder in which others keep their runs may look like that of a sweep, and have such files of its own.
void check_results(const std::string& folder) {
  const std::string results = folder + "/results.csv";
  check_unnamed_output("sweep", results, "seed,solved,");
  if (!file_exists(results)) check_unnamed_output("sweep", folder + "/shares.svg");
}

int run(Flags& f, const Task& task, const std::set<std::string>& given) {
  const std::string folder = f.out.empty() ? fmt::format("runs/sweep-{}", task.name) : f.out;
  Sweep sweep(task.name, fixed_settings(f.config, given), parse_axes(f.vary), f.seed, f.seeds);
  check_results(folder);
  const ThreadPool pool(f.threads);
  Progress bar(f.quiet, sweep.trials());
  const OnInterrupt on_interrupt([&sweep] { sweep.stop(); });
  const std::vector<SweepRow> rows = sweep.run(folder, pool, [&](std::size_t done, std::size_t solved) {
    if (!f.quiet) bar.update(done, fmt::format("{} combinations, {} solved", sweep.combinations(), solved));
  });
  bar.clear();
  if (sweep.stopped()) {
    note("interrupted; the same command continues\n");
    return kInterrupted;
  }
  const bool failed = print_failures(rows);
  write_atomically(folder + "/results.csv", std::string_view(sweep_csv(rows)));
  write_atomically(folder + "/shares.svg",
                   std::string_view(sweep_picture(
                       rows, fmt::format("{}: seeds {} to {}", task.name, f.seed, f.seed + f.seeds - 1))));
  if (f.json) {
    Json list = Json::array();
    for (const SweepRow& row : rows) list.push_back(row_json(row));
    print_json({{"task", task.name}, {"folder", folder}, {"rows", list}});
  } else {
    fmt::print("{:<40} {:>10} {:>7} {:>17} {:>10} {:>10}\n", "settings", "solved", "share", "95 % interval", "a try",
               "TTS99");
    for (const SweepRow& row : rows) {
      const Share share = row.share();
      const auto [low, high] = share.interval();
      print("{:<40} {:>10} {:>6.0f}% {:>7.0f}% to {:>4.0f}% {:>10} {:>10}\n",
            row.settings.empty() ? "defaults" : name_of(row.settings),
            fmt::format("{} of {}", share.solved, share.trials), 100 * share.value(), 100 * low, 100 * high,
            seconds_text(row.mean_seconds()), seconds_text(row.tts99()));
    }
    print("{0}/results.csv, {0}/shares.svg\n", folder);
  }
  return failed ? kFailed : kDone;
}

Command task_command(const Task& task) {
  const auto f = std::make_shared<Flags>(task);
  Command command{task.name, task.summary};
  command.options.add("vary", f->vary, "settings and their values: start-logit=3,6,10;lr=0.05,0.1").metavar("LIST");
  command.options.add("seeds", f->seeds, "seeds for every combination", 1, 1e6);
  command.options.add("seed", f->seed, "the first seed", 0, 1e18);
  command.options.add("out", f->out, "folder of the trials (default runs/sweep-TASK)").metavar("DIR");
  add_threads(command.options, f->threads);
  command.options.add("quiet", f->quiet, "no progress");
  add_json(command.options, f->json);
  Fields own = f->config.fields();
  std::erase_if(own.list(), [](const Field& field) { return is_set_by_sweep(field.name()); });
  command.options.append(std::move(own));
  return std::move(command).with(f, [&task, given = command.given](Flags& f) { return run(f, task, *given); });
}

}  // namespace

Command sweep_command() {
  Command command{"sweep",
                  "train every combination of some settings with many seeds, and count how many solve the task"};
  command.footer =
      "Example: espalier sweep life --vary start-logit=3,6,10 --seeds 20\n"
      "TTS99: seconds until a solution is found with probability 0.99 when tries are repeated. Every trial runs to "
      "its\n"
      "end on one thread; finished ones are kept, so the same command continues after an interruption.";
  command.what_it_takes = "task";
  for (const Task& task : all_tasks()) command.commands.push_back(task_command(task));
  return command;
}

}  // namespace espalier::app
