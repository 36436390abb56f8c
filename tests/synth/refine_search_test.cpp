// The search over circuits, on tables: same bits for any threads, widths and interruptions; never worse.
#include "synth/refine_search.hpp"

#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "netlist/circuits.hpp"
#include "synth/target_table.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

// A table that the circuit gets wrong in places.
TargetTable other_table(const Netlist& circuit, std::uint64_t seed) {
  TargetTable table = complete_table(circuit);
  const Random random(seed, Purpose::kData);
  for (std::size_t o = 0; o < table.outputs.size(); ++o)
    for (std::size_t i = 0; i < 6; ++i)
      table.outputs[o][random.choice(10 * o + i, table.words())] ^= std::uint64_t{1} << random.choice(500 + i, 64);
  return table;
}

SearchState search(const Netlist& start, const TargetTable& table, const SearchOptions& options, const ThreadPool& pool,
                   const LaneOptions& lanes = {}) {
  TableScore score(table, lanes);
  CircuitSearch search(start, score, options, pool);
  while (!search.ended()) search.step(pool);
  return search.state();
}

const Netlist kStart = test::random_netlist(3, 8, 60, 3);
const SearchOptions kShort{.evaluations = 40'000, .shrink = 10'000, .groups = 3};

TEST(CircuitSearch, GivesTheSameCircuitForAnyNumberOfThreads) {
  const Oversubscribe many;
  const TargetTable table = other_table(kStart, 1);
  const SearchState one = search(kStart, table, kShort, ThreadPool(1));
  for (const int threads : kThreadCounts) {
    const SearchState other = search(kStart, table, kShort, ThreadPool(threads));
    EXPECT_EQ(other.parent, one.parent) << threads;
    EXPECT_EQ(other.best, one.best) << threads;
    EXPECT_EQ(other.evaluations, one.evaluations) << threads;
  }
}

TEST(CircuitSearch, GivesTheSameCircuitForEveryWidthAndEngine) {
  const TargetTable table = other_table(kStart, 2);
  SearchOptions options = kShort;
  options.evaluations = options.shrink = 4000;
  const SearchState one = search(kStart, table, options, calling_thread());
  for (const int bits : {64, 128, 256, 512})
    for (const SimulatorEngine engine : {SimulatorEngine::kInterpreter, SimulatorEngine::kAuto}) {
      if (engine == SimulatorEngine::kInterpreter && bits > widest_word()) continue;
      if (engine == SimulatorEngine::kAuto && bits < 256) continue;
      if (bits > widest_word()) continue;
      const SearchState other = search(kStart, table, options, calling_thread(), {engine, bits});
      EXPECT_EQ(other.parent, one.parent) << bits;
      EXPECT_EQ(other.best, one.best) << bits;
    }
}

TEST(CircuitSearch, GoesOnWithTheSameBitsFromAnyGeneration) {
  const TargetTable table = other_table(kStart, 3);
  const SearchState whole = search(kStart, table, kShort, calling_thread());
  TableScore score(table);
  CircuitSearch first(kStart, score, kShort, calling_thread());
  SearchState state = first.state();
  while (true) {
    TableScore fresh(table);
    CircuitSearch next(state, fresh, kShort, calling_thread());
    for (int i = 0; i < 5 && !next.ended(); ++i) next.step(calling_thread());
    state = next.state();
    if (next.ended()) break;
  }
  EXPECT_EQ(state.parent, whole.parent);
  EXPECT_EQ(state.best, whole.best);
  EXPECT_EQ(state.generation, whole.generation);
  EXPECT_EQ(state.history, whole.history);
  EXPECT_EQ(state.drifted, whole.drifted);
}

TEST(CircuitSearch, ALaneIsJudgedAsItsMutantAlone) {
  const TargetTable table = other_table(kStart, 4);
  MutantGroup group;
  for (std::uint32_t g = 0; g < 40; ++g) group.moves.push_back({Move::At::kFunction, g, Gate::kNand, 0});
  group.lanes.resize(group.moves.size());
  for (std::size_t lane = 1; lane < kLanes; ++lane)
    for (std::size_t k = 0; k < 3; ++k) group.give((lane * 7 + k * 13) % 40, lane);
  const TableScore score(table);
  std::array<std::uint32_t, kLanes> wrong;
  score.score(kStart, group, wrong);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    ASSERT_EQ(wrong[lane], score.judge(mutated(kStart, group.of(lane)), calling_thread())) << lane;
}

TEST(CircuitSearch, NeverEndsWorseThanItBegan) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Netlist start = test::random_netlist(seed, 7, 40, 2);
    const TargetTable table = other_table(start, seed);
    SearchOptions options{.seed = seed, .evaluations = 3000, .slack = 3};
    const TableScore score(table);
    const SearchState end = search(start, table, options, calling_thread());
    EXPECT_LE(end.best_score.wrong, score.judge(start, calling_thread()));
    EXPECT_EQ(end.best_score.wrong, score.judge(end.best, calling_thread()));
  }
}

// The circuit that solved the task need not be the parent of the next generation, which may be far larger.
TEST(CircuitSearch, ShrinkingGoesOnFromTheBestWhenTheParentIsTooLarge) {
  const Netlist best = test::random_netlist(4, 8, 20, 3);
  TableScore score(complete_table(best));
  const CircuitSearch start(best, score, kShort, calling_thread());
  SearchState state = start.state();
  ASSERT_EQ(state.best_score.wrong, 0u);
  state.parent = kStart;
  SearchOptions options = kShort;
  ASSERT_GT(count_netlist(kStart).gates(), state.best_score.size.gates + options.room);
  CircuitSearch search(state, score, options, calling_thread());
  search.step(calling_thread());
  EXPECT_LE(count_netlist(search.state().parent).gates(), search.state().best_score.size.gates + options.room);
}

TEST(CircuitSearch, ACompleteTableIsAlwaysReachedAndTheResultIsProved) {
  const Netlist start = test::random_netlist(9, 8, 40, 2), wanted = test::random_netlist(10, 8, 40, 2);
  SearchOptions options{.evaluations = 200'000, .shrink = 20'000, .patience = 5000};
  const SearchState end = search(start, complete_table(wanted), options, ThreadPool(2));
  EXPECT_EQ(end.best_score.wrong, 0u);
  Netlist named = end.best;
  named.inputs = wanted.inputs;
  for (std::size_t o = 0; o < 2; ++o) named.outputs[o].name = wanted.outputs[o].name;
  EXPECT_EQ(verify(wanted, named).verdict, VerifyReport::Verdict::kEqual);
}

TEST(TargetTable, RowsAreReadAndWrongOnesNamed) {
  const TargetTable table = parse_table("# a b  y z\n00 01\n\n01 1-  # second\n11 11\n", "t", 2, 2);
  EXPECT_EQ(table.count, 3u);
  EXPECT_EQ(table.inputs, (ExampleWords{{0b100}, {0b110}}));
  EXPECT_EQ(table.outputs, (ExampleWords{{0b110}, {0b101}}));
  EXPECT_EQ(table.cares, (ExampleWords{{0b111}, {0b101}}));
  for (const char* wrong : {"", "# none\n", "00 0\n", "001 1\n", "0- 11\n", "00 12\n", "0011\n"})
    EXPECT_THROW(parse_table(wrong, "t", 2, 2), Error) << wrong;
}

// A table that all bits can be right in, while something else is never right.
class FlawedScore : public TableScore {
 public:
  using TableScore::TableScore;
  std::size_t flaws(const Netlist&, const ThreadPool&) const override { return 1; }
};

TEST(CircuitSearch, WithATemperatureTheBestIsStillWhatItIsSaidToBe) {
  FlawedScore score(complete_table(kStart));
  CircuitSearch search(kStart, score, {.evaluations = 30'000, .slack = 40, .patience = 2000}, calling_thread());
  bool worse = false;  // the parent has been, or the test would show nothing
  while (!search.ended()) {
    search.step(calling_thread());
    worse = worse || search.state().parent_wrong > 0;
  }
  EXPECT_TRUE(worse);
  EXPECT_EQ(search.state().best_score.wrong, 0u);
  EXPECT_EQ(score.judge(search.state().best, calling_thread()), 0u);
}

}  // namespace
}  // namespace espalier
