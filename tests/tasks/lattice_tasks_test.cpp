// Every lattice task, with its own network and recipe on a grid small enough for the plain code: the fast code
// against the reference, and one thread against many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "espalier/trainer.hpp"
#include "models/lattice/lattice_objective.hpp"
#include "runs/config.hpp"

namespace espalier {
namespace {

struct Case {
  const char* task;
  Json smaller;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.task; }

class LatticeTasks : public testing::TestWithParam<Case> {
 protected:
  static Json config(bool reference) {
    Json c = default_config(find_task(GetParam().task));
    c.update(GetParam().smaller);
    // Noise from the first step on, so that the five epochs see it, and the last two straight through.
    if (c.at("gumbel-final") > 0.0) c["gumbel"] = 0.5;
    if (c.at("straight-from") < 1.0) c["straight-from"] = 0.6;
    c.update({{"reference", reference}, {"until-solved", false}, {"epochs", 5}});
    return c;
  }

  struct Run {
    std::unique_ptr<Objective> objective;
    std::unique_ptr<Trainer> trainer;
    Run(const Json& config, const ThreadPool& pool)
        : objective(find_task(GetParam().task).make(config, config_seed(config))),
          trainer(std::make_unique<Trainer>(*objective, train_options(config), pool)) {}
  };
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
  EXPECT_LE(difference, 1e-5 * largest);
}

TEST_P(LatticeTasks, FiveEpochsAgreeWithTheReference) {
  const ThreadPool pool(2);
  Run fast(config(false), pool), plain(config(true), pool);
  for (int epoch = 0; epoch < 5; ++epoch) {
    fast.trainer->step();
    plain.trainer->step();
    const double expected = plain.trainer->state().loss;
    EXPECT_NEAR(fast.trainer->state().loss, expected, 1e-5 * expected) << "epoch " << epoch + 1;
  }
}

TEST_P(LatticeTasks, AnyThreadCountGivesTheSameBits) {
  setenv("ESPALIER_OVERSUBSCRIBE", "1", 1);
  std::string expected;
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
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
    testing::Values(Case{"life", Json::object()},
                    Case{"checkerboard", {{"batch", 2}, {"height", 7}, {"width", 5}, {"steps", 3}}},
                    Case{"checkerboard-small", Json::object()},
                    Case{"checkerboard-async", {{"height", 7}, {"width", 6}, {"steps", 4}}},
                    Case{"lizard", {{"steps", 2}}}, Case{"letter", {{"steps", 2}}},
                    Case{"pattern", {{"steps", 2}, {"target", ESPALIER_SOURCE_DIR "/data/targets/letter-g-16.txt"}}}),
    [](const auto& info) {
      std::string name = info.param.task;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace espalier
