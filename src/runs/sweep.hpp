// Experiments: every combination of some settings with every seed, each trained to its own end, and what came out of
// them in numbers that luck cannot dress up: shares with their intervals, and the time to a solution.
//
//   Sweep sweep("life", {}, parse_axes("start-logit=3,6,10"), 1, 20);
//   ThreadPool pool;
//   for (const SweepRow& row : sweep.run("runs/sweep", pool, [](std::size_t, std::size_t) {})) ...
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/run.hpp"

namespace espalier {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
};

// "start-logit=3,6,10;lr=0.05,0.1"; values that hold commas are set apart by "|": "update=64,8|128,8".
std::vector<SweepAxis> parse_axes(const std::string& text);

// Settings of a run that a sweep has its own of, always sets, or cannot have: a trial is one seed, with no other to
// halve. They are neither fixed nor varied.
bool is_set_by_sweep(std::string_view name);

// A share of trials with its 95 % interval (Wilson's, which holds for few trials and for shares of 0 and 1).
struct Share {
  std::size_t solved = 0, trials = 0;
  double value() const { return trials ? static_cast<double>(solved) / static_cast<double>(trials) : 0; }
  std::pair<double, double> interval() const;
};

// Seconds until a solution is there with probability 0.99 when tries of `seconds` each are repeated; infinity when none
// was solved.
double time_to_solution(double seconds, double share);

struct SweepRow {
  Settings settings;  // one value per axis
  std::vector<SeedReport> seeds;
  Share share() const;          // of the trials that did not fail
  double mean_seconds() const;  // of such a try, solved or not
  double tts99() const { return time_to_solution(mean_seconds(), share().value()); }
};

class Sweep {
 public:
  // `fixed` settings hold for all. Checks every combination before anything is trained.
  Sweep(const std::string& task, const Settings& fixed, std::vector<SweepAxis> axes, std::uint64_t first_seed,
        std::uint64_t seeds);

  std::size_t combinations() const { return configs_.size(); }
  std::size_t trials() const { return configs_.size() * seeds_; }

  // One thread for each trial, as many at once as the pool has workers; what each gives does not depend on that. Every
  // trial is a run of its own in DIR/NAME/seed-S; what is finished there is not trained again, what was begun goes on.
  // `told(done, solved)` after every trial.
  std::vector<SweepRow> run(const std::string& folder, const ThreadPool& pool,
                            const std::function<void(std::size_t done, std::size_t solved)>& told);
  // From any thread: what is running is saved, and run() returns with what there is.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  SeedReport trial(std::size_t combination, std::uint64_t seed, const std::string& folder);

  std::vector<SweepAxis> axes_;
  std::vector<Settings> settings_;  // [combination]
  std::vector<RunConfig> configs_;  // [combination]
  std::uint64_t first_seed_, seeds_;
  std::mutex mutex_;  // of the two below
  std::vector<RunControl*> running_;
  std::atomic<bool> stopped_{false};
};

std::string name_of(const Settings& settings);  // "start-logit=3 lr=0.1"

// One line per trial, and a picture: shares with their intervals.
std::string sweep_csv(const std::vector<SweepRow>& rows);
std::string sweep_picture(const std::vector<SweepRow>& rows, const std::string& title);

}  // namespace espalier
