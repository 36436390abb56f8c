// The thread pool. Work is cut into chunks that depend on the problem alone, never on the number of
// workers, and every chunk writes only what it owns: so results are the same bits for any thread count. Arrays that it
// works on start on a cache line.
// Example:
//   const ThreadPool pool;  // all cores
//   AlignedVector<float> squares(100'000);
//   pool.for_chunks(squares.size(), 4096, 1.0, [&](Chunk c) {
//     for (std::size_t i = c.begin; i < c.end; ++i) squares[i] = static_cast<float>(i) * static_cast<float>(i);
//   });
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace espalier {

class WorkerThreads;
class Ranks;

// Raised, from any thread or a signal handler, by whoever wants a computation to end early; checked between chunks. A
// loop that was cancelled can be run again once the flag is cleared: so it serves for pausing, too.
class StopFlag {
 public:
  void raise() { raised_.store(true, std::memory_order_relaxed); }
  void clear() { raised_.store(false, std::memory_order_relaxed); }
  bool raised() const { return raised_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> raised_{false};
};

// Arrays that start on a cache line, so that vector loads never straddle one; a std::vector in all else. Large ones ask
// for huge pages: rows gathered from all over such an array would otherwise wait for page tables as often as for
// memory.
inline constexpr std::size_t kCacheLine = 64;

void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory, std::size_t bytes);

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_aligned(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) { free_aligned(p, n * sizeof(T)); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// Half-open range of items of one chunk, and the chunk's number.
struct Chunk {
  std::size_t begin, end, index;
};

class ThreadPool {
 public:
  // threads = 0: $ESPALIER_THREADS or, without it, all cores. More threads than cores cannot help, so only
  // as many workers as cores are started, unless $ESPALIER_OVERSUBSCRIBE is set (the tests do).
  // An Error when the system has no room for them.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static int usable_cores();  // those this process may run on, which may be fewer than the machine has

  int threads() const { return threads_; }  // as asked for
  int workers() const { return workers_; }  // as started

  // Cuts `items` into chunks of `chunk_size` (the last may be shorter) and runs body(Chunk) for each, in
  // any order, on any worker. `item_ns` is a rough cost of one item: work too small to pay for waking a
  // worker stays on this thread. Throws what a body throws; throws Cancelled once `stop` is raised. Chunks of 0 items
  // are an Error.
  template <class Body>
  void for_chunks(std::size_t items, std::size_t chunk_size, double item_ns, Body&& body) const {
    if (items == 0) return;
    const std::size_t chunks = num_chunks(items, chunk_size);
    auto run = [&](std::size_t index) {
      body(Chunk{index * chunk_size, index * chunk_size + std::min(chunk_size, items - index * chunk_size), index});
    };
    if (workers_ == 1 || chunks == 1 || item_ns * static_cast<double>(items) < kWorthWakingNs) {
      for (std::size_t index = 0; index < chunks; ++index) {
        check_stop();
        run(index);
      }
    } else {
      run_parallel(chunks, std::ref(run));
    }
  }

  // map(Chunk) -> T for every chunk, then combined in a fixed binary tree: the same bits for any number of
  // workers. `combine(T&, const T&)` adds the second into the first.
  template <class T, class Map, class Combine>
  T reduce(std::size_t items, std::size_t chunk_size, double item_ns, T zero, Map&& map, Combine&& combine) const {
    if (items == 0) return zero;
    std::vector<T> parts(num_chunks(items, chunk_size), zero);
    for_chunks(items, chunk_size, item_ns, [&](Chunk c) { parts[c.index] = map(c); });
    for (std::size_t stride = 1; stride < parts.size(); stride *= 2)
      for (std::size_t i = 0; i + stride < parts.size(); i += 2 * stride) combine(parts[i], parts[i + stride]);
    return parts[0];
  }

  // The flag is watched, not owned; null means never stop. May be called while loops are running: they see the new
  // flag at their next chunk.
  void watch(const StopFlag* stop) { stop_.store(stop, std::memory_order_release); }
  const StopFlag* watched() const { return stop_.load(std::memory_order_acquire); }
  void check_stop() const;

  // While one of these lives, loops of the pool run to their end whatever the flag says: for work that must be done
  // whole or not at all.
  class Uninterrupted {
   public:
    explicit Uninterrupted(const ThreadPool& pool) : pool_(pool) { ++pool_.uninterrupted_; }
    ~Uninterrupted() { --pool_.uninterrupted_; }
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

   private:
    const ThreadPool& pool_;
  };

  // The other processes that train with this one (ranks.hpp), or null: then this one does everything. Training
  // shares a batch out over them; all must run the same training with pools of their own.
  void join(Ranks* ranks) { ranks_ = ranks; }
  Ranks* ranks() const { return ranks_; }

  // Below this much work (a few wake-ups of a sleeping worker) one thread is faster than two.
  static constexpr double kWorthWakingNs = 20'000;

 private:
  static std::size_t num_chunks(std::size_t items, std::size_t chunk_size);
  void run_parallel(std::size_t chunks, const std::function<void(std::size_t)>& run) const;

  int threads_, workers_;
  std::atomic<const StopFlag*> stop_{nullptr};
  mutable std::atomic<int> uninterrupted_{0};
  Ranks* ranks_ = nullptr;
  std::unique_ptr<WorkerThreads> worker_threads_;
};

// The calling thread alone: the default wherever a pool may be left out, and the pool of work inside a chunk. It has no
// workers and, being const, can watch no flag: only the count of `Uninterrupted` changes in it, to no effect.
const ThreadPool& calling_thread();

}  // namespace espalier
