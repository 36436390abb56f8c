// espalier bench --comm under mpirun: what it costs ranks to give each other bytes, and what of a training step they
// gain by sharing it, against the same step on rank 0 alone with as many threads. Both are measured in turns.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "bench/bench.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "espalier/run.hpp"
#include "output.hpp"
#include "program_ranks.hpp"

namespace espalier::app {
namespace {

using Times = std::vector<double>;

// Until the last rank has everything. They begin together: otherwise the bytes for a late one would be there already.
Times time_gather(Ranks& ranks, std::size_t bytes, int samples) {
  const auto size = static_cast<std::size_t>(ranks.size());
  Bytes all(bytes * size);
  std::vector<std::size_t> starts;
  for (std::size_t r = 0; r <= size; ++r) starts.push_back(r * bytes);
  Times times;
  for (int i = 0; i < samples; ++i) {
    ranks.any(false);
    const double start = seconds_now();
    ranks.all_gather(all, starts);
    times.push_back(std::ranges::max(ranks.all_gather(seconds_now() - start)));
  }
  return times;
}

struct StepCase {
  const char* name;
  RunConfig config;
};

struct StepRow {
  std::string name;
  Times shared, alone;  // all ranks with one thread each; rank 0 with as many threads as there are ranks
  std::uint64_t bytes = 0;
  bool same = false;
};

constexpr double kTurnSeconds = 0.05;    // of a turn, at the least, after its first step
constexpr double kPauseSeconds = 0.002;  // by when whoever spins has gone to sleep
constexpr int kTurnTag = 1;

// Steps of one turn; the first one finds cold caches and sleeping threads, and is not counted.
void time_turn(Trainer& trainer, std::size_t steps, Times& times) {
  trainer.step();
  for (std::size_t i = 0; i < steps; ++i) {
    const double begin = seconds_now();
    trainer.step();
    times.push_back(seconds_now() - begin);
  }
}

// Turns of a few steps each. While rank 0 has its turn alone the others sleep: a rank that waits for a gather spins at
// first, and would take a core from one of its threads; and so would its threads, which spin after a loop, from a rank.
StepRow time_steps(Ranks& ranks, const StepCase& c, double seconds) {
  ThreadPool shared_pool(1), alone_pool(ranks.first() ? ranks.size() : 1);
  shared_pool.join(&ranks);
  const auto shared_objective = c.config.make_objective(), alone_objective = c.config.make_objective();
  Trainer shared(*shared_objective, c.config.train, shared_pool), alone(*alone_objective, c.config.train, alone_pool);
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::duration<double>(kPauseSeconds)); };
  const auto alone_turn = [&](const auto& turn) {
    sleep();
    if (ranks.first()) {
      turn();
      sleep();
      for (int r = 1; r < ranks.size(); ++r) ranks.send(r, kTurnTag, {});
    } else {
      while (!ranks.poll(kTurnTag)) sleep();
    }
    ranks.any(false);
  };
  StepRow row;
  row.name = c.name;
  shared.step();
  const double first_step = seconds_now();
  shared.step();
  const double taken = ranks.all_gather(seconds_now() - first_step).front();
  alone_turn([&] { alone.step(), alone.step(); });
  const auto steps = static_cast<std::size_t>(std::clamp(kTurnSeconds / std::max(taken, 1e-9), 2.0, 1000.0));
  const double start = seconds_now();
  for (bool more = true; more; more = !ranks.any(ranks.first() && seconds_now() - start > seconds)) {
    const std::uint64_t before = ranks.bytes_sent();
    time_turn(shared, steps, row.shared);
    row.bytes = (ranks.bytes_sent() - before) / (steps + 1);
    alone_turn([&] { time_turn(alone, steps, row.alone); });
  }
  row.same = shared_objective->parameters().hash() == alone_objective->parameters().hash();
  return row;
}

}  // namespace

int comm_bench(double seconds, bool json) {
  ProgramRanks* const ranks = program_ranks();
  if (!ranks)
    throw UsageError("--comm",
                     "got one process, expected several; hint: mpirun -n 2 --bind-to none espalier bench --comm");
  const int cores = ThreadPool::usable_cores();
  if (cores < ranks->size())
    note(
        "rank 0 may use {} of the {} cores that its threads would need, so they lose to the ranks; mpirun "
        "--bind-to none lets it use all cores\n",
        cores, ranks->size());
  Json result = {{"ranks", ranks->size()}, {"cores", cores}, {"gather", Json::array()}, {"steps", Json::array()}};
  if (!json) fmt::print("{:>14} {:>12} {:>12} {:>14}\n", "bytes per rank", "best", "median", "received");
  for (const std::size_t bytes : {8, 1024, 65536, 1048576, 16777216}) {
    const Times t = time_gather(*ranks, bytes, bytes > 100'000 ? 20 : 300);
    const double rate = static_cast<double>(bytes) * (ranks->size() - 1) / best(t);
    result["gather"].push_back({{"bytes", bytes}, {"best_seconds", best(t)}, {"median_seconds", median(t)}});
    if (!json)
      fmt::print("{:>14} {:>9.1f} us {:>9.1f} us {:>9.2f} GB/s\n", bytes, best(t) * 1e6, median(t) * 1e6, rate * 1e-9);
  }
  if (!json)
    fmt::print("\n{:<22} {:>22} {:>22} {:>13} {:>11} {}\n", "step of: best (median)", "ranks x 1 thread",
               "1 rank, their threads", "ratio", "bytes sent", "weights");
  const StepCase cases[] = {
      {"checkerboard, batch 16", configure("checkerboard", {{"batch", "16"}})},
      {"simplify",
       configure("simplify", {{"validation-examples", "10"}, {"test-examples", "0"}, {"deep-examples", "0"}})}};
  bool same = true;
  for (const StepCase& c : cases) {
    const StepRow row = time_steps(*ranks, c, seconds);
    if (!ranks->first()) continue;
    same = same && row.same;
    result["steps"].push_back({{"case", row.name},
                               {"shared_best_seconds", best(row.shared)},
                               {"shared_median_seconds", median(row.shared)},
                               {"alone_best_seconds", best(row.alone)},
                               {"alone_median_seconds", median(row.alone)},
                               {"bytes_sent", row.bytes},
                               {"weights_equal", row.same}});
    if (!json)
      fmt::print("{:<22} {:>8.3f} ({:>8.3f}) ms {:>8.3f} ({:>8.3f}) ms {:>6.2f} ({:.2f}) {:>11} {}\n", row.name,
                 best(row.shared) * 1e3, median(row.shared) * 1e3, best(row.alone) * 1e3, median(row.alone) * 1e3,
                 best(row.alone) / best(row.shared), median(row.alone) / median(row.shared), row.bytes,
                 row.same ? "equal" : "DIFFERENT");
  }
  if (json) print_json(result);
  return same ? kDone : kFailed;
}

}  // namespace espalier::app
