// Perception kernels that are binary trees: layers 8, 4, 2, ... of which every gate reads two gates of its own.
// The forward pass walks such a tree output by output, children first, with all values in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/lattice/perceive_layers.hpp"

namespace espalier {

struct PerceiveTree {
  int depth = 0, outputs = 0, gates = 0;
  // Output by output, left subtree, right subtree, gate:
  std::vector<std::int32_t> places;      // of the gate among those of a kernel
  std::vector<std::int32_t> neighbours;  // patch rows of the leaves; their other input is the centre
};

// Nothing when some value is read twice or never.
std::optional<PerceiveTree> perceive_tree(const Automaton& automaton, const PerceiveLayers& layers);

// The same as perceive_layers_forward; without values when that is null.
void perceive_tree_forward(const PerceiveTree& tree, int kernels, const float* coefficients, int channels,
                           const float* patch, float* values, float* rows);

}  // namespace espalier
