#include "base/worker_threads.hpp"

#include <cassert>
#include <utility>

#include "base/cpu_pause.hpp"

namespace espalier {
namespace {

constexpr int kWatchRounds = 4000;  // about 0.1 ms on a machine whose pause is 60 cycles

}  // namespace

WorkerThreads::WorkerThreads(int workers, bool more_than_cores)
    : workers_(static_cast<std::size_t>(workers)),
      watch_rounds_(more_than_cores ? 0 : kWatchRounds),
      shares_(std::make_unique<Share[]>(workers_)) {
  assert(workers_ <= kInside);
  try {
    for (std::size_t worker = 1; worker < workers_; ++worker) threads_.emplace_back([this, worker] { follow(worker); });
  } catch (...) {  // the system has no thread left: those that did start must go
    stop();
    throw;
  }
}

WorkerThreads::~WorkerThreads() { stop(); }

void WorkerThreads::stop() {
  door_.fetch_or(kOver);
  door_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(std::size_t chunks, const std::function<void(std::size_t)>& body) {
  if (running_.exchange(true, std::memory_order_acquire)) {
    for (std::size_t i = 0; i < chunks; ++i) body(i);
    return;
  }
  open(chunks, body);
  work(0);
  close();
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  running_.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
}

void WorkerThreads::open(std::size_t chunks, const std::function<void(std::size_t)>& body) {
  body_ = &body;
  failed_.store(false, std::memory_order_relaxed);
  for (std::size_t w = 0; w < workers_; ++w) {
    shares_[w].next.store(chunks * w / workers_, std::memory_order_relaxed);
    shares_[w].end = chunks * (w + 1) / workers_;
  }
  door_.fetch_add(kLoop + kOpen, std::memory_order_release);
  door_.notify_all();
}

void WorkerThreads::work(std::size_t worker) {
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

void WorkerThreads::close() {
  door_.fetch_and(~kOpen, std::memory_order_relaxed);
  wait_while([](std::uint32_t door) { return (door & kInside) != 0; });
}

void WorkerThreads::follow(std::size_t worker) {
  std::uint32_t last = 0;
  while (true) {
    std::uint32_t door =
        wait_while([last](std::uint32_t d) { return !(d & kOver) && (!(d & kOpen) || loop_number(d) == last); });
    if (door & kOver) return;
    if (!door_.compare_exchange_strong(door, door + 1, std::memory_order_acquire)) continue;
    last = loop_number(door);
    work(worker);
    const std::uint32_t left = door_.fetch_sub(1, std::memory_order_release) - 1;
    if (!(left & (kInside | kOpen))) door_.notify_all();  // the caller may be asleep
  }
}

// Returns the door as it was when there was nothing more to wait for.
template <class Waiting>
std::uint32_t WorkerThreads::wait_while(Waiting waiting) const {
  std::uint32_t door = door_.load(std::memory_order_acquire);
  for (int round = 0; waiting(door); ++round) {
    if (round < watch_rounds_) {
      cpu_pause();
    } else {
      door_.wait(door, std::memory_order_relaxed);
      round = 0;  // whoever was woken too late for a loop watches for the next one
    }
    door = door_.load(std::memory_order_acquire);
  }
  return door;
}

}  // namespace espalier
