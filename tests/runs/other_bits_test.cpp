// A run that goes on where other bits are to be expected says so, in its events and in its report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "base/bit_traits.hpp"
#include "runs/small_runs.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

struct Resumed {
  std::string messages, other_bits;
};

// With the vector instructions of `targets`; 0: all that this machine has.
Resumed resume(const std::string& path, std::uint64_t steps, std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  TrainingRun run = TrainingRun::resume(path, {}, steps);
  const Events events(run);
  ThreadPool pool(1);
  const RunReport report = run.train(pool);
  hwy::SetSupportedTargetsForTest(0);
  Resumed resumed{"", report.best().other_bits};
  for (const auto& event : events.of(RunEvent::Kind::kMessage)) resumed.messages += event.text + "\n";
  return resumed;
}

TEST(OtherBits, AResumeWithoutFusedMultiplyAddIsToldOfAndNotForgotten) {
  const std::int64_t here = hwy::SupportedTargets();
  if (!(here & (HWY_AVX2 | HWY_AVX3)) || !(here & HWY_SSE4)) GTEST_SKIP() << "this machine has no AVX2";
  const TempFolder folder;
  const std::string path = folder / "run";
  ThreadPool pool(1);
  EXPECT_EQ(TrainingRun::create(steady_picture(folder, 10), {.folder = path}).train(pool).best().other_bits, "");
  Resumed same = resume(path, 20, 0);
  EXPECT_EQ(same.messages + same.other_bits, "");
  if (here & HWY_AVX2) {
    same = resume(path, 25, HWY_AVX2 | HWY_SSE4);  // another width gives the same bits
    EXPECT_EQ(same.messages + same.other_bits, "");
  }
  const Resumed other = resume(path, 30, HWY_SSE4);
  for (const std::string& text : {other.messages, other.other_bits}) {
    EXPECT_THAT(text, HasSubstr("vector instructions: no fused multiply-add, before: fused multiply-add"));
    EXPECT_THAT(text, HasSubstr("resumed at step 2"));
  }
  // Back on the first machine, the steps in between are still others.
  EXPECT_THAT(resume(path, 40, 0).other_bits, testing::StartsWith(other.other_bits + "; resumed at step 30"));
  EXPECT_THAT(resume(path, 50, 0).other_bits, testing::StartsWith(other.other_bits + "; resumed at step 30"));
}

TEST(OtherBits, BuildsAndLibrariesCountToo) {
  const std::vector<Trait> now = bit_traits();
  EXPECT_EQ(difference(now, now), "");
  EXPECT_EQ(difference({}, now), "") << "nobody knows what older versions ran on";
  for (std::size_t i = 0; i < now.size(); ++i) {
    std::vector<Trait> before = now;
    before[i].value = "another";
    EXPECT_THAT(difference(before, now), HasSubstr(now[i].what));
  }
}

}  // namespace
}  // namespace espalier
