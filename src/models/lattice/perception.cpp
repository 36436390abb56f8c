#include "models/lattice/perception.hpp"

#include <algorithm>
#include <cstring>

#include "logic/layer_plan.hpp"
#include "logic/unsealed_gates.hpp"
#include "models/lattice/geometry.hpp"

namespace espalier {
namespace {

constexpr int L = kBlockCells;

// A kernel's part of the values.
std::span<float> values_of(const GateNetwork& kernels, int kernel, int lanes, float* values) {
  const auto size = static_cast<std::size_t>(kernels.gates_per_copy()) * lanes;
  return {values + kernel * size, size};
}

// Calls visit(channel row of the kernel's outputs, row among all perceived).
template <class Visit>
void each_output(const GateNetwork& kernels, int kernel, int channels, Visit visit) {
  const int outputs = kernels.outputs();
  for (int c = 0; c < channels; ++c)
    for (int o = 0; o < outputs; ++o)
      visit(static_cast<std::ptrdiff_t>(o * channels + c) * L,
            static_cast<std::ptrdiff_t>((c * outputs + o) * kernels.copies() + kernel) * L);
}

bool read_once_each(const Wiring& wiring) {
  std::vector<int> readers(wiring.inputs, 0);
  for (int g = 0; g < wiring.outputs(); ++g) {
    ++readers[wiring.a[g]];
    ++readers[wiring.b[g]];
  }
  return std::ranges::all_of(readers, [](int count) { return count == 1; });
}

struct TreeBuilder {
  const std::vector<Wiring>& layers;
  std::vector<std::vector<std::int32_t>> place;  // [layer][gate] among the gates of a kernel, in evaluation order
  PerceiveTree& tree;

  void add_subtree(int output, int layer, int gate) {
    if (layer == 0) {
      tree.neighbours.push_back(layers[0].a[gate]);
    } else {
      const int a = layers[layer].a[gate], b = layers[layer].b[gate];
      add_subtree(output, layer - 1, a);
      add_subtree(output, layer - 1, b);
      if (layer == 1)
        tree.leaf_pairs.push_back(
            {place[1][gate], output, {place[0][a], place[0][b]}, {layers[0].a[a], layers[0].a[b]}});
    }
    tree.places.push_back(place[layer][gate]);
  }
};

}  // namespace

void perceive_layers_forward(const GateNetwork& kernels, std::span<const float> coefficients, int channels,
                             const float* patch, float* values, float* rows) {
  const int lanes = channels * L;
  for (int k = 0; k < kernels.copies(); ++k) {
    const std::span<float> own = values_of(kernels, k, lanes, values);
    UnsealedGates{kernels}.forward(coefficients, lanes, {patch, static_cast<std::size_t>(9) * lanes}, own, k);
    const float* last = own.data() + own.size() - static_cast<std::ptrdiff_t>(kernels.outputs()) * lanes;
    each_output(kernels, k, channels, [&](std::ptrdiff_t from, std::ptrdiff_t row) {
      std::memcpy(rows + row, last + from, sizeof(float) * L);
    });
  }
}

void perceive_layers_backward(const GateNetwork& kernels, std::span<const float> coefficients, int channels,
                              const float* patch, float* values, const float* drows, float* scratch, float* dpatch,
                              std::span<float> dc) {
  const int lanes = channels * L;
  const auto patch_size = static_cast<std::size_t>(9) * lanes;
  const std::span<float> work{scratch, static_cast<std::size_t>(kernels.scratch_rows()) * lanes};
  for (int k = 0; k < kernels.copies(); ++k) {
    const std::span<float> own = values_of(kernels, k, lanes, values);
    float* last = own.data() + own.size() - static_cast<std::ptrdiff_t>(kernels.outputs()) * lanes;
    each_output(kernels, k, channels,
                [&](std::ptrdiff_t to, std::ptrdiff_t row) { std::memcpy(last + to, drows + row, sizeof(float) * L); });
    // The patch is left to the other kernels: its gradient is summed over all.
    UnsealedGates{kernels}.backward_adding(coefficients, lanes, {patch, patch_size}, own, work, {dpatch, patch_size},
                                           dc, k);
  }
}

std::optional<PerceiveTree> perceive_tree(const GateNetwork& kernels) {
  const std::vector<Wiring>& layers = kernels.layers();
  for (std::size_t l = 1; l < layers.size(); ++l)
    if (!read_once_each(layers[l])) return std::nullopt;
  PerceiveTree tree;
  tree.kernels = kernels.copies();
  tree.depth = static_cast<int>(layers.size());
  tree.outputs = kernels.outputs();
  tree.gates = kernels.gates_per_copy();
  TreeBuilder builder{layers, {}, tree};
  std::int32_t at = 0;
  for (const LayerPlan& plan : kernels.plans()) {
    builder.place.emplace_back(plan.outputs);
    for (const std::int32_t gate : plan.gate) builder.place.back()[gate] = at++;
  }
  for (int g = 0; g < tree.outputs; ++g) builder.add_subtree(g, tree.depth - 1, g);
  std::ranges::sort(tree.leaf_pairs, {}, [](const PerceiveTree::LeafPair& pair) { return pair.leaves[0]; });
  return tree;
}

int perceive_scratch_rows(const GateNetwork& kernels) {
  constexpr int kTreeRows = 2;
  return std::max(kTreeRows, kernels.scratch_rows());
}

void Perception::forward(std::span<const float> coefficients, int channels, const float* patch, float* values,
                         float* rows) const {
  if (tree_)
    perceive_tree_forward(*tree_, coefficients.data(), channels, patch, values, rows);
  else
    perceive_layers_forward(kernels_, coefficients, channels, patch, values, rows);
}

void Perception::forward_rows(std::span<const float> coefficients, int channels, const float* patch, float* values,
                              float* rows) const {
  forward(coefficients, channels, patch, tree_ ? nullptr : values, rows);
}

void Perception::backward(std::span<const float> coefficients, int channels, const float* patch, float* values,
                          const float* drows, float* scratch, float* dpatch, std::span<float> dc) const {
  if (tree_ && tree_->depth > 1)
    perceive_tree_backward(*tree_, coefficients.data(), channels, patch, values, drows, scratch, dpatch, dc.data());
  else
    perceive_layers_backward(kernels_, coefficients, channels, patch, values, drows, scratch, dpatch, dc);
}

}  // namespace espalier
