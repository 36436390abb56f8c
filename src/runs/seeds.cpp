#include "runs/seeds.hpp"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "base/files.hpp"

namespace espalier {
namespace {

namespace fs = std::filesystem;
constexpr const char* kTable = "seeds.csv";
constexpr const char* kModel = "model.safetensors";

std::string seed_folder(const std::string& path, std::uint64_t seed) { return fmt::format("{}/seed-{}", path, seed); }

// The config of one seed, as if it were trained alone.
Json seed_config(const Json& config, std::uint64_t seed) {
  Json own = config;
  own["seed"] = seed;
  own["seeds"] = 1;
  own["until-solved"] = true;
  return own;
}

void read_state(SeedRow& row, const Trainer& trainer) {
  const TrainState& state = trainer.state();
  row.epochs = state.epoch;
  row.score = state.best.score;
  row.validation_loss = state.best.loss;
  row.solved = state.best.solved;
}

// The seeds of one call: a queue, the rows and what the seeds know of each other.
class SeedRace {
 public:
  SeedRace(const RunFolder& folder, const Json& config, const SessionOptions& options, const SeedsWatcher& watcher)
      : folder_(folder), config_(config), options_(options), watcher_(watcher) {
    const std::uint64_t first = config_seed(config), count = config.at("seeds");
    for (std::uint64_t k = 0; k < count; ++k) {
      rows_.emplace_back();
      rows_.back().seed = first + k;
    }
  }

  // Seeds that an earlier call finished: they set the mark that the others have to beat.
  void collect_finished(const ThreadPool& pool) {
    for (SeedRow& row : rows_) {
      if (!RunFolder::holds_run(seed_folder(folder_.path(), row.seed))) continue;
      Session session(RunFolder::open(seed_folder(folder_.path(), row.seed)), pool, options_);
      if (session.finished()) finish(row, session, session.run([](const Trainer&, bool) { return true; }));
    }
  }

  // Takes waiting seeds one after the other until none is left; called by several threads.
  void work(const ThreadPool& pool) {
    for (std::size_t i = next_++; i < rows_.size() && !stopped_; i = next_++)
      if (!rows_[i].started) run(rows_[i], pool);
  }

  std::vector<SeedRow>& rows() { return rows_; }
  bool stopped() const { return stopped_; }

 private:
  void run(SeedRow& row, const ThreadPool& pool) {
    try {
      const std::string path = seed_folder(folder_.path(), row.seed);
      const std::string config = seed_config(config_, row.seed).dump(2) + "\n";
      RunFolder own = RunFolder::holds_run(path) ? RunFolder::open(path) : RunFolder::create(path, config, true);
      if (own.config() != config)
        fail("train", fmt::format("{}, made with other options than {}", path, folder_.file("config.json")),
             "a seed of this run", "start anew with --force");
      Session session(std::move(own), pool, options_);
      set_outcome(row, "running");
      const bool beaten = session.trainer().state().epoch >= mark_;
      const Outcome outcome =
          beaten ? Outcome::kHopeless : session.run([&](const Trainer& trainer, bool) { return watch(row, trainer); });
      finish(row, session, outcome == Outcome::kInterrupted && !stopped_ ? Outcome::kHopeless : outcome);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      row.started = true;
      row.outcome = "failed";
      row.error = std::current_exception();
    }
  }

  bool watch(SeedRow& row, const Trainer& trainer) {
    const std::lock_guard lock(mutex_);
    read_state(row, trainer);
    if (row.solved) lower_mark(row.epochs);
    if (!watcher_(rows_)) stopped_ = true;
    return !stopped_ && (row.solved || row.epochs < mark_);
  }

  void finish(SeedRow& row, Session& session, Outcome outcome) {
    Json summary = session.summary(outcome);
    const std::lock_guard lock(mutex_);
    row.started = true;
    read_state(row, session.trainer());
    if (row.solved) lower_mark(row.epochs);
    row.outcome = outcome_name(outcome);
    row.weights_hash = summary.at("weights_hash");
    row.summary = std::move(summary);
  }

  void set_outcome(SeedRow& row, const char* outcome) {
    const std::lock_guard lock(mutex_);
    row.started = true;
    row.outcome = outcome;
  }
  void lower_mark(std::uint64_t epochs) {
    if (epochs < mark_) mark_ = epochs;  // under the lock
  }

  const RunFolder& folder_;
  const Json& config_;
  const SessionOptions& options_;
  const SeedsWatcher& watcher_;
  std::mutex mutex_;  // of the rows and the watcher
  std::vector<SeedRow> rows_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> mark_{std::numeric_limits<std::uint64_t>::max()};  // fewest epochs of a solved seed
  std::atomic<bool> stopped_{false};
};

void write_table(const RunFolder& folder, const std::vector<SeedRow>& rows) {
  std::string text = "seed,epochs,score,validation_loss,solved,outcome,weights_hash\n";
  for (const SeedRow& r : rows)
    text += fmt::format("{},{},{},{},{},{},{}\n", r.seed, r.epochs, r.score, r.validation_loss, r.solved ? 1 : 0,
                        r.outcome, r.weights_hash);
  write_atomically(folder.file(kTable), std::string_view(text));
}

void remove_seeds(const std::string& path) {
  fs::remove(path + "/" + kTable);
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !name.starts_with("seed-") || !RunFolder::holds_run(entry.path().string())) continue;
    RunFolder::clear(entry.path().string());
    std::error_code not_empty;  // a file that is not ours stays, and its folder with it
    fs::remove(entry.path(), not_empty);
  }
}

}  // namespace

bool wins(const SeedRow& a, const SeedRow& b) {
  if (a.summary.empty() != b.summary.empty()) return b.summary.empty();  // one that failed never wins
  if (a.solved != b.solved) return a.solved;
  if (a.solved) return a.epochs != b.epochs ? a.epochs < b.epochs : a.seed < b.seed;
  if (a.score != b.score) return a.score > b.score;
  return a.validation_loss != b.validation_loss ? a.validation_loss < b.validation_loss : a.seed < b.seed;
}

SeedsReport train_seeds(const RunFolder& folder, const ThreadPool& pool, const SessionOptions& options,
                        const SeedsWatcher& watcher) {
  const double start = seconds_now();
  const Json config = parse_config(folder.config(), folder.file("config.json"));
  SeedRace race(folder, config, options, watcher);
  race.collect_finished(pool);
  {
    const int workers = pool.workers();
    const int at_once = std::min(workers, static_cast<int>(race.rows().size()));
    std::vector<std::jthread> threads;
    for (int i = 0; i < at_once; ++i)
      threads.emplace_back([&race, share = workers / at_once + (i < workers % at_once)] { race.work(ThreadPool(share)); });
  }
  SeedsReport report;
  report.rows = std::move(race.rows());
  report.interrupted = race.stopped();
  report.seconds = seconds_now() - start;
  for (std::size_t i = 1; i < report.rows.size(); ++i)
    if (wins(report.rows[i], report.rows[report.winner])) report.winner = i;
  const SeedRow& winner = report.rows[report.winner];
  if (winner.summary.empty())
    for (const SeedRow& row : report.rows)
      if (row.error) std::rethrow_exception(row.error);
  write_table(folder, report.rows);
  if (!report.interrupted)
    write_atomically(folder.file(kModel), read_bytes(seed_folder(folder.path(), winner.seed) + "/" + kModel));
  return report;
}

Json SeedsReport::summary(const RunFolder& folder, int threads) const {
  Json all = rows[winner].summary;
  all["threads"] = threads;
  all["model"] = folder.file(kModel);
  all["wall_seconds"] = seconds;
  if (interrupted) all["outcome"] = outcome_name(Outcome::kInterrupted);
  all["seeds"] = Json::array();
  for (const SeedRow& r : rows)
    all["seeds"].push_back({{"seed", r.seed},
                            {"epochs", r.epochs},
                            {"score", r.score},
                            {"validation_loss", r.validation_loss},
                            {"solved", r.solved},
                            {"outcome", r.outcome},
                            {"weights_hash", r.weights_hash}});
  return all;
}

RunFolder create_run(const std::string& path, const Json& config, bool force) {
  RunFolder folder = RunFolder::create(path, config.dump(2) + "\n", force);
  remove_seeds(path);
  return folder;
}

}  // namespace espalier
