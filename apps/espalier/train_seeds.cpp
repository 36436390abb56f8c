// Many seeds at once: progress of all in one line, a table at the end.
#include <fmt/format.h>

#include "commands.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "train_flags.hpp"
#include "espalier/error.hpp"
#include "runs/seeds.hpp"

namespace espalier::app {
namespace {

constexpr std::size_t kShownSeeds = 8;  // more do not fit in a line

std::string detail(const std::vector<SeedRow>& rows) {
  if (rows.size() <= kShownSeeds) {
    std::string text;
    for (const SeedRow& r : rows)
      text += r.solved                 ? fmt::format(" {}:solved", r.seed)
              : r.outcome == "running" ? fmt::format(" {}:{:.1f}%", r.seed, 100 * r.score)
                                       : fmt::format(" {}:{}", r.seed, r.outcome);
    return "seeds" + text;
  }
  std::size_t solved = 0, running = 0;
  double best = 0;
  for (const SeedRow& r : rows) {
    solved += r.solved;
    running += r.outcome == "running";
    best = std::max(best, r.score);
  }
  return fmt::format("{} seeds running, {} solved, best {:.2f}%", running, solved, 100 * best);
}

// Epochs behind us; a seed that has ended counts in full.
std::uint64_t epochs_done(const std::vector<SeedRow>& rows, std::uint64_t epochs) {
  std::uint64_t done = 0;
  for (const SeedRow& r : rows) done += r.outcome == "running" || r.outcome == "waiting" ? r.epochs : epochs;
  return done;
}

void print_rows(const SeedsReport& report, const RunFolder& folder) {
  fmt::print("{:>6} {:>8} {:>9} {:>16}  {:<12} {}\n", "seed", "epochs", "score", "validation loss", "outcome",
             "weights");
  for (const SeedRow& r : report.rows)
    fmt::print("{:>6} {:>8} {:>8.2f}% {:>16.6g}  {:<12} {}\n", r.seed, r.epochs, 100 * r.score, r.validation_loss,
               r.outcome, r.weights_hash);
  const SeedRow& best = report.rows[report.winner];
  fmt::print("best: seed {}, {}, in {}\nmodel   {}\n", best.seed, best.solved ? "solved" : "not solved",
             clock_text(report.seconds), folder.file("model.safetensors"));
}

void print_failures(const SeedsReport& report) {
  for (const SeedRow& r : report.rows) {
    if (!r.error) continue;
    try {
      std::rethrow_exception(r.error);
    } catch (const std::exception& e) {
      fmt::print(stderr, "seed {} failed: {}\n", r.seed, e.what());
    }
  }
}

}  // namespace

int train_many(const RunFolder& folder, const ThreadPool& pool, const TrainFlags& f) {
  const StopFlag& stop = interrupt_flag();
  const Json config = parse_config(folder.config(), folder.file("config.json"));
  const std::uint64_t epochs = config.at("epochs"), seeds = config.at("seeds");
  Progress progress(f.quiet, epochs * seeds);
  const SeedsReport report = train_seeds(folder, pool, f.session, [&](const std::vector<SeedRow>& rows) {
    progress.update(epochs_done(rows, epochs), detail(rows));
    return !stop.raised();
  });
  progress.clear();
  print_failures(report);
  const Json summary = report.summary(folder, pool.threads());
  if (f.json)
    fmt::print("{}\n", summary.dump());
  else if (!report.interrupted)
    print_rows(report, folder);
  if (report.interrupted) {
    fmt::print(stderr, "interrupted; continue with: espalier train --resume {}\n", folder.path());
    return kInterrupted;
  }
  return f.require_solved && !summary.at("solved").get<bool>() ? kUnsolved : kDone;
}

}  // namespace espalier::app
