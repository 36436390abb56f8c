#include "base/wavefront.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.hpp"

namespace espalier {
namespace {

constexpr int kSpinRounds = 1000;  // before a worker that finds nothing to do lets others have its core

// How far one chunk has come. `begun` runs ahead of `done` while a worker is at it.
struct alignas(64) Progress {
  std::atomic<std::size_t> begun{0}, done{0};
};

// One run, shared by the workers.
class RunState {
 public:
  RunState(const std::vector<std::vector<std::uint32_t>>& neighbours, std::size_t first, std::size_t last,
           std::size_t steps)
      : neighbours_(neighbours),
        first_(first),
        last_(last),
        steps_(steps),
        progress_(std::make_unique<Progress[]>(neighbours.size())) {}

  struct Claim {
    std::size_t step, chunk;
  };
  // The chunk of [first, last) that has come least far of those that may go on, now begun by the caller. Nothing if
  // none may, or if another worker was faster.
  std::optional<Claim> claim(std::size_t first, std::size_t last) {
    std::optional<Claim> least;
    for (std::size_t c = first; c < last; ++c) {
      const std::size_t step = progress_[c].begun.load(std::memory_order_relaxed);
      if (step < steps_ && (!least || step < least->step) && may_begin(step, c)) least = Claim{step, c};
    }
    if (least && !progress_[least->chunk].begun.compare_exchange_strong(least->step, least->step + 1)) return {};
    return least;
  }

  void finish(const Claim& claim) {
    progress_[claim.chunk].done.store(claim.step + 1, std::memory_order_release);
    if (claim.step + 1 == steps_) finished_chunks_.fetch_add(1, std::memory_order_release);
  }
  bool over() const { return finished_chunks_.load(std::memory_order_acquire) == last_ - first_ || failed_; }
  void fail() { failed_ = true; }

 private:
  bool may_begin(std::size_t step, std::size_t chunk) const {
    return std::ranges::all_of(neighbours_[chunk], [&](std::uint32_t n) {
      return n < first_ || n >= last_ || progress_[n].done.load(std::memory_order_acquire) >= step;
    });
  }

  const std::vector<std::vector<std::uint32_t>>& neighbours_;
  std::size_t first_, last_, steps_;
  std::unique_ptr<Progress[]> progress_;
  std::atomic<std::size_t> finished_chunks_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace

Wavefront::Wavefront(std::vector<std::vector<std::uint32_t>> neighbours) : neighbours_(std::move(neighbours)) {
  for (std::uint32_t c = 0; c < neighbours_.size(); ++c) neighbours_[c].push_back(c);  // itself it waits for too
}

void Wavefront::run(std::size_t first, std::size_t last, std::size_t steps, double chunk_ns, const ThreadPool& pool,
                    const std::function<void(std::size_t, std::size_t)>& body) const {
  const std::size_t count = last - first, workers = std::min(static_cast<std::size_t>(pool.workers()), count);
  const double step_ns = chunk_ns * static_cast<double>(count);
  // Chunks so small that a step is short spend their time on looking at each other.
  if (steps == 0 || workers <= 1 || step_ns < ThreadPool::kWorthWakingNs) {
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t chunk = first; chunk < last; ++chunk) {
        pool.check_stop();
        body(step, chunk);
      }
    return;
  }
  RunState state(neighbours_, first, last, steps);
  // Each worker keeps to its own part, whose data are in the cache of its core, as long as it may.
  pool.for_chunks(workers, 1, step_ns * static_cast<double>(steps), [&](Chunk worker) {
    const std::size_t begin = first + count * worker.index / workers;
    const std::size_t end = first + count * (worker.index + 1) / workers;
    for (int idle = 0; !state.over();) {
      std::optional<RunState::Claim> claim = state.claim(begin, end);
      if (!claim) claim = state.claim(first, last);
      if (!claim) {
        if (++idle < kSpinRounds)
          cpu_pause();
        else
          std::this_thread::yield();
        continue;
      }
      idle = 0;
      try {
        pool.check_stop();
        body(claim->step, claim->chunk);
      } catch (...) {
        state.fail();
        throw;
      }
      state.finish(*claim);
    }
  });
}

}  // namespace espalier
