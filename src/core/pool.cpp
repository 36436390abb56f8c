#include "espalier/core/pool.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "core/thread_order.hpp"
#include "espalier/core/error.hpp"

namespace espalier {
namespace {

constexpr int kMostThreads = 1024;

int threads_from_environment(int cores) {
  const char* text = std::getenv("ESPALIER_THREADS");
  if (!text || !*text) return cores;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end || value < 1 || value > kMostThreads)
    fail("ESPALIER_THREADS", '"' + std::string(text) + '"', "a whole number from 1 to 1024",
         "unset it to use all cores");
  return static_cast<int>(value);
}

// oneTBB starts no more workers than cores unless a global_control says so, and obeys the smallest of all
// controls alive: so the process has one, which only grows, and pools alive together do not throttle each
// other. How many workers a pool has is the business of its arena. Never destroyed: oneTBB may be gone by then.
void allow_workers(int workers) {
  using Control = oneapi::tbb::global_control;
  static std::mutex mutex;
  static Control* control = nullptr;
  const std::lock_guard lock(mutex);
  const auto wanted = static_cast<std::size_t>(workers);
  if (wanted <= Control::active_value(Control::max_allowed_parallelism)) return;
  delete control;
  control = new Control(Control::max_allowed_parallelism, wanted);
}

}  // namespace

struct Pool::Arena {
  explicit Arena(int workers) : arena(workers) {}
  oneapi::tbb::task_arena arena;
};

Pool::Pool(int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (threads < 0 || threads > kMostThreads) fail("threads", std::to_string(threads), "0 (all cores) to 1024");
  threads_ = threads == 0 ? threads_from_environment(cores) : threads;
  workers_ = std::getenv("ESPALIER_OVERSUBSCRIBE") ? threads_ : std::min(threads_, cores);
  if (workers_ == 1) return;
  allow_workers(workers_);
  arena_ = std::make_unique<Arena>(workers_);
}

Pool::~Pool() = default;

void Pool::check_stop() const {
  if (stop_ && stop_->raised()) throw Cancelled();
}

void Pool::run_parallel(std::size_t chunks, const std::function<void(std::size_t)>& run) const {
  LoopOrder order;
  const auto run_range = [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
    const LoopOrder::InChunk in_chunk(order);
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      check_stop();
      run(i);
    }
  };
  try {
    arena_->arena.execute([&] {
      oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::size_t>(0, chunks, 1), run_range,
                                oneapi::tbb::auto_partitioner());
    });
  } catch (...) {
    order.finish();
    throw;
  }
  order.finish();
}

}  // namespace espalier
