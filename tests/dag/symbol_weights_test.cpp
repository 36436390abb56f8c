// Weights by pairs of symbols: shared by networks of different shapes, learned together, kept in a file.
#include <gtest/gtest.h>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

TEST(SymbolWeights, NetworksOfDifferentShapesHaveTheirPairsInCommon) {
  DagNN one = DagNN::from_text("abc"), two = DagNN::from_text("xabab");
  SymbolWeights shared;
  shared.tie(one);
  shared.tie(two);
  EXPECT_EQ(shared.num_weights(), 4u);  // ab, bc, xa, ba
  one.set_weight(*one.topology().find_edge(0, 1), 0.25f);
  SymbolWeights other;
  other.tie(one);
  other.tie(two);
  EXPECT_EQ(other.weight('a', 'b'), 0.25f);
  EXPECT_EQ(two.weight(*two.topology().find_edge(1, 2)), 0.25f);  // both places of "ab"
  EXPECT_EQ(two.weight(*two.topology().find_edge(3, 4)), 0.25f);
  EXPECT_EQ(other.weight('b', 'x'), std::nullopt);
  EXPECT_EQ(other.bias('x'), std::nullopt);
}

// The gradient of a shared weight is the sum over all places: against finite differences of the summed outputs.
TEST(SymbolWeights, GradientsAddUpOverPlacesAndNetworks) {
  std::vector<DagNN> networks;
  for (const char* text : {"abab", "cab", "bab"}) networks.push_back(DagNN::from_text(text));
  SymbolWeights shared;
  for (DagNN& n : networks) shared.tie(n);
  const auto output = [&] {
    double sum = 0;
    for (DagNN& n : networks) {
      shared.tie(n);
      sum += static_cast<double>(n.forward({0.7f}, 1)[0]);
    }
    return sum;
  };
  output();
  for (DagNN& n : networks) {
    n.backward_accumulate({1.0f});
    shared.add_gradients(n);
  }
  // A step of size e along the gradient changes the sum by -e |gradient|^2; twice as small a step by half of that.
  const double before = output();
  shared.step(1e-3f);
  const double change = output() - before;
  shared.step(-1e-3f);
  EXPECT_NEAR(output(), before, 1e-5);
  EXPECT_LT(change, -1e-3);
  const std::optional<float> ab = shared.weight('a', 'b');
  shared.zero_grad();
  shared.step(1);
  EXPECT_EQ(shared.weight('a', 'b'), ab);
  DagNN alone = DagNN::from_text("ab");
  shared.tie(alone);
  alone.forward({2.0f}, 1);
  alone.backward_accumulate({1.0f});
  shared.add_gradients(alone);
  shared.add_gradients(alone);
  shared.step(0.5f);
  EXPECT_FLOAT_EQ(*shared.weight('a', 'b'), *ab - 0.5f * 2 * 2.0f);
}

TEST(SymbolWeights, FilesKeepThemAndDamageIsRefused) {
  SymbolWeights shared;
  DagNN network = DagNN::from_text("héllo");
  shared.tie(network);
  SafetensorsFile file;
  shared.save(file);
  const SymbolWeights back = SymbolWeights::load(SafetensorsFile::parse(file.serialize(), "test"));
  EXPECT_EQ(back.num_weights(), shared.num_weights());
  EXPECT_EQ(back.weight(0xE9, 'l'), shared.weight(0xE9, 'l'));
  EXPECT_TRUE(back.weight('l', 'l').has_value());
  file.tensors.erase("symbols.weight");
  EXPECT_THROW(SymbolWeights::load(file), Error);
  const std::vector<float> few{1};
  file.add("symbols.weight", {1}, std::span<const float>(few));
  EXPECT_THROW(SymbolWeights::load(file), Error);
}

TEST(SymbolWeights, APairNeverMetIsRefusedAndChangesNothing) {
  SymbolWeights shared;
  DagNN known = DagNN::from_text("ab"), unknown = DagNN::from_text("abz");
  shared.tie(known);
  unknown.forward({1.0f}, 1);
  unknown.backward_accumulate({1.0f});
  EXPECT_THROW(shared.add_gradients(unknown), Error);
  const std::optional<float> before = shared.weight('a', 'b');
  shared.step(1);
  EXPECT_EQ(shared.weight('a', 'b'), before);
}

}  // namespace
}  // namespace espalier
