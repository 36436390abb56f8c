// DagNN one sample at a time in plain loops, for float or double: the specification of the fast code.
#pragma once

#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "espalier/dag_nn.hpp"
#include "graph/activation.hpp"

namespace espalier::reference {

// Nodes and edges are places in the lists below; both are in topological order of the targets.
template <class T>
struct Dag {
  struct Node {
    Activation activation;
    bool is_input;
    std::size_t first_edge, last_edge;  // incoming
    T bias, scale;
    NodeId id;
  };
  struct Edge {
    std::size_t from;
    T weight;
    EdgeId id;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::size_t> inputs, outputs;  // by id

  explicit Dag(const DagNN& network) {
    std::unordered_map<NodeId, std::size_t> place;
    for (const NodeId id : network.topology().levels().nodes) {
      const DagNode& node = network.topology().node(id);
      const std::size_t first = edges.size();
      for (const EdgeId e : node.in)
        edges.push_back({place.at(network.topology().edge(e).from), T(network.weight(e)), e});
      const T scale = network.options().fan_in_scaling && !node.in.empty() ? T(1) / std::sqrt(T(node.in.size())) : T(1);
      place.emplace(id, nodes.size());
      nodes.push_back(
          {node.activation, node.kind == NodeKind::kInput, first, edges.size(), T(network.bias(id)), scale, id});
    }
    for (const auto& [id, node] : network.topology().nodes()) {
      if (node.kind == NodeKind::kInput) inputs.push_back(place.at(id));
      if (node.kind == NodeKind::kOutput) outputs.push_back(place.at(id));
    }
  }

  void forward(const T* sample, std::vector<T>& z, std::vector<T>& a) const {
    z.assign(nodes.size(), T(0));
    a.assign(nodes.size(), T(0));
    for (std::size_t i = 0; i < inputs.size(); ++i) a[inputs[i]] = sample[i];
    for (std::size_t v = 0; v < nodes.size(); ++v) {
      if (nodes[v].is_input) continue;
      T sum = 0;
      for (std::size_t e = nodes[v].first_edge; e < nodes[v].last_edge; ++e) sum += edges[e].weight * a[edges[e].from];
      z[v] = nodes[v].bias + nodes[v].scale * sum;
      a[v] = activate(nodes[v].activation, z[v]);
    }
  }

  // Adds to db [nodes] and dw [edges]; g comes out as the gradient of the loss for every a_v.
  void backward(const std::vector<T>& z, const std::vector<T>& a, const T* output_grad, std::vector<T>& g,
                std::vector<T>& db, std::vector<T>& dw) const {
    g.assign(nodes.size(), T(0));
    for (std::size_t o = 0; o < outputs.size(); ++o) g[outputs[o]] += output_grad[o];
    for (std::size_t v = nodes.size(); v-- > 0;) {
      if (nodes[v].is_input) continue;
      const T delta = g[v] * slope(nodes[v].activation, z[v]);
      db[v] += delta;
      for (std::size_t e = nodes[v].first_edge; e < nodes[v].last_edge; ++e) {
        dw[e] += nodes[v].scale * delta * a[edges[e].from];
        g[edges[e].from] += nodes[v].scale * edges[e].weight * delta;
      }
    }
  }
};

}  // namespace espalier::reference
