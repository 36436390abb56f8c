// Private to the core room: the threads behind a ThreadPool. Between two loops of one computation the next one is only
// microseconds away, and waking a sleeping thread costs more than that: so the crew watches for the next loop for a
// while before it goes to sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace espalier {

class WorkerThreads {
 public:
  // `workers` counts the caller of run(), who works too. With more workers than cores they sleep at once: to watch
  // would take the core from one who has work.
  WorkerThreads(int workers, bool more_than_cores);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Calls body(0), ..., body(chunks - 1), each once, and returns when all are done. After the first that throws no
  // more are begun, and what it threw is thrown here. A call from inside a loop, or while another thread's loop is
  // running, does its work alone.
  void run(std::size_t chunks, const std::function<void(std::size_t)>& body);

 private:
  // The chunks that one worker begins with: the same part of every equal loop, so that its data are still in the
  // cache of its core. Whoever is done goes on with those of the others.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  void open(std::size_t chunks, const std::function<void(std::size_t)>& body);
  void work(std::size_t worker);
  void close();
  void follow(std::size_t worker);  // the life of one thread
  void stop();
  template <class Waiting>
  std::uint32_t wait_while(Waiting waiting) const;

  // The door of the loop: how many threads of the crew are inside, whether more may come in, whether all is over, and
  // the number of the loop. One word, so that the caller, once out of chunks, can shut it and need only wait for those
  // that did come in: a thread that wakes too late is not missed. (Should the number wrap around to the very loop that
  // a sleeper remembers, it misses one.)
  static constexpr std::uint32_t kInside = 0x7ff, kOpen = 0x800, kOver = 0x1000, kLoop = 0x2000;
  static std::uint32_t loop_number(std::uint32_t door) { return door / kLoop; }
  alignas(64) std::atomic<std::uint32_t> door_{0};

  alignas(64) std::atomic<bool> running_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // of whoever set failed_
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::size_t workers_;
  int watch_rounds_;
  std::unique_ptr<Share[]> shares_;
  std::vector<std::thread> threads_;
};

}  // namespace espalier
