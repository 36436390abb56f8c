// Ranks by MPI. Every call of the library is made under one lock and returns at once; waiting is done here, where it
// can have an end: first awake, because an answer is mostly microseconds away, then asleep between looks.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/rank_bytes.hpp"
#include "command_line.hpp"
#include "espalier/error.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

// A question of one who leaves is answered by rank 0 also while it works. Tags of users begin after ours.
constexpr int kFailureTag = 1, kQuestionTag = 2, kLeaverTag = 3, kAnswerTag = 4, kFirstTag = 16;
constexpr double kAwakeSeconds = 0.002, kShortSeconds = 0.1;  // of a wait
constexpr double kGraceSeconds = 5;  // for ranks to say whom they wait for, and for rank 0 to print

// MPI counts in int: what is longer travels in pieces. Tests make them small.
std::size_t piece_bytes() {
  const char* const text = std::getenv("ESPALIER_MESSAGE_BYTES");
  return text && std::atoi(text) > 0 ? static_cast<std::size_t>(std::atoi(text)) : std::size_t{1} << 30;
}

// Looks again and again until done() or until `patience` is over; returns which. Long waits call between() now and
// then.
template <class Done, class Between = decltype([] {})>
bool look(double patience, Done done, Between between = {}) {
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
    else if (waited < kShortSeconds)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else
      between(), std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

constexpr int kEverybody = -1;  // what a gather waits for
constexpr int kNobody = -2;     // of a rank that is at work

// What a rank that waits says when another asks.
struct Answer {
  std::uint64_t question, gathers;
  std::int64_t whom;  // a rank, kEverybody or kNobody
};

class MpiRanks : public ProgramRanks {
 public:
  MpiRanks(int rank, int size) : ProgramRanks(rank, size) {
    char name[256] = {};
    const bool known = ::gethostname(name, sizeof name - 1) == 0 && name[0];
    hosts_.resize(static_cast<std::size_t>(size));
    hosts_ = all_gather_text(known ? name : "unknown host");
    if (rank == 0)
      sign_of_life_ = std::jthread([this](const std::stop_token& token) {
        while (!token.stop_requested()) {
          answer_questions(kLeaverTag, kNobody);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
      });
  }

  std::string host(int rank) const override { return hosts_[static_cast<std::size_t>(rank)]; }
  void set_patience(double seconds) override { patience_ = seconds; }
  double patience_seconds() const override { return patience_; }

  void send(int to, int tag, std::span<const std::byte> bytes) override {
    const Send one{to, tag, bytes};
    exchange(std::span(&one, 1), {});
  }
  Bytes receive(int from, int tag) override { return rest_of(await(from, tag), tag); }
  void exchange(std::span<const Send> sends, std::span<const Receive> receives) override {
    struct Pending {
      int to;
      MPI_Request request;
    };
    std::vector<Pending> pending;
    for (const Send& s : sends) {
      if (s.to < 0) continue;
      count_sent(s.bytes.size());
      const std::lock_guard lock(mutex_);  // over all pieces: those of another thread's message come before or after
      for (std::size_t at = 0; at <= s.bytes.size(); at += piece_) {
        const auto part = s.bytes.subspan(at, std::min(piece_, s.bytes.size() - at));
        pending.push_back({s.to, MPI_REQUEST_NULL});
        MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, s.to, kFirstTag + s.tag, MPI_COMM_WORLD,
                  &pending.back().request);
      }
    }
    for (const Receive& r : receives)
      if (r.from >= 0) r.take(receive(r.from, r.tag));
    for (Pending& p : pending) wait(p.to, [&] { return completed(p.request); });
  }
  std::optional<Message> poll(int tag) override {
    failed_elsewhere();
    std::optional<Message> first = take(MPI_ANY_SOURCE, kFirstTag + tag);
    if (first) first->bytes = rest_of(std::move(*first), tag);
    return first;
  }

  [[noreturn]] void give_up(int about, const std::string& what) override {
    end_with(fmt::format("rank {} on {} {}", about, host(about), what), 1, about == 0);
  }
  [[noreturn]] void end_job(const std::string& line, int exit_code) override {
    // Wrong usage is no one rank's, and the error of a seed names its own.
    const bool plain = rank() == 0 && (exit_code == kUsage || line.starts_with("rank "));
    end_with(plain ? line : fmt::format("rank {} on {}: {}", rank(), host(rank()), line), exit_code, false);
  }

  // Rank 0 comes last, with what it alone has to do behind it; it may be at that for days, but must be there.
  void leave() override {
    leaving_ = true;
    any(false);  // all have come, some perhaps long ago ...
    any(false);  // ... and are still there: MPI_Finalize would wait for them for ever
    sign_of_life_ = {};
    MPI_Finalize();
  }

 protected:
  void gather(std::span<std::byte> all, std::span<const std::size_t> starts) override {
    const auto ranks = static_cast<std::size_t>(size());
    std::size_t most = 0;
    for (std::size_t r = 0; r < ranks; ++r) most = std::max(most, starts[r + 1] - starts[r]);
    // Pieces, so that counts and places fit: all of them together, too.
    const std::size_t piece = std::max<std::size_t>(1, piece_ / ranks);
    for (std::size_t done = 0; done < most || done == 0; done += piece) gather_piece(all, starts, done, piece);
  }
  std::unique_ptr<Gathering> begun(std::span<std::byte> all, std::span<const std::size_t> starts) override {
    if (all.size() > piece_) return nullptr;
    return std::make_unique<MpiGathering>(*this, all, starts);
  }

 private:
  // One piece on its way. How far it gets before finish() is the business of the library and of the network.
  class MpiGathering : public Gathering {
   public:
    MpiGathering(MpiRanks& ranks, std::span<std::byte> all, std::span<const std::size_t> starts) : ranks_(ranks) {
      for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
        counts_.push_back(static_cast<int>(starts[r + 1] - starts[r]));
        places_.push_back(static_cast<int>(starts[r]));
      }
      request_ = ranks_.begin_piece(all.data(), counts_, places_);
    }
    ~MpiGathering() override { finish(); }
    void finish() override {
      if (request_ != MPI_REQUEST_NULL) ranks_.wait(kEverybody, [&] { return ranks_.completed(request_); });
    }

   private:
    MpiRanks& ranks_;
    std::vector<int> counts_, places_;  // the library reads them until the end
    MPI_Request request_ = MPI_REQUEST_NULL;
  };

  MPI_Request begin_piece(std::byte* buffer, const std::vector<int>& counts, const std::vector<int>& places) {
    MPI_Request request;
    {
      const std::lock_guard lock(mutex_);
      MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, buffer, counts.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD,
                      &request);
    }
    ++gathers_;
    return request;
  }

  Message await(int from, int tag) {
    std::optional<Message> message;
    wait(from, [&] { return (message = take(from, kFirstTag + tag)).has_value() || failed_elsewhere(); });
    return std::move(*message);
  }
  // A whole piece is followed by another one, if only by an empty one.
  Bytes rest_of(Message message, int tag) {
    for (bool more = message.bytes.size() == piece_; more;) {
      const Message next = await(message.from, tag);
      message.bytes.insert(message.bytes.end(), next.bytes.begin(), next.bytes.end());
      more = next.bytes.size() == piece_;
    }
    return std::move(message.bytes);
  }
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
    if (!whole) std::copy_n(all.data() + starts[mine] + done, counts[mine], buffer + places[mine]);
    MPI_Request request = begin_piece(buffer, counts, places);
    wait(kEverybody, [&] { return completed(request); });
    for (std::size_t r = 0; !whole && r < ranks; ++r)
      if (r != mine) std::copy_n(buffer + places[r], counts[r], all.data() + starts[r] + done);
  }

  // Waits for what comes of another rank, or of all. When patience is over all ranks are asked whom they wait for: who
  // does not answer, or is waited for by all others in the end, is named in the line that ends the job.
  template <class Done>
  void wait(int whom, Done done) {
    while (!look(patience_, done, [&] { answer_questions(whom); }))
      if (ask_whom_all_wait_for(whom, done)) return;
  }
  // True when what was waited for has come; false when there is reason to wait on.
  template <class Done>
  bool ask_whom_all_wait_for(int whom, Done done) {
    const std::lock_guard one_at_a_time(asking_);
    const int tag = leaving_ ? kLeaverTag : kQuestionTag;
    const std::uint64_t question =
        ++questions_ * static_cast<std::uint64_t>(size()) + static_cast<std::uint64_t>(rank());
    for (int r = 0; r < size(); ++r)
      if (r != rank()) send_note(r, tag, question);
    std::vector<std::optional<Answer>> answers(static_cast<std::size_t>(size()));
    answers[static_cast<std::size_t>(rank())] = Answer{question, gathers_, whom};
    const bool came = look(kGraceSeconds, [&] {
      answer_questions(whom);
      while (const auto note = take(MPI_ANY_SOURCE, kAnswerTag)) {
        const auto answer = Unpacker(note->bytes).get<Answer>();
        if (answer.question == question) answers[static_cast<std::size_t>(note->from)] = answer;
      }
      return done();
    });
    if (came) return true;
    if (leaving_ && rank() != 0 && answers[0]) return false;  // whoever else is missing is the business of rank 0
    const int late = late_one(answers, whom);
    // Rank 0 prints if it is there, else the lowest that is.
    const auto lowest = std::ranges::find_if(answers, [](const auto& a) { return a.has_value(); }) - answers.begin();
    if (lowest != rank() && lowest != 0) std::this_thread::sleep_for(std::chrono::duration<double>(kGraceSeconds));
    end_with(fmt::format("rank {} on {} {}", late, host(late), silence()), 1, lowest != 0);
  }

  // Whom the ranks that answered wait for in the end.
  int late_one(const std::vector<std::optional<Answer>>& answers, int whom) const {
    std::vector<bool> seen(answers.size());
    while (whom != kEverybody && answers[static_cast<std::size_t>(whom)] && !seen[static_cast<std::size_t>(whom)]) {
      seen[static_cast<std::size_t>(whom)] = true;
      whom = static_cast<int>(answers[static_cast<std::size_t>(whom)]->whom);
    }
    if (whom != kEverybody) return whom;
    int late = rank();  // all are here, and yet nothing arrives
    for (int r = size() - 1; r >= 0; --r) {
      const auto &answer = answers[static_cast<std::size_t>(r)], &behind = answers[static_cast<std::size_t>(late)];
      if (!answer || (behind && answer->gathers < behind->gathers)) late = r;
    }
    return late;
  }

  void answer_questions(int whom) {
    for (const int tag : {kQuestionTag, kLeaverTag}) answer_questions(tag, whom);
  }
  void answer_questions(int tag, int whom) {
    while (const auto note = take(MPI_ANY_SOURCE, tag))
      send_note(note->from, kAnswerTag, Answer{Unpacker(note->bytes).get<std::uint64_t>(), gathers_, whom});
  }

  // A few bytes on their way; nobody waits for them to arrive.
  template <class T>
  void send_note(int to, int tag, const T& value) {
    const std::lock_guard lock(mutex_);
    notes_.push_back({Packer().put(value).take(), MPI_REQUEST_NULL});
    MPI_Isend(notes_.back().bytes.data(), static_cast<int>(notes_.back().bytes.size()), MPI_BYTE, to, tag,
              MPI_COMM_WORLD, &notes_.back().request);
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
        MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_BYTE, 0, kFailureTag, MPI_COMM_WORLD, &request);
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
    const std::lock_guard lock(mutex_);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  std::mutex mutex_;  // of all calls of the library
  const std::size_t piece_ = piece_bytes();
  std::atomic<bool> leaving_ = false;
  std::atomic<double> patience_{kRankTimeout};
  std::vector<std::string> hosts_;
  std::atomic<std::uint64_t> gathers_ = 0;
  std::mutex asking_;
  std::uint64_t questions_ = 0;
  struct Note {
    Bytes bytes;
    MPI_Request request;
  };
  std::list<Note> notes_;
  const int standard_error_ = ::dup(STDERR_FILENO);  // as it was before rank 0 alone may print
  std::jthread sign_of_life_;                        // of rank 0; ends before what it uses
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

const char* hint_for_lone_ranks() {
  return "start ranks with srun --mpi=pmix or mpirun; for unrelated programs unset SLURM_STEP_NUM_TASKS and PMI_SIZE";
}

}  // namespace espalier::app
