// What a rollout refuses: sizes that do not fit, numbers that are none, calls out of order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/random.hpp"

namespace espalier {
namespace {

const AutomatonOptions kSmall{2, 2, {8, 4, 2}, {8, 4, 2}, WiringKind::kUnique, Boundary::kZero};

class RolloutTest : public testing::Test {
 protected:
  RolloutTest() { automaton.add_parameters(parameters, 1); }

  ThreadPool pool{1};
  Automaton automaton{kSmall, 1};
  Parameters parameters;
  Rollout rollout{automaton, {.batch = 2, .height = 3, .width = 4, .steps = 5}};
  std::vector<float> boards = std::vector<float>(2 * 2 * 12), target = std::vector<float>(2 * 12);
};

TEST_F(RolloutTest, RunsInOrderAndAgain) {
  rollout.soften(parameters.values(), {}, pool);
  for (int repeat = 0; repeat < 2; ++repeat) {
    rollout.forward(boards, 1, 0, pool);
    EXPECT_EQ(rollout.state(0), boards);
    EXPECT_EQ(rollout.state(5).size(), boards.size());
    EXPECT_TRUE(std::isfinite(rollout.loss(target, 1, pool)));
    rollout.backward(pool);
    EXPECT_EQ(rollout.initial_gradient().size(), boards.size());
    rollout.add_gradients(parameters.gradients(), pool);
  }
}

// The update network's coefficients then begin in the middle of a vector.
TEST(Rollouts, KernelsMayHaveAnOddNumberOfGates) {
  const Automaton automaton({2, 1, {8, 4, 2, 1}, {8, 4, 2}, WiringKind::kRandom, Boundary::kZero}, 1);
  Parameters parameters;
  automaton.add_parameters(parameters, 1);
  Rollout rollout(automaton, {.batch = 1, .height = 3, .width = 4, .steps = 2});
  rollout.soften(parameters.values(), {});
  rollout.forward(std::vector<float>(24, 0.5f), 1, 0);
  EXPECT_GT(rollout.loss(std::vector<float>(12), 1), 0);
  rollout.backward();
  rollout.add_gradients(parameters.gradients());
  EXPECT_TRUE(parameters.has_gradients());
}

TEST_F(RolloutTest, TheLossMayEndAfterTheBackwardPass) {
  rollout.soften(parameters.values(), {}, pool);
  rollout.forward(boards, 1, 0, pool);
  const double loss = rollout.loss(target, 1, pool);
  rollout.backward(pool);
  rollout.add_gradients(parameters.gradients(), pool);
  const std::vector<float> gradients(parameters.gradients().begin(), parameters.gradients().end());
  parameters.zero_grad();
  rollout.begin_loss(target, 1, pool);
  rollout.backward(pool);
  EXPECT_EQ(rollout.end_loss(pool), loss);
  rollout.add_gradients(parameters.gradients(), pool);
  EXPECT_TRUE(std::ranges::equal(parameters.gradients(), gradients));
}

// Through a gate that is nearly decided the other operand's gradient is next to nothing, and again in the gate before.
TEST(Rollouts, GradientsTooSmallForANormalNumberAreZero) {
  const Automaton automaton({2, 4, {8, 4, 2}, {16, 8, 4, 2}, WiringKind::kUnique, Boundary::kZero}, 1);
  Parameters parameters;
  automaton.add_parameters(parameters, 10);
  const Random noise(2, Purpose::kInit), coins(1, Purpose::kBatch);
  for (std::size_t i = 0; i < parameters.num_parameters(); ++i) parameters.values()[i] += 0.1f * noise.normal(i);
  std::vector<float> boards(2 * 2 * 144);
  for (std::size_t i = 0; i < boards.size(); ++i) boards[i] = static_cast<float>(coins.coin(i));
  Rollout rollout(automaton, {.batch = 2, .height = 12, .width = 12, .steps = 20});
  rollout.soften(parameters.values(), {});
  rollout.forward(boards, 1, 0);
  rollout.loss(std::vector<float>(2 * 144, 0.25f), 1);
  rollout.backward();
  int tiny = 0, zero = 0;
  for (const float g : rollout.initial_gradient()) {
    tiny += std::fpclassify(g) == FP_SUBNORMAL;
    zero += g == 0;
  }
  EXPECT_LT(tiny, 10);  // would be 121; one may still be the sum of several that are larger
  EXPECT_GT(zero, 250);
  volatile float least = 1e-30f;
  EXPECT_GT(least * 1e-10f, 0) << "outside a rollout such numbers stay";
}

TEST_F(RolloutTest, RefusesCallsOutOfOrder) {
  EXPECT_THROW(rollout.forward(boards, 1, 0, pool), Error);
  rollout.soften(parameters.values(), {}, pool);
  EXPECT_THROW(rollout.state(0), Error);
  EXPECT_THROW(rollout.loss(target, 1, pool), Error);
  rollout.forward(boards, 1, 0, pool);
  EXPECT_THROW(rollout.backward(pool), Error);
  EXPECT_THROW(rollout.end_loss(pool), Error);
  rollout.loss(target, 1, pool);
  EXPECT_THROW(rollout.add_gradients(parameters.gradients(), pool), Error);
  EXPECT_THROW(rollout.initial_gradient(), Error);
  rollout.backward(pool);
  rollout.soften(parameters.values(), {}, pool);  // other gates: what was computed is not theirs
  EXPECT_THROW(rollout.backward(pool), Error);
  EXPECT_THROW(rollout.add_gradients(parameters.gradients(), pool), Error);
}

TEST_F(RolloutTest, OfTwoForwardPassesNeitherIsGuessed) {
  std::vector<float> validation(boards.size(), 0.25f);
  rollout.soften(parameters.values(), {}, pool);
  const ForwardPass alone = rollout.forward(boards, 1, 0, pool);
  rollout.loss(target, 1, pool);
  rollout.backward(alone, pool);
  const std::vector<float> want = rollout.initial_gradient();
  const ForwardPass first = rollout.forward(boards, 1, 0, pool);
  rollout.loss(target, 1, pool);
  const ForwardPass second = rollout.forward(validation, 1, 0, pool);
  rollout.loss(target, 1, pool);
  EXPECT_THROW(rollout.backward(first, pool), Error);
  EXPECT_THROW(rollout.backward(ForwardPass{}, pool), Error);
  EXPECT_THROW(rollout.backward(pool), Error);
  EXPECT_THROW(rollout.backward(second, pool), Error) << "given up by the Error";
  EXPECT_THROW(rollout.add_gradients(parameters.gradients(), pool), Error);
  EXPECT_FALSE(parameters.has_gradients());
  rollout.forward(validation, 1, 0, pool);
  rollout.loss(target, 1, pool);
  const ForwardPass last = rollout.forward(boards, 1, 0, pool);
  EXPECT_THROW(rollout.backward(last, pool), Error) << "the loss was of the pass before";
  rollout.loss(target, 1, pool);
  rollout.backward(last, pool);
  EXPECT_EQ(rollout.initial_gradient(), want);
  rollout.soften(parameters.values(), {}, pool);
  EXPECT_THROW(rollout.backward(last, pool), Error);
}

TEST_F(RolloutTest, RefusesWrongSizes) {
  EXPECT_THROW(rollout.soften(parameters.values().first(16), {}, pool), Error);
  rollout.soften(parameters.values(), {}, pool);
  EXPECT_THROW(rollout.forward(std::span(boards).first(boards.size() - 1), 1, 0, pool), Error);
  EXPECT_THROW(rollout.forward(target, 1, 0, pool), Error);
  rollout.forward(boards, 1, 0, pool);
  EXPECT_THROW(rollout.state(99), Error);
  EXPECT_THROW(rollout.state(6), Error);
  EXPECT_THROW(rollout.state(-1), Error);
  EXPECT_THROW(rollout.loss(std::span(target).first(23), 1, pool), Error);
  EXPECT_THROW(rollout.loss(target, 2, pool), Error);
  EXPECT_THROW(rollout.loss(target, 0, pool), Error);
  EXPECT_THROW(rollout.loss(std::vector<float>(3 * 24), 3, pool), Error);  // more than there are channels
  rollout.loss(target, 1, pool);
  rollout.backward(pool);
  EXPECT_THROW(rollout.add_gradients(parameters.gradients().first(16), pool), Error);
}

TEST_F(RolloutTest, RefusesWhatIsNoNumber) {
  rollout.soften(parameters.values(), {}, pool);
  boards[5] = NAN;
  EXPECT_THROW(rollout.forward(boards, 1, 0, pool), Error);
  boards[5] = INFINITY;
  EXPECT_THROW(rollout.forward(boards, 1, 0, pool), Error);
  boards[5] = 0;
  rollout.forward(boards, 1, 0, pool);
  target[1] = NAN;
  EXPECT_THROW(rollout.loss(target, 1, pool), Error);
}

TEST(RolloutOptions, AreFieldsWithNamesAndRanges) {
  RolloutOptions o;
  Fields fields = fields_of(o);
  for (const char* name : {"height", "width", "steps", "batch"}) fields.at(name).set_text("7");
  fields.at("fire-rate").set_text("0.6");
  EXPECT_EQ(o.batch, 7);
  EXPECT_EQ(o.width, 7);
  EXPECT_EQ(o.fire_rate, 0.6f);
  EXPECT_EQ(fields.at("fire-rate").text(), "0.6");
  EXPECT_THROW(fields.at("steps").set_text("-1"), Error);
  EXPECT_THROW(fields.at("fire-rate").set_text("1.5"), Error);
}

TEST(RolloutOptions, ImpossibleOnesAreRefusedBeforeAnythingIsAllocated) {
  const Automaton automaton(kSmall, 1);
  for (const RolloutOptions& o : std::vector<RolloutOptions>{{.batch = 0},
                                                             {.height = 0},
                                                             {.width = -1},
                                                             {.steps = 0},
                                                             {.steps = 100'001},
                                                             {.fire_rate = 0},
                                                             {.fire_rate = 1.5f},
                                                             {.fire_rate = NAN},
                                                             {.height = 100'000, .width = 100'000},
                                                             {.batch = 64, .height = 1000, .width = 1000}}) {
    EXPECT_THROW(check_rollout(o, 2), Error);
    EXPECT_THROW(Rollout(automaton, o), Error);
  }
  EXPECT_THROW(check_rollout({}, 0), Error);
  EXPECT_NO_THROW(check_rollout({}, 2));
}

}  // namespace
}  // namespace espalier
