// Perception kernels that are binary trees: layers 8, 4, 2, ... of which every gate reads two gates of its own.
// The forward pass walks such a tree output by output, children first, with all values in registers; the backward pass
// goes gate by gate, to have a gate's sums in registers, and makes the leaves' values again instead of fetching them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/lattice/perceive_layers.hpp"

namespace espalier {

struct PerceiveTree {
  struct Twig {  // a gate that reads two leaves
    std::int32_t gate, output;
    std::int32_t leaves[2], neighbours[2];
  };

  int depth = 0, outputs = 0, gates = 0;
  // Output by output, left subtree, right subtree, gate:
  std::vector<std::int32_t> places;      // of the gate among those of a kernel
  std::vector<std::int32_t> neighbours;  // patch rows of the leaves; their other input is the centre
  std::vector<Twig> twigs;               // in the order of their leaves
};

// Nothing when some value is read twice or never.
std::optional<PerceiveTree> perceive_tree(const Automaton& automaton, const PerceiveLayers& layers);

// The same as perceive_layers_forward; of the values only those that the backward pass fetches: neither leaves nor
// outputs, and none if that is null.
void perceive_tree_forward(const PerceiveTree& tree, int kernels, const float* coefficients, int channels,
                           const float* patch, float* values, float* rows);
// The same as perceive_layers_backward, for trees of two layers at least; to the bit, if twigs read neighbouring
// leaves.
void perceive_tree_backward(const PerceiveTree& tree, int kernels, const float* coefficients, int channels,
                            const float* patch, float* values, const float* drows, float* spare, float* dpatch,
                            float* dc);

}  // namespace espalier
