// What the perception kernels see in the patches of some channels, forward and backward. Kernels of the usual shapes
// are binary trees (layers 8, 4, 2, ... of which every gate reads two gates of its own), and are evaluated as such:
// forward output by output, children first, with all values in registers; backward gate by gate, to have a gate's sums
// in registers, with the leaves' values made again instead of fetched. All others go layer by layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/gate_network.hpp"

namespace espalier {

// Arrays of perception, cells in lanes, kBlockCells per channel:
//   coefficients, dc: [kernels][gates][4] in evaluation order   patch: [9][channels][cells]
//   values: [kernels][gates][channels][cells]                   rows: [channels][outputs][kernels][cells]
//   scratch: [perceive_scratch_rows][channels][cells]
// A forward pass fills rows, and in values what the backward pass fetches; a backward pass adds to dpatch and dc and
// spoils the values.

void perceive_layers_forward(const GateNetwork& kernels, std::span<const float> coefficients, int channels,
                             const float* patch, float* values, float* rows);
void perceive_layers_backward(const GateNetwork& kernels, std::span<const float> coefficients, int channels,
                              const float* patch, float* values, const float* drows, float* scratch, float* dpatch,
                              std::span<float> dc);

struct PerceiveTree {
  struct LeafPair {  // two leaves and the gate that reads them
    std::int32_t gate, output;
    std::int32_t leaves[2], neighbours[2];
  };

  int kernels = 0, depth = 0, outputs = 0;
  int gates = 0;  // of one kernel
  // Output by output, left subtree, right subtree, gate:
  std::vector<std::int32_t> places;      // of the gate among those of a kernel
  std::vector<std::int32_t> neighbours;  // patch rows of the leaves; their other input is the centre
  std::vector<LeafPair> leaf_pairs;      // in the order of their leaves
};

// Nothing when some value is read twice or never.
std::optional<PerceiveTree> perceive_tree(const GateNetwork& kernels);

// The same as perceive_layers_forward; of the values neither leaves nor outputs, and none if that is null.
void perceive_tree_forward(const PerceiveTree& tree, const float* coefficients, int channels, const float* patch,
                           float* values, float* rows);
// The same as perceive_layers_backward, for trees of two layers at least; to the bit, if leaf pairs are neighbours.
void perceive_tree_backward(const PerceiveTree& tree, const float* coefficients, int channels, const float* patch,
                            float* values, const float* drows, float* scratch, float* dpatch, float* dc);

int perceive_scratch_rows(const GateNetwork& kernels);

// The better of the two ways for a network of kernels.
class Perception {
 public:
  explicit Perception(const GateNetwork& kernels) : kernels_(kernels), tree_(perceive_tree(kernels)) {}

  void forward(std::span<const float> coefficients, int channels, const float* patch, float* values, float* rows) const;
  // The rows alone, faster; what it leaves in values is of no use.
  void forward_rows(std::span<const float> coefficients, int channels, const float* patch, float* values,
                    float* rows) const;
  void backward(std::span<const float> coefficients, int channels, const float* patch, float* values,
                const float* drows, float* scratch, float* dpatch, std::span<float> dc) const;

 private:
  GateNetwork kernels_;
  std::optional<PerceiveTree> tree_;
};

}  // namespace espalier
