// How the cases of the signature put numbers into a hash, and numbers to work on.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "espalier/dag_nn.hpp"
#include "espalier/logic_automaton.hpp"
#include "espalier/netlist.hpp"
#include "espalier/random.hpp"
#include "espalier/thread_pool.hpp"

namespace espalier {

struct SignatureCase {
  std::string name;
  std::function<void(Hasher& hash, const ThreadPool& pool)> add_numbers;
};
// The parts of the graph room, each by itself.
std::vector<SignatureCase> graph_signature_cases();

inline void hash_floats(Hasher& hash, std::span<const float> values) { hash.add(values); }
inline void hash_number(Hasher& hash, double value) { hash.add(&value, sizeof value); }
template <class... Ints>
void hash_ints(Hasher& hash, Ints... values) {
  const std::array wide{static_cast<std::int64_t>(values)...};
  hash.add(wide.data(), sizeof wide);
}

inline void hash_wirings(Hasher& hash, const std::vector<Wiring>& layers) {
  for (const Wiring& w : layers) hash.add(std::span<const std::int32_t>(w.a)).add(std::span<const std::int32_t>(w.b));
}

inline void hash_network(Hasher& hash, const DagNN& network) {
  for (const auto& [id, node] : network.topology().nodes()) {
    hash_ints(hash, id, node.kind, node.activation);
    hash_floats(hash, std::array{network.bias(id)});
  }
  for (const auto& [id, edge] : network.topology().edges()) {
    hash_ints(hash, id, edge.from, edge.to);
    hash_floats(hash, std::array{network.weight(id)});
  }
}

inline void hash_netlist(Hasher& hash, const Netlist& netlist) {
  for (const NetlistGate& g : netlist.gates) hash_ints(hash, g.gate, g.a, g.b);
  for (const NetlistOutput& o : netlist.outputs) hash_ints(hash, o.net);
}

inline AlignedVector<float> numbers(std::size_t count, std::uint32_t stream) {
  const Random random(1, Purpose::kData, stream);
  AlignedVector<float> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = random.normal(i);
  return list;
}

}  // namespace espalier
