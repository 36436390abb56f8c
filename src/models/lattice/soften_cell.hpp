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
// into them, and more or wider ones where it does not. With candidates, what the circuit reads is the first of each pin
// and has `wire_logit`, which must be above 0 for it to be what the automaton hardens to.
SoftCell soften_cell(const Netlist& cell, const AutomatonOptions& shape, float logit, float wire_logit,
                     std::uint64_t seed);

}  // namespace espalier
