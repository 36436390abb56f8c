// Ranks that would not give the same bits, without mpirun.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>

#include "program_traits.hpp"
#include "runs/thread_ranks.hpp"

namespace espalier::app {
namespace {

// What trait_difference() says on every one of three ranks, the last of which has other vector instructions or options.
std::string said(std::int64_t targets, std::int64_t others, std::string option = "--same") {
  std::mutex mutex;
  std::vector<std::string> lines;
  as_ranks(3, [&](Ranks& ranks) {
    std::string same = "--same";
    const bool last = ranks.rank() == 2;
    char* const options[] = {last ? option.data() : same.data()};
    const std::string line = trait_difference(ranks, program_traits(options, last ? others : targets));
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  });
  EXPECT_EQ(lines[1], lines[0]);
  EXPECT_EQ(lines[2], lines[0]);
  return lines[0];
}

TEST(RanksTraits, VectorsOfAnyWidthAreAlike) { EXPECT_EQ(said(HWY_AVX2, HWY_AVX3), ""); }

TEST(RanksTraits, VectorsWithoutFusedMultiplyAddAreRefused) {
  const std::string line = said(HWY_AVX2 | HWY_SSE4, HWY_SSE4);
  EXPECT_NE(line.find("vector instructions on rank 2 (host2): no fused multiply-add"), std::string::npos) << line;
}

TEST(RanksTraits, OtherOptionsAreRefused) {
  const std::string line = said(HWY_AVX2, HWY_AVX2, "--other");
  EXPECT_NE(line.find("its options on rank 2 (host2): --other, expected what rank 0 (host0) has: --same"),
            std::string::npos)
      << line;
}

// Linked as a library of the system, and so another one elsewhere.
TEST(RanksTraits, TheMathematicalLibraryIsOne) {
  const std::vector<Trait> traits = program_traits({}, HWY_AVX2);
  const auto libraries = std::ranges::find(traits, "libraries", &Trait::what);
  ASSERT_NE(libraries, traits.end());
  EXPECT_NE(libraries->value.find("libm.so"), std::string::npos) << libraries->value;
}

// Threads of every rank, by rank.
std::vector<int> threads_of(const std::vector<Place>& places) {
  std::vector<int> threads(places.size());
  as_ranks(static_cast<int>(places.size()), [&](Ranks& ranks) {
    const auto r = static_cast<std::size_t>(ranks.rank());
    threads[r] = fair_threads(ranks, places[r]);
  });
  return threads;
}

TEST(RanksThreads, CoresThatSeveralMayUseAreDivided) {
  using Threads = std::vector<int>;
  EXPECT_EQ(threads_of({{"a", "xxxx"}, {"a", "xxxx"}}), (Threads{2, 2})) << "not bound";
  EXPECT_EQ(threads_of({{"a", "xx.."}, {"a", "..xx"}}), (Threads{2, 2})) << "each its own";
  EXPECT_EQ(threads_of({{"a", "xxxx"}, {"b", "xxxx"}}), (Threads{4, 4})) << "a machine each";
  // As mpirun binds more than two ranks: to sockets, here of four cores.
  EXPECT_EQ(threads_of({{"a", "xxxx...."}, {"a", "....xxxx"}, {"a", "xxxx...."}, {"a", "....xxxx"}}),
            (Threads{2, 2, 2, 2}));
  EXPECT_EQ(threads_of({{"a", "xxx"}, {"a", "xxx"}, {"a", "xxx"}}), (Threads{1, 1, 1})) << "thirds make whole cores";
  EXPECT_EQ(threads_of({{"a", "x"}, {"a", "x"}, {"b", "xx"}}), (Threads{1, 1, 2})) << "more ranks than cores";
}

TEST(RanksThreads, ThisProgramHasACoreAndAMachine) {
  const Place here = program_place();
  EXPECT_EQ(std::ranges::count(here.cores, 'x'), ThreadPool::usable_cores());
  EXPECT_EQ(here.machine.size(), 36u) << here.machine;
}

}  // namespace
}  // namespace espalier::app
