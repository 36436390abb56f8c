#include "models/lattice/perceive_tree.hpp"

#include <algorithm>

namespace espalier {
namespace {

bool read_once_each(const Wiring& wiring) {
  std::vector<int> readers(wiring.inputs, 0);
  for (int g = 0; g < wiring.outputs(); ++g) {
    ++readers[wiring.a[g]];
    ++readers[wiring.b[g]];
  }
  for (const int count : readers)
    if (count != 1) return false;
  return true;
}

struct Planter {
  const std::vector<Wiring>& wirings;
  std::vector<std::vector<std::int32_t>> place;  // [layer][gate] among the gates of a kernel, in plan order
  PerceiveTree& tree;

  void plant(int output, int layer, int gate) {
    if (layer == 0) {
      tree.neighbours.push_back(wirings[0].a[gate]);
    } else {
      const int a = wirings[layer].a[gate], b = wirings[layer].b[gate];
      plant(output, layer - 1, a);
      plant(output, layer - 1, b);
      if (layer == 1)
        tree.twigs.push_back({place[1][gate], output, {place[0][a], place[0][b]}, {wirings[0].a[a], wirings[0].a[b]}});
    }
    tree.places.push_back(place[layer][gate]);
  }
};

}  // namespace

std::optional<PerceiveTree> perceive_tree(const Automaton& automaton, const PerceiveLayers& layers) {
  const std::vector<Wiring>& wirings = automaton.perceive();
  for (std::size_t l = 1; l < wirings.size(); ++l)
    if (!read_once_each(wirings[l])) return std::nullopt;
  PerceiveTree tree;
  tree.depth = static_cast<int>(wirings.size());
  tree.outputs = wirings.back().outputs();
  tree.gates = layers.gates;
  Planter planter{wirings, {}, tree};
  std::int32_t at = 0;
  for (const LayerPlan& plan : layers.plans) {
    planter.place.emplace_back(plan.outputs);
    for (const std::int32_t gate : plan.gate) planter.place.back()[gate] = at++;
  }
  for (int g = 0; g < tree.outputs; ++g) planter.plant(g, tree.depth - 1, g);
  std::ranges::sort(tree.twigs, {}, [](const PerceiveTree::Twig& twig) { return twig.leaves[0]; });
  return tree;
}

}  // namespace espalier
