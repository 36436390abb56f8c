// For tests of results that may not depend on the number of threads.
#pragma once

#include <cstdlib>

namespace espalier {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // where every step is slow
inline constexpr int kThreadCounts[] = {1, 2, 5};
#else
inline constexpr int kThreadCounts[] = {1, 2, 3, 5, 8, 16};
#endif

// Lets the pool start more workers than the machine has cores, while it lives.
class Oversubscribe {
 public:
  Oversubscribe() { setenv("ESPALIER_OVERSUBSCRIBE", "1", 1); }
  ~Oversubscribe() { unsetenv("ESPALIER_OVERSUBSCRIBE"); }
  Oversubscribe(const Oversubscribe&) = delete;
  Oversubscribe& operator=(const Oversubscribe&) = delete;
};

}  // namespace espalier
