// Real objectives cancelled in the middle of their work: nothing half done remains, and they end in the same bits.
#include <gtest/gtest.h>

#include "espalier/trainer.hpp"
#include "random_stops.hpp"
#include "runs/checkpoint.hpp"
#include "runs/small_runs.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

bool carry_on(const Trainer&, bool) { return true; }

struct Ran {
  std::string weights, state;
  double loss = 0, best_loss = 0;
  AlignedVector<float> best;
  bool operator==(const Ran&) const = default;
};

Ran result(Trainer& trainer) {
  return {trainer.objective().parameters().hash(), trainer.objective().state().tensors_hash(), trainer.state().loss,
          trainer.state().best.loss, trainer.state().best_values};
}

class CancelTest : public testing::Test {
 protected:
  std::vector<RunConfig> configs() const {
    std::vector<RunConfig> all;
    all.push_back(steady_picture(folder_));
    all.push_back(configure("checkerboard-small", {{"train-steps", "12"}, {"eval-every", "5"}, {"gumbel", "0.5"}}));
    // Asynchronous updates.
    all.push_back(configure("checkerboard-small", {{"train-steps", "12"}, {"eval-every", "5"}, {"fire-rate", "0.6"}}));
    // Another parametrisation, and what else follows the progress of the training.
    all.push_back(configure("checkerboard-small", {{"train-steps", "12"},
                                                   {"eval-every", "5"},
                                                   {"parametrisation", "walsh"},
                                                   {"gumbel-final", "1"},
                                                   {"temperature-final", "0.5"}}));
    // Wires that are learned.
    all.push_back(configure("checkerboard-small",
                            {{"train-steps", "12"}, {"eval-every", "5"}, {"candidates", "3"}, {"gumbel-final", "1"}}));
    // Boards that go from step to step, two mini-batches in each.
    all.push_back(pooled_picture(folder_));
    all.push_back(small_table(folder_));
    all.push_back(small_simplify());
    return all;
  }
  TempFolder folder_;
  Oversubscribe many_;
};

TEST_F(CancelTest, AtRandomMomentsFromAnotherThreadTheyGoOnToTheSameBits) {
  for (const RunConfig& config : configs()) {
    const auto plain = config.make_objective();
    const ThreadPool one(1);
    Trainer unbroken(*plain, config.train, one);
    ASSERT_EQ(unbroken.run(carry_on), Outcome::kFinished);
    const double step_us = 1e6 * unbroken.state().seconds / static_cast<double>(config.train.steps);
    for (const int threads : {1, 2, 3}) {
      int interrupted = 0;
      for (std::uint64_t attempt = 0; attempt < 50 && interrupted == 0; ++attempt) {  // some runs are over in no time
        const auto objective = config.make_objective();
        ThreadPool pool(threads);
        StopFlag stop;
        pool.watch(&stop);
        Trainer trainer(*objective, config.train, pool);
        {
          const RandomStops stops(stop, static_cast<std::uint32_t>(3 * step_us) + 50, 10 * attempt + threads);
          for (int round = 0; round < 60 && trainer.run(carry_on) == Outcome::kInterrupted; ++round) {
            ++interrupted;
            stop.clear();
          }
        }
        stop.clear();
        EXPECT_EQ(trainer.run(carry_on), Outcome::kFinished);
        EXPECT_EQ(result(trainer), result(unbroken)) << config.task << " with " << threads;
      }
      EXPECT_GT(interrupted, 0) << config.task << " with " << threads;
    }
  }
}

// A flag that is up when a step begins cancels it at its first chunk, after begin_step: for every step of a run.
TEST_F(CancelTest, EveryStepBegunTwiceGivesTheSameBits) {
  for (const RunConfig& config : configs()) {
    const auto plain = config.make_objective(), objective = config.make_objective();
    const ThreadPool one(1);
    Trainer unbroken(*plain, config.train, one);
    unbroken.run(carry_on);
    ThreadPool pool(1);
    StopFlag stop;
    pool.watch(&stop);
    Trainer trainer(*objective, config.train, pool);
    std::uint64_t cancelled = 0;
    while (true) {
      stop.raise();
      const Outcome cut = trainer.run(carry_on);
      cancelled += cut == Outcome::kInterrupted;
      stop.clear();
      if (trainer.run([](const Trainer&, bool) { return false; }) == Outcome::kFinished) break;
    }
    EXPECT_GE(cancelled, config.train.steps);
    EXPECT_EQ(result(trainer), result(unbroken)) << config.task;
  }
}

TEST_F(CancelTest, CancelledSavedAndRestoredTheyGoOnToTheSameBits) {
  for (const RunConfig& config : configs()) {
    const ThreadPool one(1);
    const auto plain = config.make_objective();
    Trainer unbroken(*plain, config.train, one);
    unbroken.run(carry_on);
    auto objective = config.make_objective();
    auto trainer = std::make_unique<Trainer>(*objective, config.train, one);
    while (true) {
      ThreadPool pool(2);
      StopFlag stop;
      pool.watch(&stop);
      auto next_objective = config.make_objective();
      auto next = std::make_unique<Trainer>(*next_objective, config.train, pool);
      restore_checkpoint(*next, SafetensorsFile::parse(make_checkpoint(*trainer, {}).serialize(), "test"), {});
      // Three steps, and the next one cancelled after its beginning.
      std::uint64_t steps = 0;
      const Outcome outcome = next->run([&](const Trainer&, bool) {
        if (++steps == 3) stop.raise();
        return true;
      });
      // The pool dies here; the trainer is only asked for its state from now on.
      trainer = std::move(next);
      objective = std::move(next_objective);
      if (outcome != Outcome::kInterrupted) break;
    }
    EXPECT_EQ(result(*trainer), result(unbroken)) << config.task;
  }
}

}  // namespace
}  // namespace espalier
