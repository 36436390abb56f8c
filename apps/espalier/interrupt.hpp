// Ctrl-C, and a terminal that goes away: the first signal asks long work to stop in good order, the second ends the
// program at once.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "espalier/thread_pool.hpp"

namespace espalier::app {

// Installs the handler on first use.
const StopFlag& interrupt_flag();

// Calls `stop` on a thread of its own, within a few hundredths of a second of a signal or when the time is up. An Error
// that names the limits to raise when there can be no more threads.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> stop, double seconds = 0);  // 0: whatever the time
  bool out_of_time() const { return out_of_time_; }

 private:
  std::atomic<bool> out_of_time_{false};
  std::jthread watcher_;  // ends before what it uses
};

}  // namespace espalier::app
