// Ranks that are threads of this process, for tests without mpirun.
#pragma once

#include <barrier>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "espalier/ranks.hpp"

namespace espalier {

class ThreadRanks : public Ranks {
 public:
  struct Hub {
    explicit Hub(int size) : barrier(size), buffers(static_cast<std::size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<std::byte*> buffers;
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<std::tuple<int, int, int>, std::deque<Bytes>> mail;  // by from, to and tag
  };
  ThreadRanks(Hub& hub, int rank, int size) : Ranks(rank, size), hub_(hub) {}

  std::string host(int rank) const override { return "host" + std::to_string(rank); }
  double patience_seconds() const override { return 60; }
  [[noreturn]] void give_up(int about, const std::string& what) override {
    throw std::runtime_error("rank " + std::to_string(about) + " " + what);
  }

  void send(int to, int tag, std::span<const std::byte> bytes) override {
    count_sent(bytes.size());
    const std::lock_guard lock(hub_.mutex);
    hub_.mail[{rank(), to, tag}].emplace_back(bytes.begin(), bytes.end());
    hub_.arrived.notify_all();
  }
  Bytes receive(int from, int tag) override {
    std::unique_lock lock(hub_.mutex);
    auto& box = hub_.mail[{from, rank(), tag}];
    hub_.arrived.wait(lock, [&] { return !box.empty(); });
    Bytes bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }
  std::optional<Message> poll(int tag) override {
    const std::lock_guard lock(hub_.mutex);
    for (int from = 0; from < size(); ++from)
      if (auto& box = hub_.mail[{from, rank(), tag}]; !box.empty()) {
        Message message{from, std::move(box.front())};
        box.pop_front();
        return message;
      }
    return std::nullopt;
  }
  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override {
    for (const Send& s : sends)
      if (s.to >= 0) send(s.to, s.tag, s.bytes);
    for (const Receive& r : receives)
      if (r.from >= 0) r.take(receive(r.from, r.tag));
  }

 protected:
  void gather(std::span<std::byte> all, std::span<const std::size_t> starts) override {
    hub_.buffers[static_cast<std::size_t>(rank())] = all.data();
    hub_.barrier.arrive_and_wait();
    for (std::size_t r = 0; r < hub_.buffers.size(); ++r)
      if (r != static_cast<std::size_t>(rank()))
        std::copy(hub_.buffers[r] + starts[r], hub_.buffers[r] + starts[r + 1], all.data() + starts[r]);
    hub_.barrier.arrive_and_wait();
  }

 private:
  Hub& hub_;
};

// body(ranks) on every one of `size` ranks.
inline void as_ranks(int size, const std::function<void(Ranks&)>& body) {
  ThreadRanks::Hub hub(size);
  std::vector<std::jthread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      ThreadRanks ranks(hub, r, size);
      body(ranks);
    });
}

}  // namespace espalier
