// Private to the core room: tells the thread sanitizer which memory the pool orders. Debian's oneTBB is not built for
// it, so it cannot see that a chunk starts after the caller's loop began and ends before the loop returns. Between
// chunks nothing is said, because nothing is promised: a race between two chunks is still found. The build defines
// ESPALIER_THREAD_SANITIZER (cmake/compile_options.cmake); without it these are empty.
#pragma once

#ifdef ESPALIER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace espalier {

// Lives on the caller's stack for one parallel loop.
class LoopOrder {
 public:
  LoopOrder() { release(&begun_); }
  void finish() { acquire(&ended_); }  // the caller's first act after the loop

  // Around the work of one chunk; also when it throws.
  class InChunk {
   public:
    explicit InChunk(LoopOrder& order) : order_(order) { acquire(&order_.begun_); }
    ~InChunk() { release(&order_.ended_); }
    InChunk(const InChunk&) = delete;
    InChunk& operator=(const InChunk&) = delete;

   private:
    LoopOrder& order_;
  };

 private:
#ifdef ESPALIER_THREAD_SANITIZER
  static void acquire(char* place) { __tsan_acquire(place); }
  static void release(char* place) { __tsan_release(place); }
#else
  static void acquire(char*) {}
  static void release(char*) {}
#endif
  char begun_ = 0, ended_ = 0;
};

}  // namespace espalier
