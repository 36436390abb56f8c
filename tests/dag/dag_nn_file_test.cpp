// DagNN to a file and back: the same network, which goes on learning as if nothing had happened.
#include <gtest/gtest.h>

#include "dag/random_dag.hpp"
#include "espalier/error.hpp"
#include "espalier/safetensors.hpp"

namespace espalier {
namespace {

void learn(DagNN& n, int steps, std::uint64_t seed) {
  for (int i = 0; i < steps; ++i) {
    const std::vector<float> samples = random_numbers(seed + static_cast<std::uint64_t>(i), 20 * n.num_inputs());
    const auto y = n.forward(samples, 20);
    const std::vector<float> grad(y.begin(), y.end());
    n.zero_grad();
    n.backward_accumulate(grad);
    n.step(0.01f);
  }
}

DagNN through_a_file(const DagNN& n) {
  SafetensorsFile file;
  n.save(file);
  return DagNN::load(SafetensorsFile::parse(file.serialize(), "test"));
}

TEST(DagFile, SaveLoadTrainEqualsTrain) {
  for (const bool scaling : {false, true}) {
    DagNN n = random_dag(4, 3, 15, 2, scaling);
    learn(n, 3, 1);
    n.split_edge(n.topology().edges().begin()->first);
    n.prune_percentile(20);
    learn(n, 2, 50);
    DagNN loaded = through_a_file(n);
    EXPECT_TRUE(loaded.is_training());
    EXPECT_FALSE(loaded.has_gradients());
    EXPECT_EQ(loaded.parameters().hash(), n.parameters().hash());
    learn(n, 4, 90);
    learn(loaded, 4, 90);
    EXPECT_EQ(loaded.parameters().hash(), n.parameters().hash());
    EXPECT_EQ(loaded.add_node(NodeKind::kHidden), n.add_node(NodeKind::kHidden));
    for (const auto& [id, edge] : n.topology().edges()) EXPECT_EQ(loaded.weight(id), n.weight(id));
  }
}

TEST(DagFile, FlagsAndTextSurvive) {
  DagNN n = DagNN::from_text("héllo");
  n.train(false);
  const DagNN loaded = through_a_file(n);
  EXPECT_FALSE(loaded.is_training());
  EXPECT_EQ(loaded.to_text(), "héllo");
}

TEST(DagFile, DamagedFilesAreRefused) {
  SafetensorsFile good;
  random_dag(4, 2, 3, 1, false).save(good);
  const auto broken = [&](auto&& damage) {
    SafetensorsFile file = good;
    damage(file);
    EXPECT_THROW(DagNN::load(file), Error);
  };
  broken([](SafetensorsFile& f) { f.tensors.erase("dag.edges"); });
  broken([](SafetensorsFile& f) { f.metadata.erase("dag.training"); });
  broken([](SafetensorsFile& f) { f.metadata["dag.training"] = "maybe"; });
  broken([](SafetensorsFile& f) { f.metadata["dag.next_node"] = "-1"; });
  broken([](SafetensorsFile& f) { f.metadata["dag.next_node"] = "2"; });
  const auto nodes = good.ints("dag.nodes"), edges = good.ints("dag.edges");
  const auto with = [&](const char* name, std::vector<std::int32_t> values, std::size_t width) {
    broken([&](SafetensorsFile& f) {
      f.tensors.erase(name);
      f.add(name, {values.size() / width, width}, std::span<const std::int32_t>(values));
    });
  };
  auto bad = nodes;
  bad[1] = 9;  // kind
  with("dag.nodes", bad, 4);
  bad = nodes;
  bad[4] = bad[0];  // id twice
  with("dag.nodes", bad, 4);
  bad = edges;
  std::swap(bad[1], bad[2]);  // into an input, or a cycle
  with("dag.edges", bad, 3);
  bad = edges;
  bad[1] = 77;
  with("dag.edges", bad, 3);
}

}  // namespace
}  // namespace espalier
