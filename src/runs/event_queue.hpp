// What happens in a run, for those who take their time over it: one writer, which waits for nobody, and any number of
// readers, each on a thread of its own. Of the steps, and of the pieces of a search, that a reader has not taken yet,
// only the last of each seed waits for it. All else is never dropped, and there is little of it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/run.hpp"

namespace espalier {

// A RunEvent by its values, which may be kept: nothing points into the trainer.
struct EventCopy {
  RunEvent::Kind kind = RunEvent::Kind::kMessage;
  std::uint64_t seed = 0, step = 0;
  std::uint64_t steps = 0;        // of the whole training; 0 for seeds that another rank trains
  std::uint64_t search_work = 0;  // of kSeedStarted: Objective::refine_work
  double seconds = 0, loss = 0, score = 0, validation_loss = 0, best_score = 0;
  bool passed = false, best_passed = false;
  std::vector<std::pair<std::string, double>> extra = {};  // of kEvaluated
  std::string text = {};
  std::optional<SearchProgress> search = {};
  std::shared_ptr<const Model> snapshot = {};
};
EventCopy copy_of(const RunEvent& event);

class EventReader;

class EventQueue {
 public:
  void push(const RunEvent& event);
  void close();  // no more will come

 private:
  friend class EventReader;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EventReader*> readers_;
  bool closed_ = false;
};

// Gets what is pushed from its making on. The queue outlives it.
class EventReader {
 public:
  explicit EventReader(EventQueue& queue);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // Until something waits that would never be dropped, the time is over, or the queue is closed; then false.
  bool wait(std::chrono::milliseconds most);
  std::list<EventCopy> take();  // all that waits, in order

 private:
  friend class EventQueue;
  using Waiting = std::list<EventCopy>;
  void add(const EventCopy& event);

  // All under the queue's mutex.
  EventQueue& queue_;
  Waiting waiting_;
  std::map<std::pair<std::uint64_t, RunEvent::Kind>, Waiting::iterator> droppable_;  // by seed and kind
  bool lasting_ = false;  // something that would never be dropped waits
};

}  // namespace espalier
