// Back from hard to soft: a circuit as the wiring and the logits of an automaton that hardens to it.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/logic_automaton.hpp"

namespace espalier {

struct SoftCell {
  Automaton automaton;
  std::vector<float> logits;  // in the order of the parameters
};

// Every gate of the circuit becomes a gate with `logit` for its type; wires lead on what later layers read, and what is
// left of the layers is spare: wires from random places. Layers and kernels are those of `shape` where the circuit fits
// into them, and more or wider ones where it does not.
SoftCell soften_cell(const Netlist& cell, const AutomatonOptions& shape, float logit, std::uint64_t seed);

}  // namespace espalier
