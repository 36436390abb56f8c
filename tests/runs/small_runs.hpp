// Runs that take no time: a picture of 3 x 3, a small table, a few expressions.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "espalier/run.hpp"
#include "temp_folder.hpp"

namespace espalier {

using TrainingRun = Run;  // every googletest has a member Run

inline std::string small_target(const TempFolder& folder) {
  write_atomically(folder / "target.txt", std::string_view("##.\n.##\n#..\n"));
  return folder / "target.txt";
}

// Some seeds solve it within a few dozen steps, some never.
inline RunConfig small_picture(const TempFolder& folder, std::uint64_t seeds = 1) {
  RunConfig config = configure("pattern", {{"by", "training"},
                                           {"target", small_target(folder)},
                                           {"channels", "4"},
                                           {"kernels", "4"},
                                           {"perceive", "8,4,2"},
                                           {"update", "32x2,16,8,4"},
                                           {"steps", "4"},
                                           {"train-steps", "300"},
                                           {"eval-every", "5"},
                                           {"gumbel", "0"},
                                           {"gumbel-final", "0"},
                                           {"straight-from", "1"},
                                           {"temperature-final", "1"},
                                           {"start-logit", "10"},
                                           {"budget", "0"},
                                           {"refine", "0"}});
  config.seeds = seeds;
  return config;
}

// A picture that is trained for all its steps.
inline RunConfig steady_picture(const TempFolder& folder, std::uint64_t steps = 40) {
  RunConfig config = small_picture(folder);
  config.train.until_solved = false;
  config.train.steps = steps;
  return config;
}

// The same with a pool of boards.
inline RunConfig pooled_picture(const TempFolder& folder) {
  RunConfig config = steady_picture(folder);
  for (const auto& [name, value] :
       {std::pair{"batch", "3"}, {"pool", "7"}, {"pool-damage", "2"}, {"accumulate", "2"}, {"start-logit", "4"}})
    config.set(name, value);
  return config;
}

inline std::string small_csv(const TempFolder& folder) {
  write_atomically(folder / "rows.csv",
                   std::string_view("size,colour,kind\n1,red,a\n2,red,a\n1.5,blue,a\n1.2,blue,a\n9,red,b\n8,blue,b\n"
                                    "8.5,red,b\n9.5,blue,b\n1.1,red,a\n1.9,blue,a\n8.8,red,b\n9.1,blue,b\n"));
  return folder / "rows.csv";
}

// Grows and prunes.
inline RunConfig small_table(const TempFolder& folder) {
  return configure("table", {{"csv", small_csv(folder)},
                             {"target", "kind"},
                             {"hidden", "5,4"},
                             {"grow", "5"},
                             {"prune", "30"},
                             {"train-steps", "60"},
                             {"eval-every", "7"},
                             {"fan-in-scaling", "true"}});
}

inline RunConfig small_simplify() {
  return configure("simplify", {{"train-steps", "12"},
                                {"train-examples", "150"},
                                {"validation-examples", "20"},
                                {"test-examples", "0"},
                                {"deep-examples", "0"},
                                {"features", "12"},
                                {"layers", "2"},
                                {"batch-size", "64"},
                                {"eval-every", "5"},
                                {"depth", "3"}});
}

// All events of a run, kept.
class Events {
 public:
  explicit Events(Run& run) {
    run.listen([this](const RunEvent& event) {
      const std::lock_guard lock(mutex_);
      list_.push_back({event.kind, event.seed, event.trainer ? event.trainer->state().step : 0, event.text});
    });
  }
  struct Seen {
    RunEvent::Kind kind;
    std::uint64_t seed, step;
    std::string text;
  };
  std::vector<Seen> list() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  std::vector<Seen> of(RunEvent::Kind kind) const {
    std::vector<Seen> found;
    for (const Seen& seen : list())
      if (seen.kind == kind) found.push_back(seen);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Seen> list_;
};

}  // namespace espalier
