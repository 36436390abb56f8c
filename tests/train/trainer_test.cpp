#include "espalier/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "espalier/error.hpp"
#include "runs/checkpoint.hpp"
#include "temp_folder.hpp"
#include "thread_counts.hpp"
#include "train/toy_objective.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

TrainOptions options(std::uint64_t epochs = 60) {
  TrainOptions o;
  o.epochs = epochs;
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
  EXPECT_TRUE(trainer.state().best.solved);
  EXPECT_EQ(trainer.state().best_values.size(), ToyObjective::kInputs);
}

TEST(Trainer, EvaluatesAsOftenAsAskedAndAtTheEnd) {
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, options(20), pool);
  std::vector<std::uint64_t> evaluated;
  EXPECT_EQ(trainer.run([&](const Trainer& t, bool due) {
    if (due) evaluated.push_back(t.state().epoch);
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
  EXPECT_EQ(trainer.state().epoch, 3u);
}

TEST(Trainer, TheWatcherCanInterrupt) {
  const ThreadPool pool(1);
  ToyObjective toy;
  Trainer trainer(toy, options(), pool);
  EXPECT_EQ(trainer.run([](const Trainer& t, bool) { return t.state().epoch < 5; }), Outcome::kInterrupted);
  EXPECT_EQ(trainer.state().epoch, 5u);
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
  EXPECT_THAT(message, HasSubstr("epoch 5"));
  EXPECT_EQ(trainer.state().epoch, 4u);
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

TEST(TrainerDeterminism, ResumingAnywhereGivesTheBitsOfAnUninterruptedRun) {
  const ThreadPool pool(1);
  for (const OptimizerKind kind : {OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    TrainOptions o = options(30);
    o.optimizer.kind = kind;
    ToyObjective whole;
    Trainer uninterrupted(whole, o, pool);
    uninterrupted.run(carry_on);
    for (const std::uint64_t stop : {1u, 6u, 7u, 20u, 29u, 30u}) {
      std::vector<std::byte> saved;
      {
        ToyObjective toy;
        Trainer trainer(toy, o, pool);
        trainer.run([&](const Trainer& t, bool) { return t.state().epoch < stop; });
        saved = make_checkpoint(trainer, false).serialize();
      }
      ToyObjective toy(99);  // other weights, which the checkpoint replaces
      Trainer trainer(toy, o, pool);
      EXPECT_FALSE(restore_checkpoint(trainer, SafetensorsFile::parse(saved, "test")));
      EXPECT_EQ(trainer.state().epoch, stop);
      // The toy draws its batches from its seed; only its weights come from the checkpoint.
      ToyObjective same_data;
      Trainer resumed(same_data, o, pool);
      restore_checkpoint(resumed, SafetensorsFile::parse(saved, "test"));
      resumed.run(carry_on);
      EXPECT_EQ(fingerprint(resumed), fingerprint(uninterrupted)) << stop;
      EXPECT_EQ(resumed.state().best_values, uninterrupted.state().best_values);
      EXPECT_EQ(resumed.state().best_epoch, uninterrupted.state().best_epoch);
      EXPECT_EQ(resumed.state().evaluations_since_best, uninterrupted.state().evaluations_since_best);
    }
  }
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
  EXPECT_TRUE(better({.score = 0.9, .loss = 5, .extra = {}}, {.score = 0.8, .loss = 1, .extra = {}}));
  EXPECT_FALSE(better({.score = 0.8, .loss = 1, .extra = {}}, {.score = 0.9, .loss = 5, .extra = {}}));
  EXPECT_TRUE(better({.score = 0.9, .loss = 1, .extra = {}}, {.score = 0.9, .loss = 2, .extra = {}}));
  EXPECT_FALSE(better({.score = 0.9, .loss = 1, .extra = {}}, {.score = 0.9, .loss = 1, .extra = {}}));
}

}  // namespace
}  // namespace espalier
