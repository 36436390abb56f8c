// Rules found from boards alone: right wherever they say that the data settle it, and silent where there is no rule.

#include "models/lattice/identify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "espalier/error.hpp"
#include "lattice/known_rules.hpp"
#include "thread_counts.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kFreshSeed = 1'000'003;

// Finds the rule, and holds it against the true one on the boards it came from (without their noise) and on fresh ones:
// every wrong cell falls under a case that was not settled. The words are those of the class.
void expect_found(const KnownRule& rule, BoardOptions options, const std::string& words) {
  SCOPED_TRACE(rule.name + ", boards " + std::to_string(options.boards) + ", noise " + std::to_string(options.noise) +
               (options.periodic ? "" : ", zeros outside") + ", seed " + std::to_string(options.seed));
  const std::vector<int> states = random_states(rule, options);
  const Identification found = identify(make_boards(rule, options, states), rule.channels);
  ASSERT_TRUE(found.rule.has_value()) << found.why_not;
  EXPECT_THAT(found.rule->words, HasSubstr(words));
  EXPECT_LE(found.rule->seen, found.rule->entries);
  EXPECT_EQ(found.rule->unseen.size(), std::min<std::size_t>(found.rule->entries - found.rule->seen, 20));
  const double cells = static_cast<double>(states.size()), bits = cells * rule.channels;
  EXPECT_NEAR(found.rule->bit_noise, options.noise, 5 * std::sqrt(options.noise / bits) + 1e-9);
  EXPECT_LE(found.rule->bits, found.rule->runner_up_bits);
  if (found.rule->words.find(": B") != std::string::npos) {
    const bool says_so = found.rule->words.find("guesses included") != std::string::npos;
    EXPECT_EQ(says_so, found.rule->seen < found.rule->entries) << found.rule->words;
  }
  if (options.noise == 0) {
    EXPECT_EQ(found.ceiling, 1.0);
    EXPECT_EQ(found.rule->noise, 0.0);
  }

  options.noise = 0;
  const FreshReport shown = judge_on_boards(rule, *found.rule, options, states, make_boards(rule, options, states));
  EXPECT_EQ(shown.wrong_settled, 0u);
  options.boards = 200;
  options.seed += kFreshSeed;
  const std::vector<int> fresh = random_states(rule, options);
  const FreshReport report = judge_on_boards(rule, *found.rule, options, fresh, make_boards(rule, options, fresh));
  EXPECT_EQ(report.wrong_settled, 0u) << report.wrong << " wrong cells";
  if (found.rule->seen == found.rule->entries) {
    EXPECT_EQ(report.exact, 200);
  }
}

// 100 boards clean, with 1 % and with 3 % of bits wrong, 20 clean; some with zeros outside.
enum Setting { kClean, kLittleNoise, kNoise, kFewBoards };
void expect_found(const KnownRule& rule, std::uint64_t seed, Setting setting, const std::string& words) {
  BoardOptions options;
  options.seed = seed;
  options.boards = setting == kFewBoards ? 20 : 100;
  options.noise = setting == kLittleNoise ? 0.01 : setting == kNoise ? 0.03 : 0;
  options.periodic = setting == kClean || setting == kLittleNoise;
  expect_found(rule, options, words);
}
void expect_found_always(const KnownRule& rule, std::uint64_t seed, const std::string& words) {
  for (const Setting setting : {kClean, kLittleNoise, kNoise, kFewBoards}) expect_found(rule, seed, setting, words);
}
// Further rules of a family, each in the next setting.
void expect_found_in_turn(const KnownRule& rule, std::uint64_t seed, const std::string& words) {
  expect_found(rule, seed, static_cast<Setting>(seed % 4), words);
}

TEST(Identify, LifeAndItsKin) {
  expect_found_always(life_like("life", 1u << 3, 3u << 2), 1, "neighbours in state 1 (2 states): B3/S23");
  for (std::uint64_t seed = 1; seed <= 10; ++seed) expect_found_in_turn(random_life_like(seed), seed, ": B");
}

TEST(Identify, Generations) {
  const std::string words = "own state and the number of neighbours in state 1 (";
  expect_found_always(generations("Brian's Brain", 1u << 2, 0, 3, binary_codes(3), 2), 1, "(3 states): B2/S/3");
  for (int states = 3; states <= 5; ++states)
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      expect_found_in_turn(random_generations(seed, states, seed > 2), seed + static_cast<std::uint64_t>(states),
                           words);
}

TEST(Identify, Wireworld) {
  for (const bool one_hot : {false, true})
    expect_found_always(wireworld(one_hot), 3, "own state and the number of neighbours in state 1 (4 states)");
}

TEST(Identify, CyclesInWhichNoStateIsSpecial) {
  expect_found_always(cyclic(4, 1, binary_codes(4), 2), 10, "a cycle");
  for (std::uint64_t threshold = 1; threshold <= 3; ++threshold) {
    const int least = static_cast<int>(threshold);
    expect_found_in_turn(cyclic(4, least, binary_codes(4), 2), threshold, "a cycle");
    expect_found_in_turn(cyclic(4, least, one_hot_codes(4), 4), threshold + 1, "a cycle");
    // Numbers with the high bit first are another order of the codes.
    expect_found_in_turn(cyclic(4, least, {0, 2, 1, 3}, 2), threshold + 2, "a cycle");
  }
}

TEST(Identify, RulesThatTurnWithTheBoard) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expect_found_in_turn(random_isotropic(seed, 2), seed, "up to rotation and reflection");
}

TEST(Identify, FourNeighbours) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    expect_found_in_turn(random_von_neumann(seed, 2), seed, "the cells N, W, itself, E, S (2 states)");
    expect_found_in_turn(random_von_neumann(seed, 4), seed, "the cells N, W, itself, E, S (4 states)");
  }
}

TEST(Identify, CountsOfEachPlane) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expect_found_in_turn(random_planes(seed), seed, "with channel 0, and with channel 1");
}

TEST(Identify, RulesThatReadAFewBits) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (int reads = 3; reads <= 5; ++reads)
      for (int channels = 1; channels <= 2; ++channels)
        expect_found_in_turn(random_few_bits(seed, channels, reads), seed, "");
}

// No bit tells anything without the others.
TEST(Identify, ParityOfFourBits) {
  const KnownRule parity{"parity", 2, binary_codes(4), [](const PatchStates& p) {
                           const int low = (p[0] ^ p[2] ^ p[7]) & 1, high = (p[1] >> 1 ^ p[5] ^ p[6] >> 1 ^ p[8]) & 1;
                           return low | high << 1;
                         }};
  expect_found_always(parity, 5, "single bits (channel 0: NW 0, NE 0, S 0; channel 1: N 1, E 0, SW 1, SE 0)");
}

TEST(Identify, OneChannelWithoutAnySymmetry) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_found_in_turn(random_full(seed, 1), seed, "all nine cells");
}

TEST(Identify, NeverClaimsARuleOfTwoChannelsWithoutSymmetry) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    BoardOptions options;
    options.seed = seed;
    options.boards = seed % 2 ? 100 : 20;
    const KnownRule rule = random_full(seed, 2);
    const Identification found = identify(make_boards(rule, options, random_states(rule, options)), 2);
    EXPECT_FALSE(found.rule) << seed << ": " << found.rule->words;
    EXPECT_THAT(found.why_not, HasSubstr("no view that was tried"));
    EXPECT_EQ(found.ceiling, 1.0) << "the targets are a function of the nine cells";
  }
}

TEST(Identify, NeverClaimsRandomTargets) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    BoardOptions options;
    options.seed = seed;
    options.boards = seed % 5 == 0 ? 100 : 10;
    options.height = options.width = seed % 2 ? 32 : 8;
    const int channels = 1 + static_cast<int>(seed % 3);
    const KnownRule rule = random_full(seed, channels);
    IdentifyData data = make_boards(rule, options, random_states(rule, options));
    // Fair and biased coins.
    const Random random(seed, Purpose::kSplit);
    for (std::size_t i = 0; i < data.target.size(); ++i) data.target[i] = random.uniform(i) < (seed % 4 ? 0.5f : 0.05f);
    const Identification found = identify(data, channels);
    EXPECT_FALSE(found.rule) << seed << ": " << found.rule->words;
  }
}

// Part of the rule is seen by no view: what is left is no noise.
TEST(Identify, StructureThatItDoesNotSeeIsNotCalledNoise) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const KnownRule hidden = random_full(seed, 2), life = random_planes(seed);
    const KnownRule mixed{"mixed", 2, binary_codes(4), [=](const PatchStates& p) {
                            // Where two corners are in state 3 the rule is another one.
                            return p[0] == 3 && p[8] == 3 ? hidden.next(p) : life.next(p);
                          }};
    for (const double noise : {0.0, 0.01}) {
      BoardOptions options;
      options.seed = seed;
      options.noise = noise;
      const Identification found = identify(make_boards(mixed, options, random_states(mixed, options)), 2);
      EXPECT_FALSE(found.rule) << found.rule->words << ", noise " << found.rule->noise;
    }
  }
}

TEST(Identify, CeilingAndContradictionAreThoseOfTheNoise) {
  BoardOptions options;
  options.noise = 0.05;
  const KnownRule rule = random_life_like(4);
  const Identification found = identify(make_boards(rule, options, random_states(rule, options)), 1);
  EXPECT_NEAR(found.ceiling, 0.95, 0.003);
  ASSERT_TRUE(found.contradiction);
  EXPECT_NEAR(*found.contradiction, 0.05, 0.003);
  EXPECT_EQ(found.neighbourhoods, 512u);
  EXPECT_EQ(found.repeated, 1.0);
}

TEST(Identify, ScarceCasesAtNoiseAreNotSettled) {
  // A cell of state 1 with eight neighbours in it is one in 2^9 of uniform boards; here it is made once, and wrong.
  BoardOptions options;
  options.boards = 40;
  options.noise = 0.02;
  const KnownRule rule = life_like("life", 1u << 3, 3u << 2);
  std::vector<int> states = random_states(rule, options);
  const Random random(3, Purpose::kSplit);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = random.uniform(i) < 0.2f;
  for (int y = 4; y < 7; ++y)
    for (int x = 4; x < 7; ++x) states[static_cast<std::size_t>(y * 32 + x)] = 1;
  IdentifyData data = make_boards(rule, options, states);
  data.target[5 * 32 + 5] = 1;
  const Identification found = identify(data, 1);
  ASSERT_TRUE(found.rule) << found.why_not;
  EXPECT_TRUE(found.rule->guessed(std::vector<std::uint8_t>(9, 1)));
  EXPECT_THAT(found.rule->unseen, testing::Contains(HasSubstr("state 1 with 8 neighbours in state 1")));
  EXPECT_LT(found.rule->seen, found.rule->entries);
}

TEST(Identify, MoreChannelsThanTheDataHave) {
  BoardOptions options;
  const KnownRule rule = wireworld(false);
  const std::vector<int> states = random_states(rule, options);
  const IdentifyData data = make_boards(rule, options, states);
  const Identification found = identify(data, 5);
  ASSERT_TRUE(found.rule) << found.why_not;
  EXPECT_EQ(found.rule->cell.outputs.size(), 5u);
  EXPECT_EQ(found.rule->cell.inputs.size(), 45u);
  EXPECT_EQ(judge_on_boards(rule, *found.rule, options, states, data).exact, options.boards);
  EXPECT_THROW(identify(data, 1), Error);
}

TEST(Identify, TargetsOfOtherChannels) {
  // One channel of the target: is the cell a head in the next step?
  BoardOptions options;
  const KnownRule rule = wireworld(false);
  IdentifyData data = make_boards(rule, options, random_states(rule, options));
  std::vector<std::uint8_t> heads;
  for (std::size_t i = 0; i < data.target.size(); i += 2) heads.push_back(data.target[i] && !data.target[i + 1]);
  data.target = heads;
  data.target_channels = 1;
  const Identification found = identify(data, 2);
  ASSERT_TRUE(found.rule) << found.why_not;
  EXPECT_EQ(found.rule->noise, 0.0);
  EXPECT_THAT(found.rule->words, HasSubstr("own state and the number of neighbours in state 1"));
}

TEST(Identify, LittleOrOddData) {
  BoardOptions small;
  small.height = small.width = 8;
  for (const int boards : {1, 10})
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      for (const KnownRule& rule : {random_life_like(seed), random_full(seed, 2), random_planes(seed), wireworld(true),
                                    cyclic(4, 1, binary_codes(4), 2), random_few_bits(seed, 1, 3)}) {
        small.boards = boards;
        small.seed = seed;
        small.periodic = seed % 2 == 0;
        const std::vector<int> states = random_states(rule, small);
        const IdentifyData data = make_boards(rule, small, states);
        const Identification found = identify(data, rule.channels);
        if (!found.rule) continue;
        EXPECT_EQ(judge_on_boards(rule, *found.rule, small, states, data).wrong, 0u) << rule.name;
        EXPECT_THAT(rule.name, testing::Not(HasSubstr("full"))) << found.rule->words;
      }
  // Boards of one row, of one cell, and all of one state.
  const IdentifyData row{1, 1, 5, 1, 1, {0, 1, 1, 0, 1}, {1, 1, 0, 0, 1}, true};
  EXPECT_FALSE(identify(row, 1).rule);
  const IdentifyData cell{1, 1, 1, 1, 1, {1}, {0}, false};
  EXPECT_FALSE(identify(cell, 1).rule);
  const IdentifyData still{4, 8, 8, 1, 1, std::vector<std::uint8_t>(256), std::vector<std::uint8_t>(256), true};
  const Identification found = identify(still, 1);
  EXPECT_FALSE(found.rule);
  EXPECT_THAT(found.why_not, HasSubstr("same state"));
  IdentifyData wrong = still;
  wrong.target.pop_back();
  EXPECT_THROW(identify(wrong, 1), Error);
  wrong = still;
  wrong.start[3] = 2;
  EXPECT_THROW(identify(wrong, 1), Error);
}

TEST(Identify, TargetsThatAreAllAlikeTellOfNoRule) {
  BoardOptions options;
  options.boards = 5;
  const KnownRule rule{"nothing", 2, binary_codes(4), [](const PatchStates&) { return 2; }};
  const std::vector<int> states = random_states(rule, options);
  IdentifyData data = make_boards(rule, options, states);
  const Identification found = identify(data, 2);
  EXPECT_FALSE(found.rule);
  EXPECT_THAT(found.why_not, HasSubstr("in the same state"));
  // Nor do coins that mostly fall on one side.
  for (std::size_t i = 0; i < data.target.size(); i += 97) data.target[i] ^= 1;
  EXPECT_FALSE(identify(data, 2).rule);
}

TEST(Identify, MoreStatesThanAreCounted) {
  // Five independent channels: 32 states. Each moves its own way, which single bits show; sums of them are seen by
  // none.
  BoardOptions options;
  const KnownRule shifts{"shifts", 5, binary_codes(32), [](const PatchStates& p) {
                           int next = 0;
                           for (int c = 0; c < 5; ++c) next |= (p[2 * c == 8 ? 7 : 2 * c] >> c & 1) << c;
                           return next;
                         }};
  expect_found(shifts, options, "single bits");
  const KnownRule full = random_full(9, 5);
  const Identification found = identify(make_boards(full, options, random_states(full, options)), 5);
  EXPECT_FALSE(found.rule);
  // A cell that has its own pattern everywhere.
  IdentifyData many{1, 40, 40, 11, 1, {}, {}, true};
  for (unsigned i = 0; i < 1600; ++i) {
    for (unsigned c = 0; c < 11; ++c) many.start.push_back(i >> c & 1);
    many.target.push_back(Random(1, Purpose::kData).coin(i));
  }
  EXPECT_FALSE(identify(many, 11).rule);
}

TEST(Identify, StatesSpreadOverManyChannels) {
  BoardOptions options;
  options.boards = 20;
  expect_found(generations("wide", 1u << 2, 0, 3, {0, std::uint64_t{1} << 39, std::uint64_t{1} << 20}, 40), options,
               "B2/S/3");
}

TEST(Identify, SameForAnyNumberOfThreads) {
  const Oversubscribe more;
  BoardOptions options;
  options.noise = 0.01;
  const KnownRule rule = random_planes(2);
  const IdentifyData data = make_boards(rule, options, random_states(rule, options));
  const Identification once = identify(data, 2);
  ASSERT_TRUE(once.rule);
  for (const int threads : kThreadCounts) {
    const Identification again = identify(data, 2, ThreadPool(threads));
    ASSERT_TRUE(again.rule);
    EXPECT_EQ(again.rule->cell, once.rule->cell);
    EXPECT_EQ(again.rule->bits, once.rule->bits);
    EXPECT_EQ(again.rule->words, once.rule->words);
    EXPECT_EQ(again.rule->runner_up, once.rule->runner_up);
  }
}

}  // namespace
}  // namespace espalier
