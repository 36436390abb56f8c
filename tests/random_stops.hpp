// A thread that raises a flag at random moments, as long as it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "espalier/random.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

class RandomStops {
 public:
  RandomStops(StopFlag& flag, std::uint32_t max_us, std::uint64_t seed)
      : thread_([&flag, max_us, seed](const std::stop_token& over) {
          const Random random(seed, Purpose::kTrial);
          for (std::uint64_t i = 0; !over.stop_requested(); ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(random.choice(i, max_us)));
            flag.raise();
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace espalier
