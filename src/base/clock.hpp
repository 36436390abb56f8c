// Wall time and memory of this process: for reports only, never for decisions that change a result.
#pragma once

#include <chrono>

namespace espalier {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Largest resident set so far, in MB (10^6 bytes); 0 where the system does not tell.
double peak_rss_mb();

}  // namespace espalier
