// The thread pool and the worker threads behind it.
#include "espalier/thread_pool.hpp"

#ifdef __linux__
#include <sched.h>
#endif

#include <fmt/format.h>

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kSpinRounds = 4000;  // about 0.1 ms on a machine whose pause is 60 cycles

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

// Between two loops of one computation the next one is only microseconds away, and waking a sleeping thread costs more
// than that: so a worker spins for a while before it goes to sleep.
class WorkerThreads {
 public:
  // `workers` counts the caller of run(), who works too. With more workers than cores they sleep at once: to spin
  // would take the core from one who has work.
  WorkerThreads(int workers, bool more_than_cores)
      : workers_(static_cast<std::size_t>(workers)),
        spin_rounds_(more_than_cores ? 0 : kSpinRounds),
        shares_(std::make_unique<Share[]>(workers_)) {
    assert(workers_ <= kActive);
    try {
      for (std::size_t w = 1; w < workers_; ++w) threads_.emplace_back([this, w] { thread_main(w); });
    } catch (const std::exception& error) {  // the system has no thread left: those that did start must go
      const std::size_t started = threads_.size();
      shut_down();
      fail("threads", fmt::format("{} of {} ({})", started, workers_ - 1, error.what()), "as many as asked for",
           "ask for fewer, or raise the limits on processes and memory (ulimit -u, ulimit -v)");
    }
  }
  ~WorkerThreads() { shut_down(); }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Calls body(0), ..., body(chunks - 1), each once, and returns when all are done. After the first that throws no
  // more are begun, and what it threw is thrown here. A call from inside a loop, or while another thread's loop is
  // running, does its work alone.
  void run(std::size_t chunks, const std::function<void(std::size_t)>& body) {
    if (running_.exchange(true, std::memory_order_acquire)) {
      for (std::size_t i = 0; i < chunks; ++i) body(i);
      return;
    }
    begin_loop(chunks, body);
    work(0);
    end_loop();
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    running_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // The chunks that one worker begins with: the same part of every equal loop, so that its data are still in the
  // cache of its core. Whoever is done goes on with those of the others.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  void begin_loop(std::size_t chunks, const std::function<void(std::size_t)>& body) {
    body_ = &body;
    failed_.store(false, std::memory_order_relaxed);
    for (std::size_t w = 0; w < workers_; ++w) {
      shares_[w].next.store(chunks * w / workers_, std::memory_order_relaxed);
      shares_[w].end = chunks * (w + 1) / workers_;
    }
    state_.fetch_add(kLoopUnit + kAccepting, std::memory_order_release);
    state_.notify_all();
  }

  void end_loop() {
    state_.fetch_and(~kAccepting, std::memory_order_relaxed);
    wait_while([](std::uint32_t state) { return (state & kActive) != 0; });
  }

  void work(std::size_t worker) {
    for (std::size_t k = 0; k < workers_; ++k) {
      Share& share = shares_[(worker + k) % workers_];
      while (!failed_.load(std::memory_order_relaxed)) {
        const std::size_t chunk = share.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= share.end) break;
        try {
          (*body_)(chunk);
        } catch (...) {
          if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
        }
      }
    }
  }

  void thread_main(std::size_t worker) {
    std::uint32_t last = 0;
    while (true) {
      std::uint32_t state = wait_while(
          [last](std::uint32_t s) { return !(s & kShutDown) && (!(s & kAccepting) || loop_number(s) == last); });
      if (state & kShutDown) return;
      if (!state_.compare_exchange_strong(state, state + 1, std::memory_order_acquire)) continue;
      last = loop_number(state);
      work(worker);
      const std::uint32_t left = state_.fetch_sub(1, std::memory_order_release) - 1;
      if (!(left & (kActive | kAccepting))) state_.notify_all();  // the caller may be asleep
    }
  }

  void shut_down() {
    state_.fetch_or(kShutDown);
    state_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Returns the state as it was when there was nothing more to wait for.
  template <class Waiting>
  std::uint32_t wait_while(Waiting waiting) const {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    for (int round = 0; waiting(state); ++round) {
      if (round < spin_rounds_) {
        cpu_pause();
      } else {
        state_.wait(state, std::memory_order_relaxed);
        round = 0;  // whoever was woken too late for a loop spins for the next one
      }
      state = state_.load(std::memory_order_acquire);
    }
    return state;
  }

  // How many threads work on the loop, whether more may join it, whether all is over, and the number of the loop. One
  // word, so that the caller, once out of chunks, can close the loop and need only wait for those that did join: a
  // thread that wakes too late is not missed. (Should the number wrap around to the very loop that a sleeper
  // remembers, it misses one.)
  static constexpr std::uint32_t kActive = 0x7ff, kAccepting = 0x800, kShutDown = 0x1000, kLoopUnit = 0x2000;
  static std::uint32_t loop_number(std::uint32_t state) { return state / kLoopUnit; }
  alignas(64) std::atomic<std::uint32_t> state_{0};

  alignas(64) std::atomic<bool> running_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of whoever set failed_
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t workers_;
  int spin_rounds_;
  std::unique_ptr<Share[]> shares_;
  std::vector<std::thread> threads_;
};

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

std::size_t ThreadPool::num_chunks(std::size_t items, std::size_t chunk_size) {
  if (chunk_size == 0) fail("for chunks", "chunks of 0 items", "at least 1");
  return items / chunk_size + (items % chunk_size != 0);
}

const ThreadPool& calling_thread() {
  static const ThreadPool pool(1);
  return pool;
}

void ThreadPool::check_stop() const {
  const StopFlag* const stop = watched();
  if (stop && stop->raised() && uninterrupted_.load(std::memory_order_relaxed) == 0) throw Cancelled();
}

void ThreadPool::run_parallel(std::size_t chunks, const std::function<void(std::size_t)>& run) const {
  worker_threads_->run(chunks, [&](std::size_t i) {
    check_stop();
    run(i);
  });
}

}  // namespace espalier
