#include "espalier/wiring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "espalier/error.hpp"

namespace espalier {
namespace {

std::set<std::pair<int, int>> pairs(const Wiring& w) {
  std::set<std::pair<int, int>> result;
  for (int g = 0; g < w.outputs(); ++g) result.emplace(w.a[g], w.b[g]);
  return result;
}

TEST(Wiring, MoorePairsEachNeighbourWithTheCentre) {
  const Wiring w = moore_wiring(Random(1, Purpose::kWiring));
  EXPECT_EQ(w.outputs(), 8);
  std::multiset<int> neighbours(w.a.begin(), w.a.end());
  EXPECT_EQ(neighbours, (std::multiset<int>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(std::count(w.b.begin(), w.b.end(), 4), 8);
}

TEST(Wiring, UniqueUsesEveryInputAndNoPairTwice) {
  for (const auto& [inputs, outputs] :
       {std::pair{264, 256}, {256, 256}, {256, 128}, {9, 8}, {2, 1}, {640, 512}, {7, 21}}) {
    const Wiring w = unique_wiring(inputs, outputs, Random(3, Purpose::kWiring));
    ASSERT_EQ(w.outputs(), outputs);
    EXPECT_EQ(pairs(w).size(), static_cast<std::size_t>(outputs));
    std::set<int> used(w.a.begin(), w.a.end());
    used.insert(w.b.begin(), w.b.end());
    // An odd input at the end has no partner in the first round of pairs.
    EXPECT_GE(used.size(), static_cast<std::size_t>(inputs - inputs % 2)) << inputs << "->" << outputs;
    for (int g = 0; g < outputs; ++g) EXPECT_LT(w.a[g], w.b[g]);
  }
}

// The published order: (0,1), (2,3), ...; then (1,2), (3,4), ...; then all pairs two apart, three apart, ...
TEST(Wiring, UniqueTakesPairsInThePublishedOrder) {
  EXPECT_EQ(pairs(unique_wiring(6, 3, Random(1, Purpose::kWiring))),
            (std::set<std::pair<int, int>>{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(pairs(unique_wiring(6, 7, Random(1, Purpose::kWiring))),
            (std::set<std::pair<int, int>>{{0, 1}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {0, 2}, {1, 3}}));
}

TEST(Wiring, RandomDealsWiresEvenly) {
  const Wiring w = random_wiring(10, 25, Random(9, Purpose::kWiring));
  std::vector<int> uses(10);
  for (const auto* wires : {&w.a, &w.b})
    for (const int wire : *wires) ++uses.at(wire);
  for (const int n : uses) EXPECT_EQ(n, 5);
}

TEST(Wiring, TheSeedDecidesTheOrder) {
  const auto wires = [](std::uint64_t seed) { return unique_wiring(64, 64, Random(seed, Purpose::kWiring)).a; };
  EXPECT_EQ(wires(1), wires(1));
  EXPECT_NE(wires(1), wires(2));
}

TEST(Wiring, ImpossibleLayersAreErrorsThatSaySo) {
  const Random r(1, Purpose::kWiring);
  EXPECT_THROW(unique_wiring(9, 4, r), Error);  // an input would be left out
  EXPECT_THROW(unique_wiring(4, 7, r), Error);  // only six pairs
  EXPECT_THROW(unique_wiring(1, 1, r), Error);
  EXPECT_THROW(random_wiring(2, 0, r), Error);
  try {
    unique_wiring(4, 7, r);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("at most 6"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace espalier
