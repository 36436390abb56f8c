// Ranks by MPI. Every call of the library is made under one lock and returns at once; waiting is done here, where it
// can have an end: first awake, because an answer is mostly microseconds away, then asleep between looks.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/cpu_pause.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

constexpr int kFailureTag = 1, kWaitingTag = 2, kFirstTag = 16;  // those of users begin after
constexpr double kAwakeSeconds = 0.002;                          // of a wait
constexpr double kGraceSeconds = 5;                   // for ranks to say that they wait too, and for rank 0 to print
constexpr std::size_t kPiece = std::size_t{1} << 30;  // MPI counts in int

// Looks again and again until done() or until `patience` is over; returns which.
template <class Done>
bool look(double patience, Done done) {
  const double start = seconds_now();
  for (std::uint64_t round = 0;; ++round) {
    if (done()) return true;
    if (round % 64 != 63) {
      cpu_pause();
      continue;
    }
    const double waited = seconds_now() - start;
    if (waited > patience) return false;
    if (waited < kAwakeSeconds)
      std::this_thread::yield();  // with more ranks than cores another one has the work
    else
      std::this_thread::sleep_for(std::chrono::microseconds(waited < 0.1 ? 50 : 1000));
  }
}

class MpiRanks : public ProgramRanks {
 public:
  MpiRanks(int rank, int size) : ProgramRanks(rank, size), waiting_(static_cast<std::size_t>(size)) {
    char name[256] = {};
    const bool known = ::gethostname(name, sizeof name - 1) == 0 && name[0];
    hosts_.resize(static_cast<std::size_t>(size));
    hosts_ = all_gather_text(known ? name : "unknown host");
  }

  std::string host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  void set_patience(double seconds) override { patience_ = seconds; }
  double patience_seconds() const override { return patience_; }

  void send(int to, int tag, std::span<const std::byte> bytes) override {
    MPI_Request request;
    {
      const std::lock_guard lock(mutex_);
      MPI_Isend(bytes.data(), count_of(bytes), MPI_BYTE, to, kFirstTag + tag, MPI_COMM_WORLD, &request);
    }
    if (!look(patience_, [&] { return completed(request); })) give_up(to, silence());
  }

  Bytes receive(int from, int tag) override {
    std::optional<Message> message;
    if (!look(patience_, [&] { return (message = take(from, kFirstTag + tag)).has_value() || failed_elsewhere(); }))
      give_up(from, silence());
    return std::move(message->bytes);
  }
  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override {
    std::vector<MPI_Request> requests(sends.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const std::lock_guard lock(mutex_);
      if (sends[i].to >= 0)
        MPI_Isend(sends[i].bytes.data(), count_of(sends[i].bytes), MPI_BYTE, sends[i].to, kFirstTag + sends[i].tag,
                  MPI_COMM_WORLD, &requests[i]);
    }
    for (const Receive& r : receives)
      if (r.from >= 0) r.take(receive(r.from, r.tag));
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (!look(patience_, [&] { return completed(requests[i]); })) give_up(sends[i].to, silence());
  }
  std::optional<Message> poll(int tag) override {
    failed_elsewhere();
    return take(MPI_ANY_SOURCE, kFirstTag + tag);
  }

  [[noreturn]] void give_up(int about, const std::string& what) override {
    end_with(fmt::format("rank {} on {} {}", about, host(about), what), 1, about == 0);
  }
  [[noreturn]] void end_job(const std::string& line, int exit_code) override {
    end_with(rank() == 0 ? line : fmt::format("rank {} on {}: {}", rank(), host(rank()), line), exit_code, false);
  }

  void leave() override {
    set_patience(1e18);  // the others may be at work for days
    any(false);
    MPI_Finalize();
  }

 protected:
  void gather(std::span<std::byte> all, std::span<const std::size_t> starts) override {
    const auto ranks = static_cast<std::size_t>(size());
    std::size_t most = 0;
    for (std::size_t r = 0; r < ranks; ++r) most = std::max(most, starts[r + 1] - starts[r]);
    // Pieces, so that counts and places fit: all of them together, too.
    const std::size_t piece = std::max<std::size_t>(1, kPiece / ranks);
    for (std::size_t done = 0; done < most || done == 0; done += piece) gather_piece(all, starts, done, piece);
  }

 private:
  static int count_of(std::span<const std::byte> bytes) { return static_cast<int>(std::min(bytes.size(), kPiece)); }
  std::string silence() const { return fmt::format("has not answered for {:.0f} s", patience_); }

  bool completed(MPI_Request& request) {
    int done = 0;
    {
      const std::lock_guard lock(mutex_);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return done || failed_elsewhere();
  }

  std::optional<Message> take(int from, int tag) {
    const std::lock_guard lock(mutex_);
    int there = 0, count = 0;
    MPI_Message handle;
    MPI_Status status;
    MPI_Improbe(from, tag, MPI_COMM_WORLD, &there, &handle, &status);
    if (!there) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Message message{status.MPI_SOURCE, Bytes(static_cast<std::size_t>(count))};
    MPI_Mrecv(message.bytes.data(), count, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
    return message;
  }

  // Every rank's part of [done, done + piece) of its own bytes. The library moves bytes only; the parts are packed when
  // there are several pieces, because its places count from one beginning.
  void gather_piece(std::span<std::byte> all, std::span<const std::size_t> starts, std::size_t done,
                    std::size_t piece) {
    const auto ranks = static_cast<std::size_t>(size()), mine = static_cast<std::size_t>(rank());
    std::vector<int> counts(ranks), places(ranks);
    std::size_t total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t length = starts[r + 1] - starts[r];
      counts[r] = static_cast<int>(std::min(piece, length - std::min(done, length)));
      places[r] = static_cast<int>(total);
      total += static_cast<std::size_t>(counts[r]);
    }
    const bool whole = done == 0 && total == all.size();  // already packed
    Bytes packed(whole ? 0 : total);
    std::byte* const buffer = whole ? all.data() : packed.data();
    if (!whole) std::copy_n(&all[starts[mine] + done], counts[mine], buffer + places[mine]);
    MPI_Request request;
    {
      const std::lock_guard lock(mutex_);
      MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, buffer, counts.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD,
                      &request);
    }
    ++gathers_;
    if (!look(patience_, [&] { return completed(request); })) wait_for_the_late(request);
    for (std::size_t r = 0; !whole && r < ranks; ++r)
      if (r != mine) std::copy_n(buffer + places[r], counts[r], &all[starts[r] + done]);
  }

  // Patience is over. All who wait say so to all: who says nothing is late, and the lowest that waits names it.
  void wait_for_the_late(MPI_Request& request) {
    std::vector<MPI_Request> notes(static_cast<std::size_t>(size()), MPI_REQUEST_NULL);
    const std::uint64_t mine = gathers_;
    for (int r = 0; r < size(); ++r) {
      const std::lock_guard lock(mutex_);
      if (r != rank()) MPI_Isend(&mine, sizeof mine, MPI_BYTE, r, kWaitingTag, MPI_COMM_WORLD, &notes[r]);
    }
    waiting_[static_cast<std::size_t>(rank())] = gathers_;
    const bool came = look(kGraceSeconds, [&] {
      while (const auto note = take(MPI_ANY_SOURCE, kWaitingTag))
        std::memcpy(&waiting_[static_cast<std::size_t>(note->from)], note->bytes.data(), sizeof(std::uint64_t));
      return completed(request);
    });
    if (came) {
      for (MPI_Request& note : notes) look(kGraceSeconds, [&] { return completed(note); });
      return;
    }
    int lowest = -1, late = -1;
    for (int r = size() - 1; r >= 0; --r) (waiting_[static_cast<std::size_t>(r)] == gathers_ ? lowest : late) = r;
    if (late < 0) late = rank();  // all are here, and yet nothing arrives
    if (lowest != rank()) std::this_thread::sleep_for(std::chrono::duration<double>(kGraceSeconds));
    end_with(fmt::format("rank {} on {} {}", late, host(late), silence()), 1, true);
  }

  // On rank 0: another rank's last words become those of the job.
  bool failed_elsewhere() {
    if (rank() != 0) return false;
    const auto words = take(MPI_ANY_SOURCE, kFailureTag);
    if (!words) return false;
    Unpacker unpack(words->bytes);
    const int exit_code = unpack.get<int>();
    print_and_abort(unpack.text(), exit_code);
  }

  [[noreturn]] void end_with(const std::string& line, int exit_code, bool myself) {
    if (rank() != 0 && !myself) {
      const Bytes words = Packer().put(exit_code).put(line).take();
      MPI_Request request;
      {
        const std::lock_guard lock(mutex_);
        MPI_Isend(words.data(), count_of(words), MPI_BYTE, 0, kFailureTag, MPI_COMM_WORLD, &request);
      }
      look(kGraceSeconds, [&] {
        completed(request);
        return false;  // until rank 0 has ended us
      });
    }
    print_and_abort(line, exit_code);
  }

  [[noreturn]] void print_and_abort(std::string line, int exit_code) {
    std::ranges::replace(line, '\n', ' ');
    line = "espalier: " + line + "\n";
    [[maybe_unused]] const auto written = ::write(standard_error_, line.data(), line.size());
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  std::mutex mutex_;  // of all calls of the library
  std::atomic<double> patience_{600};
  std::vector<std::string> hosts_;
  std::uint64_t gathers_ = 0;
  std::vector<std::uint64_t> waiting_;               // the last number of a gather that a rank said it waits in
  const int standard_error_ = ::dup(STDERR_FILENO);  // as it was before rank 0 alone may print
};

}  // namespace

std::unique_ptr<ProgramRanks> join_ranks() {
  const auto set = [](const char* name) { return std::getenv(name) != nullptr; };
  if (!set("OMPI_COMM_WORLD_SIZE") && !set("PMI_RANK") && !set("PMIX_RANK")) return nullptr;
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return std::make_unique<MpiRanks>(rank, size);
}

}  // namespace espalier::app
