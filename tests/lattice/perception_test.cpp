// Perception kernels as trees give the same bits as going through their layers (when, as usual, leaf pairs are
// neighbours), on every vector width.
#include "models/lattice/perception.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/logic_automaton.hpp"
#include "espalier/thread_pool.hpp"
#include "logic/each_target.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier {
namespace {

constexpr int kKernels = 3;

struct Result {  // what one of the two ways makes of the same patch and gradients
  AlignedVector<float> rows, dpatch, dc;
};

struct Problem {
  Problem(const std::vector<int>& perceive, int channels)
      : automaton({channels, kKernels, perceive, {channels}, WiringKind::kRandom, Boundary::kZero}, 5),
        kernels(automaton.perceive()),
        tree(perceive_tree(kernels)),
        channels(channels),
        lanes(static_cast<std::size_t>(channels) * kBlockCells) {
    const Random random(9, Purpose::kData);
    std::uint64_t draw = 0;
    const auto fill = [&](AlignedVector<float>& values, std::size_t size) {
      values.resize(size);
      for (float& v : values) v = random.uniform(draw++);
    };
    fill(coefficients, static_cast<std::size_t>(kernels.gates()) * 4);
    fill(patch, 9 * lanes);
    fill(drows, static_cast<std::size_t>(kernels.outputs()) * kKernels * lanes);
    fill(start_dpatch, patch.size());
    fill(start_dc, coefficients.size());
  }

  Result by_layers() const {
    Result result = start();
    AlignedVector<float> values = some_values(), scratch = some_scratch();
    perceive_layers_forward(kernels, coefficients, channels, patch.data(), values.data(), result.rows.data());
    perceive_layers_backward(kernels, coefficients, channels, patch.data(), values.data(), drows.data(), scratch.data(),
                             result.dpatch.data(), result.dc);
    return result;
  }
  Result by_tree() const {
    Result result = start();
    AlignedVector<float> values = some_values(), scratch = some_scratch();
    const float* c = coefficients.data();
    perceive_tree_forward(*tree, c, channels, patch.data(), values.data(), result.rows.data());
    perceive_tree_backward(*tree, c, channels, patch.data(), values.data(), drows.data(), scratch.data(),
                           result.dpatch.data(), result.dc.data());
    return result;
  }
  Result start() const { return {AlignedVector<float>(drows.size()), start_dpatch, start_dc}; }
  AlignedVector<float> some_values() const { return AlignedVector<float>(kernels.gates() * lanes); }
  AlignedVector<float> some_scratch() const { return AlignedVector<float>(perceive_scratch_rows(kernels) * lanes); }

  Automaton automaton;
  const GateNetwork& kernels;
  std::optional<PerceiveTree> tree;
  int channels;
  std::size_t lanes;
  AlignedVector<float> coefficients, patch, drows, start_dpatch, start_dc;
};

void expect_same(const std::vector<int>& perceive, int channels) {
  const Problem p(perceive, channels);
  ASSERT_TRUE(p.tree);
  for_each_target([&] {
    const Result by_layers = p.by_layers(), by_tree = p.by_tree();
    EXPECT_EQ(by_tree.rows, by_layers.rows);
    EXPECT_EQ(by_tree.dpatch, by_layers.dpatch);
    EXPECT_EQ(by_tree.dc, by_layers.dc);
    EXPECT_NE(by_tree.dc, p.start_dc);
    EXPECT_NE(by_tree.dpatch, p.start_dpatch);
  });
}

TEST(PerceiveTree, TwoLayers) { expect_same({8, 4}, 2); }
TEST(PerceiveTree, ThreeLayers) { expect_same({8, 4, 2}, 1); }
TEST(PerceiveTree, FourLayers) { expect_same({8, 4, 2, 1}, 5); }

TEST(PerceiveTree, IsNoneWhenAValueIsReadTwice) { EXPECT_FALSE(Problem({8, 8}, 1).tree); }

TEST(PerceiveTree, KnowsItsLeafPairsInTheOrderOfTheirLeaves) {
  const Problem p({8, 4, 2}, 1);
  ASSERT_EQ(p.tree->leaf_pairs.size(), 4u);
  std::vector<std::int32_t> leaves, neighbours;
  for (const PerceiveTree::LeafPair& pair : p.tree->leaf_pairs) {
    leaves.insert(leaves.end(), std::begin(pair.leaves), std::end(pair.leaves));
    neighbours.insert(neighbours.end(), std::begin(pair.neighbours), std::end(pair.neighbours));
  }
  EXPECT_EQ(leaves, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  std::ranges::sort(neighbours);
  EXPECT_EQ(neighbours, (std::vector<std::int32_t>{0, 1, 2, 3, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace espalier
