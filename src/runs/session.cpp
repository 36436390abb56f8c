#include "runs/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/ranks.hpp"

namespace espalier {

Session::Session(const RunConfig& config, std::unique_ptr<Objective> objective, std::unique_ptr<RunFolder> folder,
                 const RunOptions& options, ThreadPool& pool, RunListener emit)
    : config_(config),
      folder_(std::move(folder)),
      options_(options),
      pool_(pool),
      emit_(std::move(emit)),
      // Ranks without a folder get the checkpoint of rank 0, which tells of the data that it was made with.
      inputs_(hash_inputs(folder_ || pool.ranks() ? config.options().input_files() : std::vector<std::string>())),
      objective_(objective ? std::move(objective) : config.make_objective()),
      search_every_(objective_->refine_every()),
      trainer_(std::make_unique<Trainer>(*objective_, config.train, pool)) {
  restore();
  first_step_ = trainer_->state().step;
}

CheckpointNotes Session::notes(bool finished) const {
  RunConfig same = config_;
  same.train.steps = 0;  // a run may be given more steps than it began with ...
  same.budget = 0;       // ... and more attempts
  return {finished, Hasher().add(same.text()).hex(), inputs_, metrics_, traits_, other_bits_};
}

// Rank 0 has the folder; the others get what it has restored.
void Session::restore() {
  if (folder_) restore_from_files();
  Ranks* const ranks = pool_.ranks();
  if (!ranks) return;
  Bytes checkpoint;
  if (began_before_) checkpoint = make_checkpoint(*trainer_, notes(finished_), refined_).serialize();
  ranks->broadcast(checkpoint);
  if (!ranks->first() && !checkpoint.empty())
    take(restore_checkpoint(*trainer_, SafetensorsFile::parse(checkpoint, "the checkpoint of rank 0"), notes(false)));
}

void Session::take(Restored restored) {
  began_before_ = true;
  finished_ = restored.finished;
  refined_ = std::move(restored.refined);
  other_bits_ = restored.other_bits;
  metrics_ = restored.metrics;
  const std::string changed = difference(restored.traits, traits_);
  if (changed.empty()) return;
  other_bits_ += fmt::format("{}resumed at step {} with another {}", other_bits_.empty() ? "" : "; ",
                             trainer_->state().step, changed);
  say(fmt::format("the bits may differ from those of a run that was never stopped: {}", other_bits_));
}

// What nobody but this run writes must be what it wrote.
void Session::check_metrics() {
  const MetricsCheck check = folder_->trim_metrics(trainer_->state().step, metrics_);
  metrics_ = check.seal;
  if (!check.damage.empty()) say(check.damage);
  if (check.cut > 0)
    say(fmt::format("{} had {} lines more than were written; they were cut off", folder_->file(kMetrics), check.cut));
}

// A damaged checkpoint is not the end: the one before it leads to the same bits.
void Session::restore_from_files() {
  const CheckpointNotes expected = notes(false);
  const auto path = folder_->checkpoint(), previous = folder_->previous_checkpoint();
  std::string problem = fmt::format("the newest checkpoint of {} is missing", folder_->path());
  if (path) {
    try {
      take(restore_checkpoint(*trainer_, folder_->read(*path), expected));
    } catch (const Error& error) {
      if (!previous) throw;
      problem = fmt::format("{} cannot be used ({})", *path, error.what());
    }
  }
  if (!began_before_ && previous) {
    take(restore_checkpoint(*trainer_, folder_->read(*previous), expected));
    folder_->drop_checkpoint();  // or it would be kept as the previous one, and the good one be gone
    say(fmt::format("{}; continuing from the checkpoint before it, step {}", problem, trainer_->state().step));
  }
  const TrainState& s = trainer_->state();
  const TrainOptions& o = config_.train;
  if (s.step < o.steps && !(o.until_solved && passed()) && !(o.patience && s.evaluations_since_best >= o.patience))
    finished_ = false;  // given more steps
  const MetricsCheck check = folder_->trim_metrics(s.step, metrics_);
  metrics_ = check.seal;
  if (!check.damage.empty()) say(check.damage);
}

RunEvent Session::event(RunEvent::Kind kind) const {
  return {.kind = kind, .seed = config_.seed, .trainer = trainer_.get(), .state = &trainer_->state()};
}

void Session::tell(RunEvent::Kind kind) const { emit_(event(kind)); }

void Session::say(const std::string& text) const {
  emit_({.kind = RunEvent::Kind::kMessage, .seed = config_.seed, .text = text});
}

// Ties go to the trained model, unless the trained one is only half of the work.
bool Session::refined_is_best() const {
  if (!refined_) return false;
  if (!trainer_->state().evaluated) return true;
  const Evaluation &trained = trainer_->state().best, &refined = refined_->evaluation;
  return objective_->unfinished() ? !trained.better_than(refined) : refined.better_than(trained);
}

const Evaluation& Session::best() const { return refined_is_best() ? refined_->evaluation : trainer_->state().best; }

LoadedModel Session::best_model() const {
  if (!refined_is_best()) return {trainer_->best_model(), {}};
  LoadedModel refined = load_model(refined_->file, "the refined model");
  objective_->give_data(*refined.model);
  return refined;
}

Provenance Session::trained_provenance() const {
  const TrainState& s = trainer_->state();
  Provenance provenance = objective_->origin();
  const auto gates = [](const Evaluation& e) {
    const auto found = std::ranges::find(e.extra, "live_gates", &std::pair<std::string, double>::first);
    return found == e.extra.end() ? 0 : static_cast<std::uint64_t>(found->second);
  };
  if (s.best_step > 0 || provenance.empty())
    provenance.push_back({s.best_step > 0 ? "gradients" : "start", s.best_step, s.first.loss, s.best.loss,
                          gates(s.first), gates(s.best)});
  return provenance;
}

Provenance Session::best_provenance() const {
  if (!refined_is_best()) return trained_provenance();
  return provenance_of(load_model(refined_->file, "the refined model").notes);
}

bool Session::search_due() const {
  const TrainState& s = trainer_->state();
  return search_every_ && config_.train.until_solved && s.evaluated && s.evaluated_step == s.step &&
         s.step / search_every_ > s.searched_step / search_every_ && s.step < config_.train.steps;
}

bool Session::build(RunControl& control, ControlSubscription& subscription, const GoOn& go_on) {
  if (finished_ || refined_ || trainer_->state().step > 0) return true;
  return search([&] { return objective_->build(pool_); }, {}, control, subscription, go_on);
}

bool Session::refine(std::uint64_t round, RunControl& control, ControlSubscription& subscription, const GoOn& go_on) {
  if (finished_ || passed() || !trainer_->state().evaluated) return true;
  // Every other time, and at the end in any case, the search goes on from what an earlier one has found.
  const bool from_trained = round % 2 || !refined_is_best();
  const std::unique_ptr<Model> from = from_trained ? trainer_->best_model() : best_model().model;
  return search([&] { return objective_->refine(*from, round, pool_); },
                from_trained ? trained_provenance() : best_provenance(), control, subscription, go_on);
}

namespace {

// The lines of a search: what it began with, what it found, and the way there, thinned out where it is long. They are
// written when it has ended: one that was stopped begins again.
class SearchLines {
 public:
  void add(const std::optional<Evaluation>& line, std::uint64_t mutants) {
    if (!line) return;
    const auto differs = [&](const Evaluation& other) {
      return other.loss != line->loss || other.extra[1] != line->extra[1];
    };
    if (lines_.empty() || (differs(lines_.back()) && mutants >= next_)) {
      lines_.push_back(*line);
      next_ = mutants + mutants / kThinning;
      last_.reset();
    } else {
      last_ = line;
    }
  }
  std::vector<Evaluation> all() const {
    std::vector<Evaluation> lines = lines_;
    if (last_) lines.push_back(*last_);
    return lines;
  }

 private:
  static constexpr std::uint64_t kThinning = 50;
  std::vector<Evaluation> lines_;
  std::optional<Evaluation> last_;
  std::uint64_t next_ = 0;
};

}  // namespace

void Session::write_metrics(const Evaluation& line) {
  const TrainState& now = trainer_->state();
  TrainState row;  // without the weights
  row.step = now.step;
  row.seconds = now.seconds;
  row.loss = now.loss;
  row.last = line;
  folder_->append_metrics(row);
  metrics_.add_row(row);
}

bool Session::search(const Search& make, const Provenance& before, RunControl& control,
                     ControlSubscription& subscription, const GoOn& go_on) {
  std::unique_ptr<Refinement> search;
  const struct Clock {  // a search is part of the seed's time
    double &total, &searches;
    const std::unique_ptr<Refinement>& search;
    double start = seconds_now();
    ~Clock() {
      const double taken = seconds_now() - start;
      total += taken;
      if (search) searches += taken;
    }
  } clock{trainer_->state().seconds, search_seconds_, search};
  SearchLines lines;
  for (bool more = true; more;) {
    try {
      if (!search) search = make();
      if (!search) return true;
      lines.add(search->metrics(), search->progress().done);
      more = search->step(pool_);
    } catch (const Cancelled&) {
    }
    if (search) {
      const SearchProgress progress = search->progress();
      RunEvent searched = event(RunEvent::Kind::kSearch);
      searched.search = &progress;
      emit_(searched);
    }
    if (!go_on(*trainer_)) return false;
    if (asked_anywhere(subscription) && !handle_requests(control, subscription)) return false;
  }
  const ThreadPool::Uninterrupted whole(pool_);
  lines.add(search->metrics(), search->progress().done);
  if (folder_)
    for (const Evaluation& line : lines.all()) write_metrics(line);
  if (const std::string remark = search->remark(); !remark.empty()) say(remark);
  if (!search->found()) return true;
  const Evaluation evaluation = search->evaluate(pool_);
  if (evaluated() && !evaluation.better_than(best()) && !(objective_->unfinished() && evaluation.passed)) return true;
  Provenance provenance = before;
  for (const Making& making : search->provenance()) provenance.push_back(making);
  refined_ = {evaluation, model_file(*search->model(pool_), model_notes(evaluation, provenance))};
  return true;
}

ModelNotes Session::model_notes(const Evaluation& evaluation, const Provenance& provenance) const {
  ModelNotes notes{{"step", std::to_string(trainer_->state().best_step)},
                   {"score", fmt::format("{}", evaluation.score)},
                   {"loss", fmt::format("{}", evaluation.loss)},
                   {"provenance", format_provenance(provenance)}};
  if (folder_) notes["config"] = folder_->config();
  return notes;
}

void Session::save(bool finished) {
  if (!folder_) return;
  trainer_->check_weights();
  // The model first: a kill between the two leaves a model that is newer than the checkpoint, never older. Nothing ever
  // goes on from it.
  write_model();
  folder_->write_checkpoint(make_checkpoint(*trainer_, notes(finished), refined_).serialize());
  tell(RunEvent::Kind::kCheckpoint);
}

void Session::write_model() const {
  if (!evaluated()) return;
  LoadedModel best = best_model();
  if (!refined_is_best()) best.notes = model_notes(trainer_->state().best, trained_provenance());
  add_verdict(best.notes, verdict_);
  folder_->write(RunFolder::kModel, model_file(*best.model, best.notes).serialize());
}

// All that the model of a finished run is made of is in the checkpoint.
void Session::mend_model() const {
  try {
    load_model(folder_->read(folder_->model()), folder_->model());
  } catch (const Error& error) {
    write_model();
    say(fmt::format("{} was recreated ({})", folder_->model(), error.what()));
  }
}

// Whether this rank or another was asked for something; all get the same answer. The occasion on which weights are
// compared, if they are to be.
bool Session::asked_anywhere(const ControlSubscription& subscription) {
  Ranks* const ranks = pool_.ranks();
  if (!ranks) return subscription.asked();
  if (options_.check_ranks)
    ranks->check_same(fmt::format("weights after step {}", trainer_->state().step), objective_->parameters().hash());
  return ranks->any(subscription.asked());
}

bool Session::handle_requests(RunControl& control, ControlSubscription& subscription) {
  const ThreadPool::Uninterrupted whole(pool_);
  const ControlSubscription::Requests requests = subscription.take([&] { save(false); });
  if (pool_.ranks() ? pool_.ranks()->any(requests.stop) : requests.stop) {
    control.stop();  // also where another rank was asked
    return false;
  }
  if (requests.save) save(false);
  if (requests.snapshot) {
    RunEvent taken = event(RunEvent::Kind::kSnapshot);
    taken.snapshot = objective_->snapshot(objective_->parameters().values(), objective_->state());
    emit_(taken);
  }
  return true;
}

// Also counts what that costs, and says after the first step when ranks have no use.
bool Session::asked_after_step(const ControlSubscription& subscription) {
  Ranks* const ranks = pool_.ranks();
  const std::uint64_t before = ranks ? ranks->bytes_sent() : 0;
  const bool asked = asked_anywhere(subscription);
  if (!ranks) return asked;
  agreement_bytes_ += ranks->bytes_sent() - before;
  if (trainer_->state().step == first_step_ + 1 && ranks->size() > 1 && !ranks->any(trainer_->bytes_sent() > 0))
    say(
        fmt::format("no part of a step can be shared out: each of the {} ranks does all of it; a larger batch or "
                    "several seeds would use them",
                    ranks->size()));
  return asked;
}

Outcome Session::run(RunControl& control, const std::function<bool(const Trainer&)>& go_on) {
  ControlSubscription subscription(control, pool_);
  tell(RunEvent::Kind::kSeedStarted);
  double saved_at = seconds_now();
  bool asked = asked_anywhere(subscription);
  bool stopped = !build(control, subscription, go_on);
  if (!stopped && !trainer_->state().evaluated && !(refined_ && passed())) {
    const ThreadPool::Uninterrupted whole(pool_);
    trainer_->state().first = objective_->evaluate(pool_);
    if (!objective_->by_gradients()) trainer_->evaluate();
  }
  const auto after_step = [&](const Trainer& trainer, bool evaluated) {
    const ThreadPool::Uninterrupted whole(pool_);
    const TrainState& state = trainer.state();
    if (evaluated && folder_) write_metrics(state.last);
    tell(evaluated ? RunEvent::Kind::kEvaluated : RunEvent::Kind::kStep);
    const bool due = options_.checkpoint_every ? state.step % options_.checkpoint_every == 0
                                               : seconds_now() - saved_at > options_.checkpoint_seconds;
    if (due) {
      save(false);
      saved_at = seconds_now();
    }
    subscription.step_done();
    asked = asked_after_step(subscription);
    return go_on(trainer) && !asked && !search_due();
  };
  Outcome outcome = stopped ? Outcome::kInterrupted : passed() ? Outcome::kSolved : Outcome::kFinished;
  const auto trains = [&] {
    if (stopped || !objective_->by_gradients()) return false;
    return !passed() || (!finished_ && !(refined_is_best() && config_.train.until_solved));
  };
  while (trains()) {  // what was built or searched may have passed where training had not
    if (search_due()) {
      if (!refine(trainer_->state().step / search_every_, control, subscription, go_on)) {
        outcome = Outcome::kInterrupted;
        break;
      }
      trainer_->state().searched_step = trainer_->state().step;
      outcome = Outcome::kSolved;
      if (passed()) break;
      const ThreadPool::Uninterrupted whole(pool_);
      save(false);
    }
    outcome = trainer_->run(after_step);
    if (!pool_.ranks()) asked = subscription.asked();  // in the middle of a step, perhaps
    if (outcome != Outcome::kInterrupted || !go_on(*trainer_)) break;
    if (!asked && search_due()) continue;
    if (!asked) break;
    if (!handle_requests(control, subscription)) break;
  }
  if (outcome == Outcome::kFinished || outcome == Outcome::kHopeless ||
      (outcome == Outcome::kSolved && objective_->unfinished())) {
    if (!refine(0, control, subscription, go_on))
      outcome = Outcome::kInterrupted;
    else if (passed())
      outcome = Outcome::kSolved;
  }
  const ThreadPool::Uninterrupted whole(pool_);
  if (folder_) check_metrics();
  if (outcome != Outcome::kInterrupted && evaluated()) verdict_ = objective_->judge(*best_model().model, pool_);
  if (!finished_)
    save(outcome != Outcome::kInterrupted);
  else if (folder_)
    mend_model();
  // Also those that a kill or a full disk kept an earlier session from drawing.
  if (folder_ && outcome != Outcome::kInterrupted && evaluated())
    write_run_pictures(*folder_, best_model(), pool_, finished_);
  tell(RunEvent::Kind::kSeedEnded);
  return outcome;
}

PhaseSeconds sum(const PhaseSeconds& a, const PhaseSeconds& b) {
  return {a.data + b.data,           a.forward + b.forward,       a.backward + b.backward, a.reduction + b.reduction,
          a.optimizer + b.optimizer, a.evaluation + b.evaluation, a.search + b.search,     a.whole + b.whole};
}

void Session::fill(SeedReport& report) const {
  const TrainState& s = trainer_->state();
  report.seed = config_.seed;
  report.steps = s.step;
  report.best_step = s.best_step;
  report.loss = s.loss;
  report.validation_score = best().score;
  report.validation_loss = best().loss;
  report.passed = passed();
  report.verdict = verdict_;
  if (!verdict_.judged()) report.verdict.text = objective_->score_text(best());
  report.solved = verdict_.solved;
  if (evaluated()) report.provenance = best_provenance();
  report.seconds = s.seconds;
  PhaseSeconds phases = trainer_->phases();
  phases.search = search_seconds_;
  phases.whole += search_seconds_;
  report.phases = phases;
  report.phase_steps = s.step - first_step_;
  report.other_bits = other_bits_;
  report.bytes_sent = trainer_->bytes_sent() + agreement_bytes_;
  report.num_parameters = objective_->parameters().num_parameters();
}

}  // namespace espalier
