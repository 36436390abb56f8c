// Every lattice task, with its own network and recipe on a grid small enough for the plain code: the fast code
// against the reference, and one thread against many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/files.hpp"
#include "base/npz.hpp"
#include "codecs.hpp"
#include "espalier/random.hpp"
#include "espalier/run.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "places.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Case {
  const char* task;
  Settings smaller;
  const char* what = "";  // in the test's name
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.task << c.what; }

class LatticeTasks : public testing::TestWithParam<Case> {
 protected:
  RunConfig config(bool reference) const {
    RunConfig c = configure(GetParam().task, GetParam().smaller);
    if (c.task == "boards") c.set("data", board_pairs());
    // Noise from the first step on, so that the five steps see it, and the last two straight through.
    if (std::stod(c.fields().at("gumbel-final").text()) > 0) c.set("gumbel", "0.5");
    if (std::stod(c.fields().at("straight-from").text()) < 1) c.set("straight-from", "0.6");
    c.set("reference", reference ? "true" : "false");
    c.set("until-solved", "false");
    c.set("train-steps", "5");
    return c;
  }

  std::string board_pairs() const {
    std::vector<std::uint8_t> start(9 * 5 * 6 * 2), target(9 * 5 * 6);
    const Random random(2, Purpose::kData);
    for (std::size_t i = 0; i < start.size(); ++i) start[i] = random.coin(i);
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = random.coin(start.size() + i);
    write_npz(folder_ / "pairs.npz",
              {{"start", numpy_array({9, 5, 6, 2}, start)}, {"target", numpy_array({9, 5, 6}, target)}});
    return folder_ / "pairs.npz";
  }

  struct Run {
    std::unique_ptr<Objective> objective;
    std::unique_ptr<Trainer> trainer;
    Run(const RunConfig& config, const ThreadPool& pool)
        : objective(config.make_objective()), trainer(std::make_unique<Trainer>(*objective, config.train, pool)) {}
  };
  TempFolder folder_;
};

TEST_P(LatticeTasks, GradientsAgreeWithTheReference) {
  const ThreadPool pool(2);
  Run fast(config(false), pool), plain(config(true), pool);
  fast.trainer->step();
  plain.trainer->step();
  const auto got = fast.objective->parameters().gradients(), expected = plain.objective->parameters().gradients();
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(got[i]) - expected[i]));
  }
  EXPECT_GT(largest, 0);
  // A Walsh coefficient's gradient is the sum of four, which may nearly cancel; with noise on a whole board (a pool)
  // those of thousands of cells do. With candidates it is the plain code in float that strays, up to 3.3e-5 from itself
  // in double, where the fast code is within 4e-6.
  const bool strays = config(false).text().find("walsh") != std::string::npos ||
                      config(false).fields().at("candidates").text() != "1" || GetParam().what == std::string("_pool");
  const double tolerance = strays ? 4e-5 : 1e-5;
  EXPECT_LE(difference, tolerance * largest);
}

TEST_P(LatticeTasks, ThreeStepsAgreeWithTheReference) {
  const ThreadPool pool(2);
  Run fast(config(false), pool), plain(config(true), pool);
  for (int step = 0; step < 3; ++step) {
    fast.trainer->step();
    plain.trainer->step();
    const double expected = plain.trainer->state().loss;
    EXPECT_NEAR(fast.trainer->state().loss, expected, 1e-5 * expected) << "step " << step + 1;
  }
}

TEST_P(LatticeTasks, AnyThreadCountGivesTheSameBits) {
  const Oversubscribe many;
  std::string expected;
  for (const int threads : kThreadCounts) {
    const ThreadPool pool(threads);
    Run run(config(false), pool);
    run.trainer->run([](const Trainer&, bool) { return true; });
    const std::string hash = run.objective->parameters().hash() + std::to_string(run.trainer->state().best.loss);
    if (threads == 1) expected = hash;
    EXPECT_EQ(hash, expected) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LatticeTasks,
    testing::Values(
        Case{"life", {}}, Case{"rule", {{"rule", "B36/S23"}}},
        Case{"checkerboard", {{"batch", "2"}, {"height", "7"}, {"width", "5"}, {"steps", "3"}}},
        Case{"checkerboard-small", {}}, Case{"checkerboard-async", {{"height", "7"}, {"width", "6"}, {"steps", "4"}}},
        Case{"lizard", {{"by", "training"}, {"steps", "2"}}}, Case{"letter", {{"by", "training"}, {"steps", "2"}}},
        Case{"pattern",
             {{"by", "training"}, {"steps", "2"}, {"target", test::source_dir() + "/data/targets/letter-g-16.txt"}}},
        Case{"pattern",
             {{"by", "training"},
              {"target", test::source_dir() + "/data/pictures/noise-12.png"},
              {"steps", "2"},
              {"batch", "2"},
              {"start-logit", "4"},
              {"pool", "4"},
              {"pool-damage", "1"}},
             "_pool"},
        Case{"boards", {{"steps", "2"}, {"batch", "3"}}}, Case{"life", {{"parametrisation", "entries"}}, "_entries"},
        Case{"letter", {{"by", "training"}, {"steps", "2"}, {"parametrisation", "walsh"}}, "_walsh"},
        Case{"checkerboard-small",
             {{"parametrisation", "entries"}, {"start-logit", "4"}, {"gumbel-final", "1"}},
             "_entries_with_all"},
        Case{"checkerboard-small",
             {{"parametrisation", "walsh"}, {"straight-from", "0.6"}, {"start-logit", "4"}, {"gumbel-final", "1"}},
             "_walsh_with_all"},
        Case{"life", {{"candidates", "4"}}, "_candidates"},
        Case{"letter", {{"by", "training"}, {"steps", "2"}, {"candidates", "2"}}, "_candidates"},
        Case{"checkerboard-small",
             {{"candidates", "3"},
              {"start-wire-logit", "2"},
              {"start-logit", "4"},
              {"gumbel-final", "1"},
              {"temperature-final", "0.5"}},
             "_candidates_with_all"},
        Case{"checkerboard-small",
             {{"parametrisation", "entries"},
              {"candidates", "8"},
              {"wiring", "random"},
              {"straight-from", "0.6"},
              {"gumbel", "0.5"}},
             "_candidates_straight"}),
    [](const auto& info) {
      std::string name = std::string(info.param.task) + info.param.what;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace espalier
