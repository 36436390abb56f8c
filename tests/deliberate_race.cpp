// Two chunks that write one variable at the same time: what the thread sanitizer must report (ctest case of the tsan
// build only).
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "espalier/thread_pool.hpp"

int main() {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  const espalier::ThreadPool pool(2);
  std::atomic<int> arrived{0};
  long total = 0;
  pool.for_chunks(2, 1, 1e6, [&](espalier::Chunk c) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2) std::this_thread::yield();  // until both are here
    for (int i = 0; i < 1000; ++i) total += static_cast<long>(c.index);
  });
  std::printf("%ld\n", total);
}
