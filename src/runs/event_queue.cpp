#include "runs/event_queue.hpp"

#include <algorithm>

namespace espalier {
namespace {

bool may_be_dropped(RunEvent::Kind kind) { return kind == RunEvent::Kind::kStep || kind == RunEvent::Kind::kSearch; }

}  // namespace

EventCopy copy_of(const RunEvent& e) {
  EventCopy copy{.kind = e.kind, .seed = e.seed, .text = e.text, .snapshot = e.snapshot};
  if (e.search) copy.search = *e.search;
  if (e.trainer) {
    copy.steps = e.trainer->options().steps;
    if (e.kind == RunEvent::Kind::kSeedStarted) copy.search_work = e.trainer->objective().refine_work(copy.steps);
  }
  if (!e.state) return copy;
  const TrainState& s = *e.state;
  copy.step = s.step;
  copy.seconds = s.seconds;
  copy.loss = s.loss;
  copy.score = s.last.score;
  copy.validation_loss = s.last.loss;
  copy.best_score = s.best.score;
  copy.passed = s.last.passed;
  copy.best_passed = s.best.passed;
  if (e.kind == RunEvent::Kind::kEvaluated) copy.extra = s.last.extra;
  return copy;
}

void EventQueue::push(const RunEvent& event) {
  const EventCopy copy = copy_of(event);
  const std::lock_guard lock(mutex_);
  for (EventReader* reader : readers_) reader->add(copy);
  if (!may_be_dropped(event.kind)) changed_.notify_all();
}

void EventQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

EventReader::EventReader(EventQueue& queue) : queue_(queue) {
  const std::lock_guard lock(queue_.mutex_);
  queue_.readers_.push_back(this);
}

EventReader::~EventReader() {
  const std::lock_guard lock(queue_.mutex_);
  std::erase(queue_.readers_, this);
}

void EventReader::add(const EventCopy& event) {
  const auto before = droppable_.find({event.seed, event.kind});
  if (before != droppable_.end()) {
    waiting_.splice(waiting_.end(), waiting_, before->second);  // to the end, with no memory asked for
    waiting_.back() = event;
    return;
  }
  waiting_.push_back(event);
  if (may_be_dropped(event.kind))
    droppable_.emplace(std::pair(event.seed, event.kind), std::prev(waiting_.end()));
  else
    lasting_ = true;
}

bool EventReader::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(queue_.mutex_);
  queue_.changed_.wait_for(lock, most, [this] { return lasting_ || queue_.closed_; });
  return !queue_.closed_;
}

std::list<EventCopy> EventReader::take() {
  const std::lock_guard lock(queue_.mutex_);
  droppable_.clear();
  lasting_ = false;
  return std::exchange(waiting_, {});
}

}  // namespace espalier
