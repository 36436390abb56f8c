// Ctrl-C, and a terminal that goes away: the first signal asks long work to stop in good order, the second ends the
// program at once.
#pragma once

#include <functional>
#include <thread>

#include "espalier/thread_pool.hpp"

namespace espalier::app {

// Installs the handler on first use.
const StopFlag& interrupt_flag();

// An Error that names the limits to raise when there can be no more threads. `purpose`: what this one is to do.
std::jthread start_thread(const char* purpose, std::function<void(const std::stop_token&)> work);

// Calls `stop` on a thread of its own within a few hundredths of a second of a signal.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> stop);

 private:
  std::jthread watcher_;
};

}  // namespace espalier::app
