// What parameters, slots, optimizers and the trainer refuse.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>

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
  for (const float w : p.values()) EXPECT_EQ(w, 0.0f);
  const Schedule schedule{.lr = std::nan("")};
  EXPECT_THROW(optimizer.step(p, schedule.at(0, 10)), Error);
}

TEST(TrainEdges, ClippingRefusesGradientsThatAreNotFinite) {
  for (const float bad : {kNan, INFINITY, -INFINITY}) {
    Parameters p;
    p.add("first", {2});
    p.add("second", {3});
    std::ranges::fill(p.gradients(), 1.0f);
    p.gradients()[3] = bad;
    const std::vector<float> before(p.gradients().begin(), p.gradients().end());
    const auto refused = [&](auto&& call) {
      try {
        call();
        ADD_FAILURE() << "accepted " << bad;
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("\"second\", element 1"), std::string::npos) << e.what();
      }
    };
    Optimizer norm({.clip_norm = 1}, 5), value({.clip_value = 1}, 5), plain({}, 5);
    refused([&] { p.clip_gradients(1.0); });
    refused([&] { p.clip_gradient_values(1.0f); });
    refused([&] { norm.step(p, 0.1f); });
    refused([&] { value.step(p, 0.1f); });
    EXPECT_EQ(norm.steps(), 0u);
    for (const float m : norm.first_moment()) EXPECT_EQ(m, 0.0f);
    for (const float w : p.values()) EXPECT_EQ(w, 0.0f);
    EXPECT_EQ(std::memcmp(p.gradients().data(), before.data(), 5 * sizeof(float)), 0);
    p.freeze(1);  // what is frozen counts for nothing
    EXPECT_EQ(p.clip_gradients(10.0), std::sqrt(2.0));
    norm.step(p, 0.1f);
    EXPECT_EQ(norm.steps(), 1u);
  }
  Parameters large;  // finite, although the square is not in float
  large.add("w", {1});
  large.gradients()[0] = 1e30f;
  EXPECT_DOUBLE_EQ(large.clip_gradients(1.0), static_cast<double>(1e30f));
  EXPECT_FLOAT_EQ(large.gradients()[0], 1.0f);
}

TEST(TrainEdges, ClosedParametersTakeNoTensor) {
  Parameters p;
  p.add("own", {2});
  p.close("somebody");
  EXPECT_THROW(p.add("other", {2}), Error);
  EXPECT_EQ(p.num_parameters(), 2u);
}

// Two passes of one kind, and one of another object.
TEST(TrainEdges, OnlyAPassThatIsMeantIsGoneBackThrough) {
  LastPass last, other;
  EXPECT_THROW(last.check("op", "how"), Error);
  EXPECT_THROW(last.check("op", ForwardPass{}), Error);
  const ForwardPass first = last.begin(), foreign = other.begin();
  EXPECT_NO_THROW(last.check("op", "how"));
  EXPECT_THROW(last.check("op", foreign), Error);
  last.went_back();
  EXPECT_NO_THROW(last.check("op", "how")) << "again through the same";
  const ForwardPass second = last.begin(), third = last.begin();
  EXPECT_THROW(last.check("op", second), Error);
  EXPECT_NO_THROW(last.check("op", third));
  last.went_back();
  EXPECT_THROW(last.check("op", "how"), Error) << "the second still waits, and is no more";
  last.begin();
  EXPECT_NO_THROW(last.check("op", "how")) << "after an error nothing waits";
  last.forget();
  EXPECT_THROW(last.check("op", "how"), Error);
  last.begin();
  last.begin();
  EXPECT_THROW(last.check("op", "how"), Error);
  EXPECT_THROW(last.check("op", "how"), Error);
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
  EXPECT_THROW(slots.share(calling_thread(), 0), Error);
  for (const GradientSlots::Share& bad :
       {GradientSlots::Share{0, 5, 1, false}, {3, 2, 1, false}, {0, 4, 0, false}, {9, 9, 1, true}}) {
    EXPECT_THROW(slots.zero(bad), Error);
    EXPECT_THROW(slots.add_shared(total, bad), Error);
  }
  EXPECT_THROW(slots.add_shared(total, {0, 2, 1, true}), Error);  // a pool without ranks
  EXPECT_THROW(slots.add_shared(longer, slots.share(calling_thread())), Error);
  EXPECT_THROW(slots.add_to(slots.slot(1)), Error);  // a total within the slots
  slots.zero(slots.share(calling_thread()));
  slots.add_shared(total, slots.share(calling_thread()));
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
