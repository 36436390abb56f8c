// A thread that raises a flag at random moments, as long as it lives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "espalier/random.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class RandomStops {
 public:
  RandomStops(StopFlag& flag, std::uint32_t max_us, std::uint64_t seed)
      : thread_([this, &flag, max_us, seed](const std::stop_token& over) {
          const Random random(seed, Purpose::kTrial);
          running_ = true;
          running_.notify_all();
          for (std::uint64_t i = 0; !over.stop_requested(); ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(random.choice(i, max_us)));
            flag.raise();
          }
        }) {
    running_.wait(false);
  }

 private:
  std::atomic<bool> running_ = false;
  std::jthread thread_;
};

}  // namespace espalier
