// Back from hard to soft: what an automaton hardens to is what it was made from.
#include <gtest/gtest.h>

#include "espalier/error.hpp"
#include "espalier/synth.hpp"
#include "models/lattice/soften_cell.hpp"
#include "netlist/cell.hpp"
#include "netlist/circuits.hpp"

namespace espalier {
namespace {

AutomatonOptions small(const std::string& perceive, int kernels, const std::string& update) {
  return {.channels = 4, .kernels = kernels, .perceive = parse_layers(perceive), .update = parse_layers(update)};
}

// A deep and wide circuit that reads every input.
Netlist tangled_cell(int channels, int gates, std::uint64_t seed) {
  Netlist cell = empty_cell(channels);
  const Random random(seed, Purpose::kTrial);
  std::uint64_t draw = 0;
  for (int g = 0; g < gates; ++g) {
    const auto net = [&] { return static_cast<Net>(random.choice(draw++, cell.nets())); };
    const Gate gate = gate_of_bits(static_cast<unsigned>(random.choice(draw++, kGates)));
    const Net a = net(), b = net();
    cell.add_gate(gate, a, b);
  }
  for (int c = 0; c < channels; ++c)
    cell.add_output("next" + std::to_string(c), static_cast<Net>(cell.nets() - 1 - static_cast<std::size_t>(c)));
  return cell;
}

void expect_kept(const Netlist& cell, AutomatonOptions shape) {
  for (const int candidates : {1, 3}) {
    shape.candidates = candidates;
    const SoftCell soft = soften_cell(cell, shape, 10, 5, 3);
    EXPECT_EQ(soft.logits.size(), soft.automaton.logits());
    EXPECT_EQ(soft.automaton.update().layers().front().choices(), candidates);
    EXPECT_EQ(verify(harden(soft.automaton, soft.logits), cell).verdict, VerifyReport::Verdict::kEqual);
  }
}

TEST(Softened, ACircuitIsWhatItsSoftFormHardensTo) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    expect_kept(tangled_cell(4, 60, seed), small("8,4,2", 4, "32x2,16,8,4"));
    expect_kept(tangled_cell(4, 60, seed), small("8,4,2,1", 2, "16,8,4"));  // needs more kernels and more layers
    expect_kept(tangled_cell(4, 200, seed), small("8,16,8", 1, "64x12,32,16,8,4"));
  }
}

TEST(Softened, OutputsMayBeConstantsAndInputs) {
  Netlist cell = empty_cell(4);
  const Net one = cell.add_constant(true);
  for (int c = 0; c < 4; ++c) cell.add_output("next" + std::to_string(c), c == 0 ? one : patch_net(8, c, 4));
  expect_kept(cell, small("8,4,2", 4, "32x2,16,8,4"));
}

TEST(Softened, ACircuitThatFitsKeepsTheShapeOfItsAutomaton) {
  const AutomatonOptions shape = small("8,4,2", 4, "64x8,32,16,8,4");
  const SoftCell soft = soften_cell(test::parity_cell(4), shape, 10, 5, 3);
  EXPECT_EQ(soft.automaton.options().update, shape.update);
  EXPECT_EQ(soft.automaton.options().kernels, shape.kernels);
}

}  // namespace
}  // namespace espalier
