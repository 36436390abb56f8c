// Several processes that work on one computation, each called a rank, on one machine or many. All ranks run the same
// program; what one computes alone it gives to the others as bytes, and nothing is ever added up on the way: so results
// do not depend on how many there are. A ThreadPool that belongs to ranks hands them out (ThreadPool::ranks()); code
// that does not ask for them computes everything by itself, on every rank alike.
//
// A rank that does not come to a call which all must make ends the whole job, within a bounded time and with one line
// that names it: that is the business of those who derive from this class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

  std::uint64_t bytes_sent() const { return bytes_sent_; }  // to all others together, calls of all ranks alone

 protected:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}
  virtual void gather(std::span<std::byte> all, std::span<const std::size_t> starts) = 0;

 private:
  int rank_, size_;
  std::uint64_t bytes_sent_ = 0;
};

// Items [begin, end) of `items` that are a rank's: whole units of `unit` neighbours, as equal as can be.
struct RankShare {
  std::size_t begin, end;
};
RankShare share_of(std::size_t items, std::size_t unit, int rank, int size);
// Where the share of each rank begins, times `scale`; one more at the end. For all_gather.
std::vector<std::size_t> share_starts(std::size_t items, std::size_t unit, int size, std::size_t scale);

// Values one after the other in bytes, for messages.
class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> Packer& put(const T& value) {
    append(&value, sizeof value);
    return *this;
  }
  Packer& put(std::span<const std::byte> bytes);
  Packer& put(const std::string& text) { return put(std::as_bytes(std::span(text))); }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(const void* from, std::size_t count);
  Bytes bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes() { return next(get<std::uint64_t>()); }
  std::string text() {
    const auto part = bytes();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> next(std::size_t count);
  std::span<const std::byte> bytes_;
};

}  // namespace espalier
