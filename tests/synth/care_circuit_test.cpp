// Circuits of partial functions that are given as lists.

#include "synth/care_circuit.hpp"

#include <gtest/gtest.h>

#include "espalier/random.hpp"

namespace espalier {
namespace {

// Random functions of which some values matter.
TEST(CareCircuit, HasTheValuesThatMatter) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Random random(seed, Purpose::kData);
    const int inputs = 1 + static_cast<int>(seed % 11);
    std::vector<CareCase> cases;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << inputs; ++bits)
      if (random.uniform(2 * bits) < (seed % 3 ? 0.3f : 1.0f)) cases.push_back({bits, random.coin(2 * bits + 1)});
    Netlist netlist;
    std::vector<Literal> literals;
    std::vector<int> order;
    for (int i = 0; i < inputs; ++i) {
      literals.push_back({netlist.add_input("x" + std::to_string(i)), false});
      order.push_back(inputs - 1 - i);
    }
    LiteralBuilder builder(netlist);
    CareCircuit circuit(builder, literals, order);
    std::vector<CareCase> other = cases;
    for (CareCase& c : other) c.value = (c.bits & 1) != 0;
    const Net first = builder.net(circuit.build(cases)), second = builder.net(circuit.build(other));
    netlist.add_output("first", first);
    netlist.add_output("second", second);
    for (const CareCase& c : cases) {
      std::vector<bool> values;
      for (int i = 0; i < inputs; ++i) values.push_back(c.bits >> i & 1);
      ASSERT_EQ(evaluate(netlist, values), (std::vector<bool>{c.value, (c.bits & 1) != 0})) << seed;
    }
  }
}

}  // namespace
}  // namespace espalier
