#include "espalier/thread_pool.hpp"

#ifdef __linux__
#include <sched.h>
#endif

#include <cstdlib>
#include <string>
#include <thread>

#include "base/worker_threads.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr int kMaxThreads = 1024;

int threads_from_environment(int cores) {
  const char* text = std::getenv("ESPALIER_THREADS");
  if (!text || !*text) return cores;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end || value < 1 || value > kMaxThreads)
    fail("ESPALIER_THREADS", '"' + std::string(text) + '"', "a whole number from 1 to 1024",
         "unset it to use all cores");
  return static_cast<int>(value);
}

}  // namespace

int ThreadPool::usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  const int cores = usable_cores();
  if (threads < 0 || threads > kMaxThreads) fail("threads", std::to_string(threads), "0 (all cores) to 1024");
  threads_ = threads == 0 ? threads_from_environment(cores) : threads;
  workers_ = std::getenv("ESPALIER_OVERSUBSCRIBE") ? threads_ : std::min(threads_, cores);
  if (workers_ > 1) worker_threads_ = std::make_unique<WorkerThreads>(workers_, workers_ > cores);
}

ThreadPool::~ThreadPool() = default;

const ThreadPool& calling_thread() {
  static const ThreadPool pool(1);
  return pool;
}

void ThreadPool::check_stop() const {
  if (stop_ && stop_->raised()) throw Cancelled();
}

void ThreadPool::run_parallel(std::size_t chunks, const std::function<void(std::size_t)>& run) const {
  worker_threads_->run(chunks, [&](std::size_t i) {
    check_stop();
    run(i);
  });
}

}  // namespace espalier
