#include "espalier/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <map>
#include <thread>

#include "espalier/error.hpp"
#include "random_stops.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

TrainOptions options(std::uint64_t steps = 60) {
  TrainOptions o;
  o.steps = steps;
  o.eval_every = 7;
  o.optimizer.clip_norm = 5.0f;
  o.schedule = {.kind = ScheduleKind::kCosine, .lr = 0.05, .warmup = 3};
  return o;
}

bool carry_on(const Trainer&, bool) { return true; }

TEST(Trainer, LearnsAndKeepsTheBestWeights) {
  const ThreadPool pool(1);
  ToyObjective toy;
  TrainOptions o = options(300);
  o.until_solved = true;
  Trainer trainer(toy, o, pool);
  const double before = toy.evaluate(pool).loss;
  EXPECT_EQ(trainer.run(carry_on), Outcome::kSolved);
  EXPECT_LT(trainer.state().best.loss, before / 100);
  EXPECT_TRUE(trainer.state().best.passed);
  EXPECT_EQ(trainer.state().best_values.size(), ToyObjective::kInputs);
}

TEST(Trainer, EvaluatesAsOftenAsAskedAndAtTheEnd) {
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, options(20), pool);
  std::vector<std::uint64_t> evaluated;
  EXPECT_EQ(trainer.run([&](const Trainer& t, bool due) {
    if (due) evaluated.push_back(t.state().step);
    return true;
  }),
            Outcome::kFinished);
  EXPECT_EQ(evaluated, (std::vector<std::uint64_t>{7, 14, 20}));
}

TEST(Trainer, GivesUpAfterItsPatience) {
  const ThreadPool pool(1);
  ToyObjective toy;
  TrainOptions o = options(1000);
  o.schedule = {.lr = 0.0};  // no step changes anything, so no evaluation is better
  o.eval_every = 1;
  o.patience = 3;
  Trainer trainer(toy, o, pool);
  EXPECT_EQ(trainer.run(carry_on), Outcome::kHopeless);
  EXPECT_EQ(trainer.state().step, 3u);
}

TEST(Trainer, TheWatcherCanInterrupt) {
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, options(), pool);
  EXPECT_EQ(trainer.run([](const Trainer& t, bool) { return t.state().step < 5; }), Outcome::kInterrupted);
  EXPECT_EQ(trainer.state().step, 5u);
}

TEST(Trainer, ALossThatIsNotFiniteStopsBeforeTheWeightsAreTouched) {
  const ThreadPool pool(1);
  ToyObjective toy;
  toy.poison_from = 4;
  Trainer trainer(toy, options(), pool);
  std::string hash;
  const std::string message = message_of<Error>([&] {
    trainer.run([&](const Trainer&, bool) {
      hash = toy.parameters().hash();
      return true;
    });
  });
  EXPECT_THAT(message, HasSubstr("step 5"));
  EXPECT_EQ(trainer.state().step, 4u);
  EXPECT_EQ(toy.parameters().hash(), hash);
}

TEST(Trainer, AccumulationAddsTheGradientsOfSeveralBatches) {
  const ThreadPool pool(1);
  TrainOptions o = options(1);
  o.accumulate = 3;
  ToyObjective accumulated, by_hand;
  Trainer trainer(accumulated, o, pool);
  trainer.step();
  PhaseSeconds phases;
  double loss = 0;
  for (std::uint64_t batch = 0; batch < 3; ++batch) loss += by_hand.accumulate(batch, pool, phases);
  EXPECT_EQ(trainer.state().loss, loss);
  const auto gradients = by_hand.parameters().gradients();
  EXPECT_TRUE(std::equal(gradients.begin(), gradients.end(), accumulated.parameters().gradients().begin()));
}

// Everything a run leaves behind that must be the same for any number of threads.
std::pair<std::string, std::uint64_t> fingerprint(const Trainer& trainer) {
  return {trainer.objective().parameters().hash(), std::bit_cast<std::uint64_t>(trainer.state().loss)};
}

TEST(TrainerDeterminism, TheSameBitsForAnyThreadCount) {
  const Oversubscribe oversubscribe;
  const auto run = [](int threads) {
    const ThreadPool pool(threads);
    ToyObjective toy;
    TrainOptions o = options();
    o.accumulate = 2;
    Trainer trainer(toy, o, pool);
    trainer.run(carry_on);
    return fingerprint(trainer);
  };
  const auto expected = run(1);
  for (const int threads : kThreadCounts) EXPECT_EQ(run(threads), expected) << threads;
}

// The hash of the weights after every step of an unbroken run.
template <class Toy>
std::map<std::uint64_t, std::string> unbroken(const TrainOptions& o, std::pair<std::string, std::uint64_t>& last) {
  const ThreadPool pool(1);
  Toy toy;
  Trainer trainer(toy, o, pool);
  std::map<std::uint64_t, std::string> hashes{{0, toy.parameters().hash()}};
  trainer.run([&](const Trainer& t, bool) {
    hashes[t.state().step] = toy.parameters().hash();
    return true;
  });
  last = fingerprint(trainer);
  return hashes;
}

TEST(TrainerCancelled, AtAnyChunkItGoesOnToTheSameBits) {
  const TrainOptions o = options(4);  // an evaluation at the beginning and one at the end
  std::pair<std::string, std::uint64_t> expected;
  const auto hashes = unbroken<ToyObjective>(o, expected);
  ThreadPool pool(1);
  StopFlag stop;
  pool.watch(&stop);
  std::uint64_t interrupted = 0;
  for (std::uint64_t at = 1; at < 100; ++at) {
    ToyObjective toy;
    toy.on_chunk = [&](std::uint64_t chunk) {
      if (chunk == at) stop.raise();
    };
    Trainer trainer(toy, o, pool);
    Outcome outcome = trainer.run(carry_on);
    if (outcome == Outcome::kInterrupted) {
      ++interrupted;
      EXPECT_EQ(toy.parameters().hash(), hashes.at(trainer.state().step)) << "half a step was done";
      stop.clear();
      outcome = trainer.run(carry_on);
    }
    stop.clear();
    ASSERT_EQ(outcome, Outcome::kFinished);
    EXPECT_EQ(fingerprint(trainer), expected) << "cancelled in chunk " << at;
    EXPECT_EQ(trainer.state().evaluated_step, 4u);
  }
  EXPECT_GT(interrupted, 60u);
}

TEST(TrainerCancelled, EveryEvaluationIsTold) {
  ThreadPool pool(1);
  StopFlag stop;
  pool.watch(&stop);
  ToyObjective toy;
  Trainer trainer(toy, options(21), pool);
  std::uint64_t cancelled = 0;  // the step whose evaluation was cancelled last
  toy.on_chunk = [&](std::uint64_t) {
    const TrainState& s = trainer.state();
    const bool evaluating = s.step > 0 && s.step % 7 == 0 && s.evaluated_step != s.step;
    if (!evaluating || cancelled == s.step) return;
    cancelled = s.step;
    stop.raise();
  };
  std::vector<std::uint64_t> told;
  const auto watcher = [&](const Trainer& t, bool evaluated) {
    if (evaluated) told.push_back(t.state().step);
    return true;
  };
  int rounds = 0;
  while (trainer.run(watcher) == Outcome::kInterrupted && ++rounds < 10) stop.clear();
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{7, 14, 21}));
}

template <class Toy>
void expect_whole_after_random_stops() {
  const Oversubscribe oversubscribe;
  const TrainOptions o = options(60);
  std::pair<std::string, std::uint64_t> expected;
  const auto hashes = unbroken<Toy>(o, expected);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    StopFlag stop;
    pool.watch(&stop);
    Toy toy;
    toy.on_chunk = [](std::uint64_t) { std::this_thread::sleep_for(std::chrono::microseconds(10)); };
    Trainer trainer(toy, o, pool);
    int interrupted = 0;
    {
      const RandomStops stops(stop, 8000, static_cast<std::uint64_t>(threads));
      while (trainer.run(carry_on) == Outcome::kInterrupted && ++interrupted < 100) {
        const bool begun = trainer.state().step % 3 == 0 && std::is_same_v<Toy, GrowingToy>;  // its weights are nudged
        if (!begun) {
          EXPECT_EQ(toy.parameters().hash(), hashes.at(trainer.state().step));
        }
        stop.clear();
      }
    }
    stop.clear();
    trainer.run(carry_on);
    EXPECT_GT(interrupted, 0);
    EXPECT_EQ(fingerprint(trainer), expected) << threads;
  }
}

TEST(TrainerCancelled, AtRandomMomentsFromAnotherThreadItGoesOnToTheSameBits) {
  expect_whole_after_random_stops<ToyObjective>();
}

TEST(TrainerCancelled, AnObjectiveWithAStateGoesOnToTheSameBits) { expect_whole_after_random_stops<GrowingToy>(); }

TEST(Trainer, TheBestModelHasTheWeightsAndTheStateOfTheBestEvaluation) {
  const ThreadPool pool(1);
  GrowingToy toy;
  Trainer trainer(toy, options(20), pool);
  EXPECT_THROW(trainer.best_model(), Error);
  std::map<std::uint64_t, std::pair<std::vector<float>, std::vector<std::int64_t>>> seen;
  trainer.run([&](const Trainer& t, bool) {
    const auto values = toy.parameters().values();
    seen[t.state().step] = {{values.begin(), values.end()}, toy.grown()};
    return true;
  });
  const auto model = trainer.best_model();
  const auto& toy_model = dynamic_cast<const ToyModel&>(*model);
  const auto values = model->parameters().values();
  const auto& [weights, grown] = seen.at(trainer.state().best_step);
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), weights);
  EXPECT_EQ(toy_model.state().longs("grown"), grown);
}

TEST(Trainer, UntilSolvedStopsAtTheFirstSolvedEvaluation) {
  TrainOptions o = options(2000);
  o.until_solved = true;
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, o, pool);
  bool solved_before = false;
  const Outcome outcome = trainer.run([&](const Trainer& t, bool evaluated) {
    EXPECT_FALSE(solved_before) << "went on after a solved evaluation";
    solved_before = evaluated && t.state().last.passed;
    return true;
  });
  EXPECT_EQ(outcome, Outcome::kSolved);
  EXPECT_LT(trainer.state().step, 2000u);
  EXPECT_EQ(trainer.state().best_step, trainer.state().step);
}

TEST(Trainer, WeightsThatAreNotFiniteAreNotJudged) {
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, options(), pool);
  trainer.evaluate();
  const auto best = trainer.state().best_values;
  toy.parameters().values()[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message_of<Error>([&] { trainer.evaluate(); }), HasSubstr("inf"));
  EXPECT_EQ(trainer.state().best_values, best);
  message_of<Error>([&] { trainer.check_weights(); });
}

TEST(Trainer, ZeroForAnIntervalIsAnError) {
  const ThreadPool pool(1);
  ToyObjective toy;
  TrainOptions o;
  o.accumulate = 0;
  EXPECT_THROW(Trainer(toy, o, pool), Error);
  o.accumulate = 1;
  o.eval_every = 0;
  EXPECT_THROW(Trainer(toy, o, pool), Error);
}

TEST(Trainer, BetterMeansScoreFirstThenLoss) {
  const auto judged = [](double score, double loss) { return Evaluation{.score = score, .loss = loss}; };
  EXPECT_TRUE(judged(0.9, 5).better_than(judged(0.8, 1)));
  EXPECT_FALSE(judged(0.8, 1).better_than(judged(0.9, 5)));
  EXPECT_TRUE(judged(0.9, 1).better_than(judged(0.9, 2)));
  EXPECT_FALSE(judged(0.9, 1).better_than(judged(0.9, 1)));
}

}  // namespace
}  // namespace espalier
