// Events for readers that take their time: order, what is dropped and what never is.
#include "runs/event_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "small_runs.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;
using Kind = RunEvent::Kind;
using Seen = std::pair<Kind, std::uint64_t>;  // and the step
constexpr std::chrono::milliseconds kAtOnce(0), kLong(60'000);

void push(EventQueue& queue, Kind kind, std::uint64_t step, std::uint64_t seed = 1) {
  TrainState state;
  state.step = step;
  queue.push({.kind = kind, .seed = seed, .state = &state});
}

std::vector<Seen> seen(const std::list<EventCopy>& events) {
  std::vector<Seen> all;
  for (const EventCopy& event : events) all.emplace_back(event.kind, event.step);
  return all;
}

TEST(EventQueue, OfStepsNotTakenOnlyTheLastStaysAndEverythingIsInOrder) {
  EventQueue queue;
  EventReader reader(queue), prompt(queue);
  push(queue, Kind::kSeedStarted, 0);
  push(queue, Kind::kStep, 1);
  push(queue, Kind::kStep, 2);
  EXPECT_THAT(seen(prompt.take()), ElementsAre(Seen(Kind::kSeedStarted, 0), Seen(Kind::kStep, 2)));
  push(queue, Kind::kEvaluated, 3);
  push(queue, Kind::kStep, 4);
  push(queue, Kind::kCheckpoint, 4);
  push(queue, Kind::kMessage, 0);
  push(queue, Kind::kSearch, 4);
  push(queue, Kind::kStep, 5);
  push(queue, Kind::kSearch, 5);
  push(queue, Kind::kSeedEnded, 5);
  const Seen all[] = {{Kind::kSeedStarted, 0}, {Kind::kEvaluated, 3}, {Kind::kCheckpoint, 4}, {Kind::kMessage, 0},
                      {Kind::kStep, 5},        {Kind::kSearch, 5},    {Kind::kSeedEnded, 5}};
  EXPECT_THAT(seen(reader.take()), testing::ElementsAreArray(all));
  EXPECT_THAT(seen(prompt.take()), testing::ElementsAreArray(std::span(all).subspan(1)));
  EXPECT_TRUE(reader.take().empty());
}

TEST(EventQueue, StepsOfOneSeedDoNotPushOutThoseOfAnother) {
  EventQueue queue;
  EventReader reader(queue);
  for (std::uint64_t step = 1; step <= 1000; ++step)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) push(queue, Kind::kStep, step, seed);
  const std::list<EventCopy> events = reader.take();
  ASSERT_EQ(events.size(), 3u);
  std::uint64_t seed = 1;
  for (const EventCopy& event : events) {
    EXPECT_EQ(event.step, 1000u);
    EXPECT_EQ(event.seed, seed++);
  }
}

TEST(EventQueue, WaitingEndsWithWhatIsNeverDroppedOrTheEnd) {
  EventQueue queue;
  EventReader reader(queue);
  push(queue, Kind::kStep, 1);
  EXPECT_TRUE(reader.wait(kAtOnce));
  push(queue, Kind::kEvaluated, 2);
  EXPECT_TRUE(reader.wait(kLong));
  EXPECT_EQ(reader.take().size(), 2u);
  queue.close();
  EXPECT_FALSE(reader.wait(kLong));
}

// Whoever reads late or never holds up nothing: the run takes as many steps, to the same bits, and no more waits than
// what must not be lost.
TEST(EventQueue, AThreadThatNeverReadsLosesStepsAlone) {
  const TempFolder temp;
  ThreadPool pool(1);
  EventQueue queue;
  EventReader idle(queue), second(queue);
  std::string hash;
  std::size_t told = 0;
  {
    TrainingRun run = TrainingRun::create(steady_picture(temp, 60), {.folder = temp / "run", .checkpoint_every = 20});
    run.listen([&](const RunEvent& event) {
      ++told;
      if (event.kind == Kind::kEvaluated && event.state->step == 5) run.control().snapshot();
      queue.push(event);
    });
    hash = run.train(pool).best().weights_hash;
  }
  EXPECT_EQ(hash, TrainingRun::create(steady_picture(temp, 60), {}).train(pool).best().weights_hash);
  const std::list<EventCopy> events = idle.take();
  EXPECT_GT(told, 60u);
  std::map<Kind, int> count;
  std::uint64_t evaluated = 0;
  for (const EventCopy& event : events) {
    ++count[event.kind];
    if (event.kind == Kind::kEvaluated) {
      EXPECT_EQ(event.step, evaluated += 5);
      EXPECT_EQ(event.steps, 60u);
      EXPECT_FALSE(event.extra.empty());
    }
    if (event.kind == Kind::kSnapshot) {  // the run is gone, its copies are not
      EXPECT_EQ(event.snapshot->kind(), "logic automaton");
    }
  }
  EXPECT_EQ(count[Kind::kEvaluated], 12);
  EXPECT_EQ(count[Kind::kCheckpoint], 4);  // the last one when all is done
  EXPECT_EQ(count[Kind::kSnapshot], 1);
  EXPECT_EQ(count[Kind::kSeedStarted], 1);
  EXPECT_LE(count[Kind::kStep], 1);
  EXPECT_EQ(events.back().kind, Kind::kSeedEnded);
  EXPECT_EQ(second.take().size(), events.size());
}

TEST(EventQueue, ThreadsThatReadAllGetEveryEvaluationInOrder) {
  constexpr std::uint64_t kSteps = 20'000, kEvery = 10;
  EventQueue queue;
  const auto read = [&](EventReader& reader, std::chrono::milliseconds pause) {
    std::uint64_t evaluations = 0, last = 0;
    for (bool more = true; more;) {
      more = reader.wait(pause);
      for (const EventCopy& event : reader.take()) {
        EXPECT_GT(event.step, last);
        last = event.step;
        if (event.kind == Kind::kEvaluated) {
          EXPECT_EQ(event.step, kEvery * ++evaluations);
        }
      }
    }
    EXPECT_EQ(evaluations, kSteps / kEvery);
    EXPECT_EQ(last, kSteps);
  };
  EventReader first(queue), second(queue), third(queue), never(queue);
  std::thread threads[] = {std::thread([&] { read(first, kLong); }), std::thread([&] { read(second, kAtOnce); }),
                           std::thread([&] { read(third, std::chrono::milliseconds(1)); })};
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    push(queue, step % kEvery ? Kind::kStep : Kind::kEvaluated, step);
    if (step % 1000 == 0) const EventReader guest(queue);  // they come and go
  }
  queue.close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(never.take().size(), kSteps / kEvery + 1);  // and one step: the last
}

}  // namespace
}  // namespace espalier
