// Several processes that work on one computation, each called a rank, on one machine or many. All ranks run the same
// program; what one computes alone it gives to the others as bytes, and nothing is ever added up on the way: so results
// do not depend on how many there are. A ThreadPool that belongs to ranks hands them out (ThreadPool::ranks()); code
// that does not ask for them computes everything by itself, on every rank alike.
//
// A rank that does not come to a call which all must make ends the whole job, within a bounded time and with one line
// that names it: that is the business of those who derive from this class, over MPI or any other way to send bytes.
// Example:
//   const auto train_with = [](Ranks& ranks, ThreadPool& pool) {  // on every rank alike
//     pool.join(&ranks);
//     ranks.check_same("number of threads", std::to_string(pool.threads()));
//     return ranks.any(pool.threads() > 1);
//   };
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/thread_pool.hpp"

namespace espalier {

using Bytes = std::vector<std::byte>;

class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  virtual std::string host(int rank) const = 0;

  // Calls that all ranks must make, in the same order and each from one thread.
  // Bytes starts[r] to starts[r + 1] of `all` are those of rank r: there before on r itself, afterwards on all.
  void all_gather(std::span<std::byte> all, std::span<const std::size_t> starts);
  // The same while the caller works on: begun here, and `all` is there after finish(). Until then nobody touches it,
  // and a Gathering that is given up waits for its bytes.
  class Gathering {
   public:
    virtual ~Gathering() = default;
    virtual void finish() = 0;
  };
  std::unique_ptr<Gathering> begin_gather(std::span<std::byte> all, std::span<const std::size_t> starts);
  // The same for parts of equal size, mine given apart; the result is by rank.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size_));
    all[static_cast<std::size_t>(rank_)] = mine;
    std::vector<std::size_t> starts;
    for (std::size_t r = 0; r <= all.size(); ++r) starts.push_back(r * sizeof(T));
    all_gather(std::as_writable_bytes(std::span(all)), starts);
    return all;
  }
  // What rank 0 has, on all.
  void broadcast(Bytes& bytes);
  std::string broadcast(const std::string& text);
  // Texts of all ranks, by rank.
  std::vector<std::string> all_gather_text(const std::string& mine);
  // An Error on all ranks when a text is not the same on all, about those that differ from most.
  void check_same(const std::string& what, const std::string& mine);
  // Whether any rank says so.
  bool any(bool mine);

  // Messages between two ranks, from any thread. Those of one tag between the same two arrive in order.
  virtual void send(int to, int tag, std::span<const std::byte> bytes) = 0;
  virtual Bytes receive(int from, int tag) = 0;  // waits
  struct Message {
    int from;
    Bytes bytes;
  };
  virtual std::optional<Message> poll(int tag) = 0;  // from anyone; nothing when none has arrived
  // Sends and receives at once, in any order. Rank -1: nobody.
  struct Send {
    int to, tag;
    std::span<const std::byte> bytes;
  };
  struct Receive {
    int from, tag;
    std::function<void(const Bytes&)> take;
  };
  virtual void exchange(std::span<const Send> sends, std::span<const Receive> receives) = 0;
  void exchange(std::initializer_list<Send> sends, std::initializer_list<Receive> receives) {
    exchange(std::span(sends.begin(), sends.size()), std::span(receives.begin(), receives.size()));
  }

  // A rank that is still there though it sends nothing: for waits that may last as long as the others work.
  virtual double patience_seconds() const = 0;
  // Ends the whole job with one line about a rank.
  [[noreturn]] virtual void give_up(int about, const std::string& what) = 0;

  std::uint64_t bytes_sent() const { return bytes_sent_; }  // to all others together

 protected:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  virtual void gather(std::span<std::byte> all, std::span<const std::size_t> starts) = 0;
  // Null when bytes cannot travel by themselves: then gather() is called at the end.
  virtual std::unique_ptr<Gathering> begun(std::span<std::byte>, std::span<const std::size_t>) { return nullptr; }
  void count_sent(std::size_t bytes) { bytes_sent_ += bytes; }  // messages: gathers are counted here

 private:
  int rank_, size_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
};

}  // namespace espalier
