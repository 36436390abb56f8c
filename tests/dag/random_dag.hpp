// Random networks and samples for the tests of DagNN.
#pragma once

#include <algorithm>
#include <vector>

#include "espalier/dag_nn.hpp"
#include "espalier/random.hpp"

namespace espalier {

// Activations at random, or only the one with this number; every node sees some earlier one; the last `outputs` are
// outputs.
inline DagNN random_dag(std::uint64_t seed, std::size_t inputs, std::size_t hidden, std::size_t outputs,
                        bool fan_in_scaling, int only = -1, double density = 0.4) {
  const Random r(seed, Purpose::kData);
  DagNN network(DagOptions{fan_in_scaling});
  std::uint64_t draw = 0;
  const std::size_t total = inputs + hidden + outputs;
  for (std::size_t v = 0; v < total; ++v) {
    if (v < inputs) {
      network.add_node(NodeKind::kInput);
      continue;
    }
    const auto f = static_cast<Activation>(only >= 0 ? only : static_cast<int>(r.choice(draw++, kNumActivations)));
    network.add_node(v < inputs + hidden ? NodeKind::kHidden : NodeKind::kOutput, f, 0.3f * r.normal(draw++));
    bool any = false;
    for (std::size_t u = 0; u < v; ++u)
      if (static_cast<double>(r.uniform(draw++)) < density || (u + 1 == v && !any)) {
        network.add_edge(static_cast<NodeId>(u), static_cast<NodeId>(v), 0.7f * r.normal(draw++));
        any = true;
      }
  }
  return network;
}

inline std::vector<float> random_numbers(std::uint64_t seed, std::size_t count) {
  const Random r(seed, Purpose::kBatch);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = r.normal(i);
  return numbers;
}

}  // namespace espalier
