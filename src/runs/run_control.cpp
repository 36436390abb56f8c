// Stop, pause, save and snapshot: asked for by any thread, done by every running seed between two of its steps.
#include "runs/session.hpp"

namespace espalier {

void RunControl::ask(const std::function<void()>& change, bool at_once) {
  {
    const std::lock_guard lock(mutex_);
    change();
    for (ControlSubscription* subscription : subscriptions_)
      if (at_once || !subscription->must_finish_step_) subscription->flag_.raise();
  }
  changed_.notify_all();
}

void RunControl::stop() {
  ask([this] { stopped_ = true; }, true);
}
void RunControl::pause() {
  ask([this] { paused_ = true; });
}
void RunControl::resume() {
  ask([this] { paused_ = false; });
}
void RunControl::save() {
  ask([this] { ++saves_; });
}
void RunControl::snapshot() {
  ask([this] { ++snapshots_; });
}
bool RunControl::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}
bool RunControl::paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

ControlSubscription::ControlSubscription(RunControl& control, ThreadPool& pool)
    : control_(control), pool_(pool), watched_before_(pool.watched()) {
  const std::lock_guard lock(control_.mutex_);
  saves_ = control_.saves_;
  snapshots_ = control_.snapshots_;
  if (control_.stopped_ || control_.paused_) flag_.raise();
  control_.subscriptions_.push_back(this);
  if (!pool_.ranks()) pool_.watch(&flag_);  // a step that one rank leaves would keep the others waiting
}

ControlSubscription::~ControlSubscription() {
  const std::lock_guard lock(control_.mutex_);
  std::erase(control_.subscriptions_, this);
  pool_.watch(watched_before_);
}

ControlSubscription::Requests ControlSubscription::take(const std::function<void()>& before_wait) {
  std::unique_lock lock(control_.mutex_);
  if (control_.paused_ && !control_.stopped_) {
    lock.unlock();
    before_wait();
    lock.lock();
    control_.changed_.wait(lock, [this] {
      return control_.stopped_ || !control_.paused_ || saves_ != control_.saves_ || snapshots_ != control_.snapshots_;
    });
  }
  const Requests requests{control_.stopped_, saves_ != control_.saves_, snapshots_ != control_.snapshots_};
  saves_ = control_.saves_;
  snapshots_ = control_.snapshots_;
  if (!control_.stopped_ && !control_.paused_) {
    flag_.clear();
    must_finish_step_ = true;
  }
  return requests;
}

void ControlSubscription::step_done() {
  if (!must_finish_step_) return;
  const std::lock_guard lock(control_.mutex_);
  must_finish_step_ = false;
  if (control_.paused_ || saves_ != control_.saves_ || snapshots_ != control_.snapshots_) flag_.raise();
}

}  // namespace espalier
