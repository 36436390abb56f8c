// What parameters, slots, optimizers and the trainer refuse.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>
#include <new>

#include "espalier/error.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/parameters.hpp"
#include "espalier/safetensors.hpp"
#include "toy_objective.hpp"

namespace espalier {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(TrainEdges, ATensorThatMemoryCannotHoldIsNotAdded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers want the whole address space";
#endif
  Parameters p;
  p.add("small", {2});
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{rlim_t{4} << 30, before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  EXPECT_THROW(p.add("huge", {std::size_t{1} << 32}), std::bad_alloc);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(p.tensors().size(), 1u);
  EXPECT_EQ(p.num_parameters(), 2u);
  EXPECT_EQ(p.add("huge", {3}), 1u);
  EXPECT_EQ(p.values(1).size(), 3u);
  EXPECT_EQ(p.gradients().size(), 5u);
}

TEST(TrainEdges, StepsOfNoFiniteRateAreRefusedAndMoveNothing) {
  Parameters p;
  p.add("w", {3});
  for (float& g : p.gradients()) g = 1;
  Optimizer optimizer({}, 3);
  for (const float bad : {kNan, INFINITY}) {
    EXPECT_THROW(optimizer.step(p, bad), Error);
    EXPECT_THROW(sgd_step(p, bad), Error);
    EXPECT_THROW(sgd_step(p, 0, 2, bad), Error);
  }
  EXPECT_EQ(optimizer.steps(), 0u);
  EXPECT_EQ(p.changes(), 0u);
  for (const float w : p.values()) EXPECT_EQ(w, 0.0f);
  const Schedule schedule{.lr = std::nan("")};
  EXPECT_THROW(optimizer.step(p, schedule.at(0, 10)), Error);
}

TEST(TrainEdges, EveryChangeOfTheWeightsIsCounted) {
  Parameters p;
  p.add("w", {3});
  Optimizer(OptimizerOptions{}, 3).step(p, 0.1f);
  EXPECT_EQ(p.changes(), 1u);
  sgd_step(p, 0.1f);
  EXPECT_EQ(p.changes(), 2u);
  SafetensorsFile file;
  file.add("w", {3}, std::span<const float>(std::vector<float>(3)));
  load_parameters(p, file);
  EXPECT_EQ(p.changes(), 3u);
  p.zero_grad();
  EXPECT_EQ(p.changes(), 3u);
}

TEST(TrainEdges, TheReferenceStepWantsArraysOfOneLength) {
  std::vector<float> three(3), four(4), none;
  const OptimizerOptions adam, sgd{.kind = OptimizerKind::kSgd};
  EXPECT_THROW(reference_step(adam, 1, 0.1f, three, four, three, three), Error);
  EXPECT_THROW(reference_step(adam, 1, 0.1f, three, three, none, three), Error);
  EXPECT_THROW(reference_step(adam, 1, 0.1f, three, three, three, none), Error);
  EXPECT_THROW(reference_step(adam, 1, kNan, three, three, three, three), Error);
  EXPECT_THROW(reference_step({.momentum = 2}, 1, 0.1f, three, three, three, three), Error);
  EXPECT_THROW(reference_step(sgd, 1, 0.1f, three, three, none, none), Error);
  reference_step(sgd, 1, 0.1f, three, three, three, none);  // SGD has one moment
}

TEST(TrainEdges, SlotsOfOthersAndUnitsOfNothingAreRefused) {
  GradientSlots slots(4, 3);
  std::vector<float> total(3), longer(4);
  EXPECT_THROW(slots.own(calling_thread(), 0), Error);
  for (const GradientSlots::Own& bad :
       {GradientSlots::Own{0, 5, 1, false}, {3, 2, 1, false}, {0, 4, 0, false}, {9, 9, 1, true}}) {
    EXPECT_THROW(slots.zero(bad), Error);
    EXPECT_THROW(slots.add_shared(total, bad), Error);
  }
  EXPECT_THROW(slots.add_shared(total, {0, 2, 1, true}), Error);  // a pool without ranks
  EXPECT_THROW(slots.add_shared(longer, slots.own(calling_thread())), Error);
  EXPECT_THROW(slots.add_to(slots.slot(1)), Error);  // a total within the slots
  slots.zero(slots.own(calling_thread()));
  slots.add_shared(total, slots.own(calling_thread()));
  EXPECT_THROW(slots.slot(4), Error);
}

TEST(TrainEdges, ATrainerNeedsSomebodyWhoWatches) {
  ToyObjective toy;
  Trainer trainer(toy, {.steps = 2});
  EXPECT_THROW(trainer.run({}), Error);
  EXPECT_EQ(trainer.state().step, 0u);
  EXPECT_THROW(trainer.best_model(), Error);
  toy.parameters().values()[0] = kNan;
  EXPECT_THROW(trainer.check_weights(), Error);
  EXPECT_THROW(trainer.evaluate(), Error);
}

TEST(TrainEdges, AnOptimizerOfMoreThanMemoryOrOfNoKindIsRefused) {
  EXPECT_THROW(Optimizer({}, ~std::size_t{0} / 2), Error);
  EXPECT_THROW(Optimizer({.kind = static_cast<OptimizerKind>(9)}, 3), Error);
}

}  // namespace
}  // namespace espalier
