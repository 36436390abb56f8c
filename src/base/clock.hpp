// Wall time and memory of this process: for reports only, never for decisions that change a result. And waiting.
#pragma once

#include <chrono>
#include <thread>

namespace espalier {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Books the time since the last booking, or since it was made, on what was done in it.
class PhaseClock {
 public:
  void operator()(double& phase) {
    const double now = seconds_now();
    phase += now - last_;
    last_ = now;
  }

 private:
  double last_ = seconds_now();
};

// Largest resident set so far, in MB (10^6 bytes); 0 where the system does not tell.
double peak_rss_mb();

// What a thread does between two looks at a variable that another thread will change.
inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace espalier
