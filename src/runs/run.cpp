// Runs of one seed or many, in a folder or in memory.
#include "espalier/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "espalier/error.hpp"
#include "espalier/lattice_model.hpp"
#include "espalier/random.hpp"
#include "espalier/ranks.hpp"
#include "runs/report_values.hpp"
#include "runs/run_folder.hpp"
#include "runs/seed_ranks.hpp"
#include "runs/session.hpp"

namespace espalier {
namespace {

constexpr double kReportSeconds = 0.05;              // between two steps of a seed that rank 0 hears of
constexpr const char* kBeaten = "beaten";            // stopped because a lower seed has solved the task
constexpr const char* kUnconfirmed = "unconfirmed";  // the validation was passed, and the verdict is another

// The config of one of several seeds, as if it were trained alone.
RunConfig seed_config(const RunConfig& config, std::uint64_t seed) {
  RunConfig own = config;
  own.seed = seed;
  own.seeds = 1;
  own.budget = 0;
  own.train.until_solved = true;
  return own;
}

// Of an attempt under a budget: the first has the run's own, later ones what the generator makes of it.
std::uint64_t attempt_seed(std::uint64_t seed, std::size_t attempt) {
  if (attempt == 0) return seed;
  return Random(seed, Purpose::kRestart).bits(attempt) >> 1;  // short enough to be typed
}

// Whether `a` is the better one of two seeds that have ended; a strict order.
bool wins(const SeedReport& a, const SeedReport& b) {
  if (!a.error != !b.error) return !a.error;
  if (a.started != b.started) return a.started;
  if (a.passed != b.passed) return a.passed;
  if (a.passed) return a.seed < b.seed;
  if (a.validation_score != b.validation_score) return a.validation_score > b.validation_score;
  return a.validation_loss != b.validation_loss ? a.validation_loss < b.validation_loss : a.seed < b.seed;
}

}  // namespace

struct Run::State {
  State(RunConfig c, RunOptions o) : config(std::move(c)), options(std::move(o)) {}

  RunConfig config;
  RunOptions options;
  std::optional<RunFolder> folder;
  RunControl control;
  std::unique_ptr<Objective> first;  // of the first seed, made to see that the task can be done
  std::vector<RunListener> listeners;
  std::vector<std::unique_ptr<Model>> models;  // of seeds that could still win
  std::size_t winner = 0;

  // While training:
  std::mutex mutex;  // of the reports, the work done and the listeners
  RunReport report;
  std::uint64_t work_done = 0;       // of the budget
  std::atomic<std::size_t> next{0};  // of the seeds
  std::atomic<std::uint64_t> lowest_solved{std::numeric_limits<std::uint64_t>::max()};

  std::unique_ptr<SeedClient> client;  // of several seeds on a rank that is not the first

  void emit(const RunEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.kind == RunEvent::Kind::kCheckpoint && folder) folder->drop_replaced();
    for (const RunListener& listener : listeners) listener(event);
  }
  // One that trains here: also told to rank 0, not every step.
  void emit_own(std::size_t index, const RunEvent& event, double& told_at) {
    emit(event);
    if (!client) return;
    const double now = seconds_now();
    const bool small = event.kind == RunEvent::Kind::kStep || event.kind == RunEvent::Kind::kSearch;
    if (small && now - told_at < kReportSeconds) return;
    told_at = now;
    follow(client->tell(index, event));
  }
  void follow(const SeedStatus& status) {
    note_solved(status.lowest_solved);
    if (status.stop && !control.stopped()) control.stop();
  }
  std::size_t stride() const { return options.ranks ? static_cast<std::size_t>(options.ranks->size()) : 1; }

  bool writes() const { return !options.ranks || options.ranks->first(); }
  bool several() const { return config.seeds > 1; }
  bool restarts() const { return !several() && config.budget > 0 && config.train.until_solved; }

  std::unique_ptr<RunFolder> folder_of(const RunConfig& own) const {
    if (client)
      return client->open(own.seed - config.seed, RunFolder::seed_folder(options.folder, own.seed), own.text());
    if (!folder) return nullptr;
    if (!several() && own.seed == config.seed) return std::make_unique<RunFolder>(*folder);
    folder->check_place();
    const std::string path = RunFolder::seed_folder(folder->path(), own.seed);
    if (!RunFolder::holds_run(path)) return std::make_unique<RunFolder>(RunFolder::create(path, own.text(), false));
    RunFolder old = RunFolder::open(path);
    if (old.config() != own.text()) {
      RunConfig before = RunConfig::parse(old.config(), old.file("config.json"), all_tasks());
      before.train.steps = own.train.steps;
      if (before.text() != own.text())
        fail("resume", fmt::format("{}, made with other settings than {}", path, folder->file("config.json")),
             "a seed of this run", "start the run anew");
      old.replace_config(own.text());
    }
    return std::make_unique<RunFolder>(std::move(old));
  }

  // Trains one seed; what it throws ends in its report.
  void train_seed(std::size_t index, ThreadPool& pool) {
    SeedReport& row = report.seeds[index];
    double told_at = 0;
    try {
      const RunConfig own = several() || index > 0 ? seed_config(config, row.seed) : config;
      Session session(own, index == 0 ? std::move(first) : nullptr, folder_of(own), options, pool,
                      [&](const RunEvent& event) { emit_own(index, event, told_at); });
      {
        const std::lock_guard lock(mutex);
        row.started = true;
        row.outcome = "running";
        work_done += own.train.steps + session.trainer().objective().refine_work(own.train.steps);
      }
      const auto done = [&] { return several() && row.seed > lowest_solved; };
      const auto go_on = [&](const Trainer& trainer) {
        if (client && seconds_now() - told_at > kReportSeconds)  // also where a search takes no steps
          emit_own(index,
                   {.kind = RunEvent::Kind::kStep, .seed = row.seed, .trainer = &trainer, .state = &trainer.state()},
                   told_at);
        if (trainer.state().best.passed && several()) note_solved(row.seed);
        return !done();
      };
      // One that came to its end in an earlier session takes no step, and tells again how it ended.
      Outcome outcome = done() && !session.finished() ? Outcome::kInterrupted : session.run(control, go_on);
      // Passed in the very step after which a lower seed's success would have stopped it.
      if (outcome == Outcome::kInterrupted && several() && session.passed()) outcome = Outcome::kSolved;
      const bool ended = outcome != Outcome::kInterrupted;
      const bool beaten = !ended && several() && row.seed > lowest_solved;
      finish(index, session, beaten ? kBeaten : outcome_name(outcome), ended, pool);
    } catch (...) {
      const std::lock_guard lock(mutex);
      row.started = true;
      row.outcome = "failed";
      row.error = std::current_exception();
    }
    if (client) hand_over(index);
  }

  void hand_over(std::size_t index) {
    try {
      follow(client->end(index, report.seeds[index], models[index].get()));
      models[index].reset();
    } catch (const std::exception& error) {  // rank 0 cannot take it: without this seed there is no result
      options.ranks->give_up(options.ranks->rank(), fmt::format("could not hand over a seed: {}", error.what()));
    }
  }

  void note_solved(std::uint64_t seed) {
    std::uint64_t lowest = lowest_solved;
    while (seed < lowest && !lowest_solved.compare_exchange_weak(lowest, seed)) {
    }
  }

  void finish(std::size_t index, const Session& session, const std::string& outcome, bool ended, ThreadPool& pool) {
    SeedReport& row = report.seeds[index];
    std::unique_ptr<Model> best;
    if (session.evaluated()) best = session.best_model().model;
    if (auto* lattice = dynamic_cast<LatticeModel*>(best.get())) lattice->set_task(config.task);
    Facts facts;
    if (best && ended) facts = session.trainer().objective().report(*best, pool);
    const std::lock_guard lock(mutex);
    session.fill(row);
    if (row.passed && several()) note_solved(row.seed);
    row.outcome = outcome == outcome_name(Outcome::kSolved) && !row.solved ? kUnconfirmed : outcome;
    const std::string weights = session.trainer().objective().parameters().hash();
    row.model_hash = best ? best->hash() : weights;
    row.weights_hash = best && best->hash() != best->parameters().hash() ? "" : weights;
    row.facts = std::move(facts);
    keep(index, std::move(best));
  }

  // Under the mutex. Only the best of those that have ended can win: of hundreds of seeds the others would fill the
  // memory of rank 0. On other ranks a model is needed until it is handed over.
  void keep(std::size_t index, std::unique_ptr<Model> model) {
    models.at(index) = std::move(model);
    if (client) return;
    std::size_t best = index;
    for (std::size_t i = 0; i < models.size(); ++i)
      if (models[i] && (!models[best] || wins(report.seeds[i], report.seeds[best]))) best = i;
    for (std::size_t i = 0; i < models.size(); ++i)
      if (i != best) models[i].reset();
  }

  // One seed, and others after it while the budget lasts. A kill changes nothing: attempts that have ended are read.
  void work_alone(ThreadPool& pool) {
    const auto stopped = [&] { return pool.ranks() ? pool.ranks()->any(control.stopped()) : control.stopped(); };
    for (std::size_t i = 0;; ++i) {
      if (stopped()) return;
      train_seed(i, pool);
      const SeedReport& row = report.seeds[i];
      if (!restarts() || row.passed || row.error || work_done >= config.budget || stopped()) return;
      SeedReport next;
      next.seed = attempt_seed(config.seed, i + 1);
      const std::lock_guard lock(mutex);
      report.seeds.push_back(std::move(next));
      models.emplace_back();
    }
  }

  bool begun(std::size_t index) const {
    if (client) return client->begun(index);
    return folder && RunFolder::holds_run(RunFolder::seed_folder(folder->path(), config.seed + index));
  }

  // Takes waiting seeds one after the other, lowest first, until none is left that could win.
  void work(ThreadPool& pool) {
    for (std::size_t i = next.fetch_add(stride()); i < report.seeds.size(); i = next.fetch_add(stride())) {
      if (control.stopped()) return;
      const std::uint64_t seed = config.seed + i;
      // One that was begun before it was beaten, in an earlier session perhaps, is looked at for the report.
      if (seed <= lowest_solved || begun(i)) {
        train_seed(i, pool);
        continue;
      }
      std::unique_lock lock(mutex);
      report.seeds[i].outcome = kBeaten;
      lock.unlock();
      if (client) hand_over(i);
    }
  }

  void work_in_parallel(ThreadPool& pool) {
    const int workers = pool.workers();
    const std::size_t own_seeds = (report.seeds.size() + stride() - 1 - std::min(next.load(), stride() - 1)) / stride();
    const int at_once = std::min<int>(workers, static_cast<int>(own_seeds));
    if (at_once <= 1) return work(pool);
    std::vector<std::unique_ptr<ThreadPool>> pools;
    std::vector<std::jthread> threads;
    try {
      for (int i = 0; i < at_once; ++i)
        pools.push_back(std::make_unique<ThreadPool>(workers / at_once + (i < workers % at_once)));
      for (const auto& own : pools) threads.emplace_back([this, p = own.get()] { work(*p); });
    } catch (const std::exception& error) {  // no thread, or no memory for one
      emit({.kind = RunEvent::Kind::kMessage,
            .text = fmt::format("only {} of {} seeds can be trained at once ({}); continuing with that many",
                                std::max<std::size_t>(threads.size(), 1), at_once, error.what())});
    }
    if (threads.empty()) work(pool);
  }

  // Several seeds over ranks: every stride-th is ours.
  void work_as_rank(ThreadPool& pool) {
    Ranks& ranks = *options.ranks;
    next = static_cast<std::size_t>(ranks.rank());
    if (!ranks.first()) {
      first.reset();  // the lowest seed is rank 0's
      client = std::make_unique<SeedClient>(ranks);
      work_in_parallel(pool);
      while (!client->idle(control.stopped()).all_ended) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return;
    }
    std::atomic<bool> done{false};
    SeedServer server(ranks, {[this](std::size_t index) { return begun(index); },
                              [this](std::size_t index) { return folder_of(seed_config(config, config.seed + index)); },
                              [this](const RunEvent& event) { emit(event); },
                              [this](std::size_t index, SeedReport row, std::unique_ptr<Model> model) {
                                const std::lock_guard lock(mutex);
                                report.seeds.at(index) = std::move(row);
                                keep(index, std::move(model));
                              },
                              [this] {
                                return SeedStatus{lowest_solved, control.stopped(), 0};
                              },
                              [this](std::uint64_t seed) { note_solved(seed); }, [this] { control.stop(); }});
    const std::jthread thread([&] {
      try {
        server.serve([&] { return done.load(); });
      } catch (const std::exception& error) {
        ranks.give_up(0, fmt::format("could not serve the others: {}", error.what()));
      }
    });
    work_in_parallel(pool);
    done = true;
  }

  void write_table() const {
    const std::string text = seeds_table(report.seeds);
    folder->write(kSeeds, std::as_bytes(std::span(text)));
  }
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run::~Run() = default;

const SeedReport& RunReport::best() const {
  if (winner >= seeds.size()) fail("run report", "a report without seeds", "that of a run that was trained");
  return seeds[winner];
}

namespace {

void check_options(const RunOptions& options) {
  if (!(options.checkpoint_seconds >= 0))
    fail("run", fmt::format("{} seconds between checkpoints", options.checkpoint_seconds), "0 or more");
}

}  // namespace

Run Run::create(RunConfig config, const RunOptions& options) {
  check_options(options);
  Fields fields = config.fields();  // members can be set without their fields
  for (Field& field : fields.list()) field.set(field.value());
  auto state = std::make_unique<State>(std::move(config), options);
  state->first = state->config.resolve();  // what is impossible fails here, before there is a folder
  check_same_inputs(state->config.options().input_files(), options.ranks);
  if (!options.folder.empty() && state->writes()) {
    refuse_folder_of_inputs(options.folder, state->config.options().input_files());
    state->folder = RunFolder::create(options.folder, state->config.text(), options.force);
  }
  return Run(std::move(state));
}

Run Run::resume(const std::string& folder, const RunOptions& options, std::uint64_t train_steps, std::uint64_t budget) {
  check_options(options);
  if (options.ranks && !options.ranks->first()) {  // told by rank 0 below
    auto state = std::make_unique<State>(
        RunConfig::parse(options.ranks->broadcast(std::string()), "the configuration of rank 0", all_tasks()), options);
    check_same_inputs(state->config.options().input_files(), options.ranks);
    state->options.folder = folder;
    return Run(std::move(state));
  }
  RunFolder opened = RunFolder::open(folder);
  RunConfig config = RunConfig::parse(opened.config(), opened.file("config.json"), all_tasks());
  if (train_steps) {
    if (train_steps < config.train.steps)
      fail("resume", fmt::format("{} training steps", train_steps),
           fmt::format("at least the {} that the run has", config.train.steps));
    config.train.steps = train_steps;
  }
  if (budget) {
    if (config.seeds > 1) fail("resume", "a budget for several seeds", "one for a single seed", "give more steps");
    if (budget < config.budget)
      fail("resume", fmt::format("a budget of {}", budget),
           fmt::format("at least the {} that the run has", config.budget));
    config.budget = budget;
  }
  if (train_steps || budget || !is_run_config(opened.config())) opened.replace_config(config.text());
  if (options.ranks) options.ranks->broadcast(config.text());
  check_same_inputs(config.options().input_files(), options.ranks);
  auto state = std::make_unique<State>(std::move(config), options);
  state->options.folder = folder;
  state->folder = std::move(opened);
  return Run(std::move(state));
}

void Run::listen(RunListener listener) {
  if (!listener) fail("run", "an empty listener", "one that takes events");
  state_->listeners.push_back(std::move(listener));
}
RunControl& Run::control() { return state_->control; }
const RunConfig& Run::config() const { return state_->config; }
const std::string& Run::folder() const { return state_->options.folder; }

RunReport Run::train(ThreadPool& pool) {
  State& s = *state_;
  const double start = seconds_now();
  s.report = {};
  for (std::uint64_t k = 0; k < s.config.seeds; ++k) {
    s.report.seeds.emplace_back();
    s.report.seeds.back().seed = s.config.seed + k;
  }
  s.models.clear();
  s.models.resize(s.report.seeds.size());
  s.client.reset();
  s.next = 0;
  s.work_done = 0;
  s.lowest_solved = std::numeric_limits<std::uint64_t>::max();
  if (s.folder && !s.folder->remark().empty()) s.emit({.kind = RunEvent::Kind::kMessage, .text = s.folder->remark()});
  if (s.options.ranks && !s.several()) {
    pool.join(s.options.ranks);
    s.work_alone(pool);
    pool.join(nullptr);
  } else if (!s.several()) {
    s.work_alone(pool);
  } else if (s.options.ranks) {
    s.work_as_rank(pool);
  } else {
    s.work_in_parallel(pool);
  }

  RunReport report = std::move(s.report);
  report.interrupted = s.control.stopped();
  if (s.client) return report;  // rank 0 has the whole one
  for (std::size_t i = 1; i < report.seeds.size(); ++i)
    if (wins(report.seeds[i], report.seeds[report.winner])) report.winner = i;
  if (report.best().error) std::rethrow_exception(report.best().error);
  s.winner = report.winner;
  report.seconds = seconds_now() - start;
  report.work = s.work_done;
  if (s.folder && report.seeds.size() > 1) {
    s.report = report;
    s.write_table();
    const std::string best = RunFolder::seed_folder(s.folder->path(), report.best().seed) + "/model.safetensors";
    // One that was stopped may have none yet.
    if ((s.several() || report.winner > 0) && (!report.interrupted || file_exists(best)))
      s.folder->write(RunFolder::kModel, read_bytes(best));
  }
  if (s.folder) s.folder->check_place();
  return report;
}

std::unique_ptr<Model> Run::best_model() {
  if (state_->winner >= state_->models.size() || !state_->models[state_->winner])
    fail("best model", "a run that was not trained, or has handed its model over",
         "one that was trained and still has it");
  return std::move(state_->models[state_->winner]);
}

}  // namespace espalier
