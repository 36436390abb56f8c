#include "runs/session.hpp"

#include "base/clock.hpp"
#include "espalier/error.hpp"
#include "runs/run_pictures.hpp"
#include "runs/checkpoint.hpp"

namespace espalier {

Session::Session(RunFolder folder, const ThreadPool& pool, const SessionOptions& options)
    : folder_(std::move(folder)),
      config_(parse_config(folder_.config(), folder_.file("config.json"))),
      pool_(pool),
      options_(options) {
  objective_ = find_task(config_.at("task").get<std::string>()).make(config_, config_seed(config_));
  trainer_ = std::make_unique<Trainer>(*objective_, train_options(config_), pool_);
  if (const auto checkpoint = folder_.checkpoint()) finished_ = restore_checkpoint(*trainer_, *checkpoint);
  first_epoch_ = trainer_->state().epoch;
  folder_.trim_metrics(first_epoch_);
}

void Session::save(bool finished) {
  trainer_->check_weights();
  // The model first: a kill between the two leaves a model that is newer than the checkpoint, never older.
  folder_.write_model(*trainer_);
  folder_.write_checkpoint(*trainer_, finished);
}

Outcome Session::run(const Watcher& watcher) {
  double saved_at = seconds_now();
  const Outcome outcome = trainer_->run([&](const Trainer& trainer, bool evaluated) {
    const TrainState& state = trainer.state();
    if (evaluated) folder_.append_metrics(state);
    const bool due = options_.checkpoint_every ? state.epoch % options_.checkpoint_every == 0
                                               : seconds_now() - saved_at > options_.checkpoint_seconds;
    if (due) {
      save(false);
      saved_at = seconds_now();
    }
    return watcher(trainer, evaluated);
  });
  if (!finished_) {
    save(outcome != Outcome::kInterrupted);
    if (outcome != Outcome::kInterrupted && trainer_->state().epoch > 0) write_run_pictures(folder_, pool_);
  }
  return outcome;
}

Json Session::summary(Outcome outcome) const {
  const TrainState& s = trainer_->state();
  const double epochs_here = static_cast<double>(s.epoch);
  Json j = {{"task", config_.at("task")},
            {"seed", config_.at("seed")},
            {"epochs", s.epoch},
            {"best_epoch", s.best_epoch},
            {"threads", pool_.threads()},
            {"soft_loss", s.loss},
            {"score", s.best.score},
            {"validation_loss", s.best.loss},
            {"solved", s.best.solved},
            {"outcome", outcome_name(outcome)},
            {"seconds", s.seconds},
            {"ms_per_epoch", epochs_here > 0 ? s.seconds * 1e3 / epochs_here : 0.0},
            {"num_parameters", objective_->parameters().num_parameters()},
            {"weights_hash", objective_->parameters().hash()},
            {"model", folder_.file("model.safetensors")},
            {"peak_rss_mb", peak_rss_mb()}};
  objective_->report(j, s.best_values);
  return j;
}

}  // namespace espalier
