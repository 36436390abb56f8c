// Random graphs like molecules, for tests and benches: a tree with a ring or two, at most four edges a node, four kinds
// of nodes and three of edges, the plain ones most frequent.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "espalier/graph.hpp"
#include "espalier/random.hpp"

namespace espalier {

inline LabelledGraph random_molecule(std::uint64_t seed, std::uint32_t nodes, bool directed = false) {
  constexpr std::array kAtoms{"C", "C", "C", "C", "C", "N", "N", "O", "O", "S"};
  constexpr std::array kBonds{"1", "1", "1", "1", "2", "2", "3"};
  constexpr int kMaxDegree = 4;
  const Random random(seed, Purpose::kData);
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t count) { return static_cast<std::uint32_t>(random.choice(draw++, count)); };
  LabelledGraph g;
  g.directed = directed;
  std::vector<int> degree(nodes);
  const auto bond = [&](std::uint32_t from, std::uint32_t to) {
    const bool there = std::ranges::any_of(g.edges, [&](const LabelledEdge& e) {
      return (e.from == from && e.to == to) || (e.from == to && e.to == from);
    });
    if (from == to || there || degree[from] >= kMaxDegree || degree[to] >= kMaxDegree) return false;
    ++degree[from];
    ++degree[to];
    g.edges.push_back({from, to, kBonds[below(kBonds.size())]});
    return true;
  };
  for (std::uint32_t i = 0; i < nodes; ++i) {
    g.labels.emplace_back(kAtoms[below(kAtoms.size())]);
    while (i > 0 && !bond(below(i), i)) {
    }
  }
  for (std::uint32_t tries = 0, rings = nodes > 4 ? 1 + below(2) : 0; tries < 40 && rings > 0; ++tries)
    if (bond(below(nodes), below(nodes))) --rings;
  return g;
}

}  // namespace espalier
