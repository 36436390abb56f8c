// A DagNN that grows and shrinks inside Parameters of a fixed size, as the trainer, its optimizer and its
// checkpoints want them. Places are ids: the weight of edge e is weight[e] as long as e lives, so optimizer state
// stays with its edge by itself. The shape lies beside the weights as small numbers with no gradient, so best
// weights and checkpoints carry the shape they belong to.
#pragma once

#include "espalier/dag_nn.hpp"

namespace espalier {

class TableShape {
 public:
  // Room for the network and for `growth` more nodes and twice as many edges.
  TableShape(DagNN network, std::size_t growth);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  // The network with the weights and the shape that the parameters hold now. Rebuilt only when the shape changed.
  DagNN& network();
  // Adds the network's gradients to those of the parameters.
  void take_gradients();
  // After edits of network(): puts its shape and weights into the parameters.
  void write_shape();
  bool room_to_grow() const;

  // The network in any values laid out as parameters().values().
  static DagNN decode(const Parameters& layout, std::span<const float> values, bool fan_in_scaling);

 private:
  bool same_shape() const;
  void index();

  Parameters parameters_;
  DagNN network_;
  std::size_t max_nodes_, max_edges_;
  std::vector<std::uint32_t> edge_ids_, node_ids_;        // of network_; nodes with a bias
  std::vector<std::size_t> weight_places_, bias_places_;  // in network_.parameters()
};

}  // namespace espalier
