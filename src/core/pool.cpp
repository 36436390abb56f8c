#include "espalier/core/pool.hpp"

#ifdef __linux__
#include <sched.h>
#endif

#include <cstdlib>
#include <string>
#include <thread>

#include "core/crew.hpp"
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

}  // namespace

int Pool::usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Pool::Pool(int threads) {
  const int cores = usable_cores();
  if (threads < 0 || threads > kMostThreads) fail("threads", std::to_string(threads), "0 (all cores) to 1024");
  threads_ = threads == 0 ? threads_from_environment(cores) : threads;
  workers_ = std::getenv("ESPALIER_OVERSUBSCRIBE") ? threads_ : std::min(threads_, cores);
  if (workers_ > 1) crew_ = std::make_unique<Crew>(workers_, workers_ > cores);
}

Pool::~Pool() = default;

void Pool::check_stop() const {
  if (stop_ && stop_->raised()) throw Cancelled();
}

void Pool::run_parallel(std::size_t chunks, const std::function<void(std::size_t)>& run) const {
  crew_->run(chunks, [&](std::size_t i) {
    check_stop();
    run(i);
  });
}

}  // namespace espalier
