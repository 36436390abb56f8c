// Walking perception kernels as trees gives the same bits as going through their layers (when, as usual, twigs
// read neighbouring leaves), on every vector width.
#include "models/lattice/perceive_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/aligned.hpp"
#include "espalier/random.hpp"
#include "logic/each_target.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier {
namespace {

constexpr int kKernels = 3;

struct Way {  // what one of the two makes of the same patch and gradients
  AlignedVector<float> rows, dpatch, dc;
};

struct Problem {
  Problem(const std::vector<int>& perceive, int channels)
      : automaton({channels, kKernels, perceive, {channels}, WiringKind::kRandom, Boundary::kZero}, 5),
        layers(perceive_layers(automaton)),
        tree(perceive_tree(automaton, layers)),
        channels(channels),
        lanes(static_cast<std::size_t>(channels) * kBlockCells) {
    const Random random(9, Purpose::kData);
    std::uint64_t draw = 0;
    const auto fill = [&](AlignedVector<float>& values, std::size_t size) {
      values.resize(size);
      for (float& v : values) v = random.uniform(draw++);
    };
    fill(coefficients, static_cast<std::size_t>(layers.gates) * kKernels * 4);
    fill(patch, 9 * lanes);
    fill(drows, static_cast<std::size_t>(layers.outputs()) * kKernels * lanes);
    fill(start_dpatch, patch.size());
    fill(start_dc, coefficients.size());
  }

  template <class Forward, class Backward>
  Way run(Forward forward, Backward backward) const {
    AlignedVector<float> values(layers.gates * kKernels * lanes), spare(perceive_spare_rows(layers) * lanes);
    Way way{AlignedVector<float>(drows.size()), start_dpatch, start_dc};
    forward(kKernels, coefficients.data(), channels, patch.data(), values.data(), way.rows.data());
    backward(kKernels, coefficients.data(), channels, patch.data(), values.data(), drows.data(), spare.data(),
             way.dpatch.data(), way.dc.data());
    return way;
  }

  Automaton automaton;
  PerceiveLayers layers;
  std::optional<PerceiveTree> tree;
  int channels;
  std::size_t lanes;
  AlignedVector<float> coefficients, patch, drows, start_dpatch, start_dc;
};

void expect_same_ways(const std::vector<int>& perceive, int channels) {
  const Problem p(perceive, channels);
  ASSERT_TRUE(p.tree);
  for_each_target([&] {
    const Way by_layers = p.run([&](auto... a) { perceive_layers_forward(p.layers, a...); },
                                [&](auto... a) { perceive_layers_backward(p.layers, a...); });
    const Way by_tree = p.run([&](auto... a) { perceive_tree_forward(*p.tree, a...); },
                              [&](auto... a) { perceive_tree_backward(*p.tree, a...); });
    EXPECT_EQ(by_tree.rows, by_layers.rows);
    EXPECT_EQ(by_tree.dpatch, by_layers.dpatch);
    EXPECT_EQ(by_tree.dc, by_layers.dc);
    EXPECT_NE(by_tree.dc, p.start_dc);
    EXPECT_NE(by_tree.dpatch, p.start_dpatch);
  });
}

TEST(PerceiveTree, TwoLayers) { expect_same_ways({8, 4}, 2); }
TEST(PerceiveTree, ThreeLayers) { expect_same_ways({8, 4, 2}, 1); }
TEST(PerceiveTree, FourLayers) { expect_same_ways({8, 4, 2, 1}, 5); }

TEST(PerceiveTree, IsNoneWhenAValueIsReadTwice) { EXPECT_FALSE(Problem({8, 8}, 1).tree); }

TEST(PerceiveTree, KnowsItsTwigsInTheOrderOfTheirLeaves) {
  const Problem p({8, 4, 2}, 1);
  ASSERT_EQ(p.tree->twigs.size(), 4u);
  std::vector<std::int32_t> leaves, neighbours;
  for (const PerceiveTree::Twig& twig : p.tree->twigs) {
    leaves.insert(leaves.end(), std::begin(twig.leaves), std::end(twig.leaves));
    neighbours.insert(neighbours.end(), std::begin(twig.neighbours), std::end(twig.neighbours));
  }
  EXPECT_EQ(leaves, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  std::ranges::sort(neighbours);
  EXPECT_EQ(neighbours, (std::vector<std::int32_t>{0, 1, 2, 3, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace espalier
