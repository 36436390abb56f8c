// Noise is what strikes every cell by itself; whatever has another pattern is not called so.
#include "models/lattice/misfit_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lattice/known_rules.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kBoards = 60, kSide = 24;

// A cell of the boards by its place, round the edges.
struct Place {
  int board, y, x;
  std::size_t index() const {
    return (static_cast<std::size_t>(board) * kSide + (y + kSide) % kSide) * kSide + (x + kSide) % kSide;
  }
  Place at(int down, int right) const { return {board, y + down, x + right}; }
};

// Boards of Life, of which those cells have the other target that `wrong` picks.
template <class Wrong>
Identification life_but(std::uint64_t seed, const Wrong& wrong, bool clumps = false) {
  const KnownRule life = life_like("life", 1u << 3, 3u << 2);
  BoardOptions options;
  options.boards = kBoards;
  options.height = options.width = kSide;
  options.seed = seed;
  std::vector<int> states = random_states(life, options);
  if (clumps)  // neighbours that are mostly alike
    for (std::size_t i = 0; i < states.size(); ++i)
      if (i % 3 != 0) states[i] = states[i - i % 3];
  IdentifyData data = make_boards(life, options, states);
  for (int n = 0; n < kBoards; ++n)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const Place place{n, y, x};
        if (wrong(place, data.start)) data.target[place.index()] ^= 1;
      }
  return identify(data, 1);
}

const auto coin = [](const Random& random, const Place& place, float chance) {
  return random.uniform(place.index()) < chance;
};

// A rule is found all the same, since none of nine cells does better; but what is left of it is not called noise.
template <class Wrong>
void expect_no_noise(const std::string& words, const Wrong& wrong) {
  SCOPED_TRACE(words);
  const Identification found = life_but(1, wrong);
  ASSERT_TRUE(found.rule) << found.why_not;
  EXPECT_THAT(found.rule->words, HasSubstr("B3/S23"));
  EXPECT_GT(found.rule->noise, 0);
  EXPECT_THAT(found.rule->not_noise, HasSubstr(words));
}

TEST(MisfitPlaces, NoiseIsNoise) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Random random(seed, Purpose::kTrial);
    const float chance = seed % 4 == 0 ? 0.0003f : seed % 4 == 1 ? 0.01f : seed % 4 == 2 ? 0.03f : 0.1f;
    const Identification found = life_but(
        seed, [&](const Place& place, const auto&) { return coin(random, place, chance); }, seed % 2 == 0);
    ASSERT_TRUE(found.rule) << found.why_not;
    EXPECT_GT(found.rule->noise, 0);
    EXPECT_THAT(found.rule->not_noise, IsEmpty()) << seed;
  }
}

TEST(MisfitPlaces, NoiseThatStrikesSomeCasesMoreIsNoise) {
  const Random random(5, Purpose::kTrial);
  const Identification found = life_but(
      2, [&](const Place& place, const auto& start) { return start[place.index()] && coin(random, place, 0.05f); },
      true);
  ASSERT_TRUE(found.rule) << found.why_not;
  EXPECT_THAT(found.rule->not_noise, IsEmpty());
}

TEST(MisfitPlaces, CellsFurtherAwayAreSeen) {
  const std::string far = "further away than the eight neighbours";
  expect_no_noise(far, [](const Place& p, const auto& start) {
    return start[p.at(-2, 1).index()] && start[p.at(2, 0).index()] && start[p.at(0, 2).index()];
  });
  expect_no_noise(far, [](const Place& p, const auto& start) {  // three steps away
    return start[p.at(-3, 1).index()] && start[p.at(3, 3).index()] && start[p.at(0, -3).index()];
  });
  expect_no_noise(far, [](const Place& p, const auto& start) {  // a crowd, which makes a few cells wrong
    int crowd = 0;
    for (int y = -2; y <= 2; ++y)
      for (int x = -2; x <= 2; ++x) crowd += start[p.at(y, x).index()];
    return crowd >= 20;
  });
}

TEST(MisfitPlaces, TheParityOfTwoFarCellsIsSeen) {
  const Random random(6, Purpose::kTrial);
  expect_no_noise("further away than the eight neighbours", [&](const Place& p, const auto& start) {
    return start[p.at(-2, 1).index()] != start[p.at(0, 2).index()] && coin(random, p, 0.1f);
  });
}

TEST(MisfitPlaces, PlacesAndBoardsThatDifferAreSeen) {
  const Random random(7, Purpose::kTrial);
  expect_no_noise("some places",
                  [&](const Place& p, const auto&) { return p.y / 3 == 2 && p.x / 3 == 4 && coin(random, p, 0.3f); });
  expect_no_noise("come in crowds",
                  [&](const Place& p, const auto&) { return p.board % 10 == 3 && coin(random, p, 0.1f); });
}

TEST(MisfitPlaces, CellsThatAreWrongTogetherAreSeen) {
  const Random random(8, Purpose::kTrial);
  expect_no_noise("come in crowds", [&](const Place& p, const auto&) {
    return coin(random, {p.board, p.y & ~1, p.x & ~1}, 0.02f);
  });
}

}  // namespace
}  // namespace espalier
