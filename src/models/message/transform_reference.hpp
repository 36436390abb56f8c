// GraphTransformNet in plain loops: embedding, layers with residuals, head, cross-entropy and all gradients; for
// float or double. The specification of the fast code.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "espalier/message_passing.hpp"
#include "models/message/message_reference.hpp"

namespace espalier::reference {

// The cross-entropy over nodes, summed and times `scale`; its gradients are added to `gradients`, laid out as the
// network's parameters. after_forward() is called between the two halves, for who measures them.
template <class T, class AfterForward>
double transform_loss_and_gradients(const GraphTransformNet& net, const TransformBatch& batch,
                                    std::span<const std::uint32_t> edits, double scale, std::vector<T>& gradients,
                                    AfterForward&& after_forward) {
  const std::size_t nodes = batch.symbols.size(), features = net.options().features, n = net.num_edits();
  const auto& tensors = net.parameters().tensors();
  const auto values = net.parameters().values();
  const std::size_t per_layer = net.options().layer_norm ? 6 : 4;  // tensors: embedding, layers, head weight and bias
  const std::size_t head = tensors[tensors.size() - 2].offset, head_bias = tensors[tensors.size() - 1].offset;

  std::vector<std::vector<T>> hidden{std::vector<T>(nodes * features)};
  for (std::size_t v = 0; v < nodes; ++v)
    for (std::size_t f = 0; f < features; ++f) hidden[0][v * features + f] = T(values[batch.symbols[v] * features + f]);
  std::vector<MessageLayer<T>> layers;
  for (std::size_t l = 0; l < net.options().layers; ++l) {
    const std::size_t first = tensors[1 + l * per_layer].offset, last = tensors[1 + (l + 1) * per_layer].offset;
    layers.push_back({{features, features, net.edge_labels().size(), net.options().aggregation,
                       net.options().layer_norm, net.options().activation},
                      &batch.graph,
                      std::vector<T>(values.begin() + static_cast<std::ptrdiff_t>(first),
                                     values.begin() + static_cast<std::ptrdiff_t>(last)),
                      {},
                      {},
                      {},
                      {},
                      {}});
    std::vector<T> y = layers.back().forward(hidden.back());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += hidden.back()[i];
    hidden.push_back(std::move(y));
  }

  double loss = 0;
  std::vector<T> dlogits(nodes * n), dh(nodes * features);
  for (std::size_t v = 0; v < nodes; ++v) {
    const T* h = &hidden.back()[v * features];
    std::vector<T> logits(n);
    for (std::size_t e = 0; e < n; ++e) {
      logits[e] = T(values[head_bias + e]);
      for (std::size_t f = 0; f < features; ++f) logits[e] += h[f] * T(values[head + f * n + e]);
    }
    const T most = *std::max_element(logits.begin(), logits.end());
    T sum = 0;
    for (const T x : logits) sum += std::exp(x - most);
    loss += std::log(double(sum)) + double(most) - double(logits[edits[v]]);
    for (std::size_t e = 0; e < n; ++e)
      dlogits[v * n + e] = T(scale) * (std::exp(logits[e] - most) / sum - (e == edits[v] ? T(1) : T(0)));
  }
  after_forward();

  for (std::size_t v = 0; v < nodes; ++v) {
    const T* h = &hidden.back()[v * features];
    for (std::size_t e = 0; e < n; ++e) {
      const T d = dlogits[v * n + e];
      gradients[head_bias + e] += d;
      for (std::size_t f = 0; f < features; ++f) {
        gradients[head + f * n + e] += d * h[f];
        dh[v * features + f] += d * T(values[head + f * n + e]);
      }
    }
  }
  for (std::size_t l = layers.size(); l-- > 0;) {
    const std::size_t first = tensors[1 + l * per_layer].offset;
    std::vector<T> dweights(layers[l].weights.size());
    const std::vector<T> below = layers[l].backward(hidden[l], dh, dweights);
    for (std::size_t i = 0; i < dweights.size(); ++i) gradients[first + i] += dweights[i];
    for (std::size_t i = 0; i < dh.size(); ++i) dh[i] += below[i];
  }
  for (std::size_t v = 0; v < nodes; ++v)
    for (std::size_t f = 0; f < features; ++f) gradients[batch.symbols[v] * features + f] += dh[v * features + f];
  return loss * scale;
}

}  // namespace espalier::reference
