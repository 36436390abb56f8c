// One message-passing layer in plain loops, for float or double: the specification of the fast code.
// Weights as the layer's tensors lie: self, in [R], out [R], bias, gain, shift.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "espalier/message_passing.hpp"
#include "graph/activation.hpp"

namespace espalier::reference {

template <class T>
struct MessageLayer {
  MessagePassingOptions options;
  const MessageGraph* graph;
  std::vector<T> weights;  // all tensors of the layer

  // What forward leaves for backward.
  std::vector<T> messages;              // [2R][N][in]
  std::vector<std::size_t> winners;     // [2R][N][in]
  std::vector<T> z, normed, deviation;  // before the norm [N][out], after it [N][out], 1/deviation [N]

  std::size_t matrix() const { return options.in * options.out; }
  std::size_t panel(std::size_t index) const {  // self, then sides in, out, in, out, ...
    if (index == 0) return 0;
    const std::size_t side = index - 1, r = options.relations;
    return matrix() * (side % 2 == 0 ? 1 + side / 2 : 1 + r + side / 2);
  }
  std::size_t bias() const { return matrix() * (1 + 2 * options.relations); }
  std::size_t gain() const { return bias() + options.out; }
  std::size_t shift() const { return gain() + options.out; }

  std::vector<T> forward(const std::vector<T>& h) {
    const std::size_t n = graph->num_nodes(), in = options.in, out = options.out, sides = graph->sides().size();
    messages.assign(sides * n * in, T(0));
    winners.assign(sides * n * in, n);
    z.assign(n * out, T(0));
    normed.assign(n * out, T(0));
    deviation.assign(n, T(0));
    std::vector<T> y(n * out);
    for (std::size_t v = 0; v < n; ++v) {
      T* row = &z[v * out];
      for (std::size_t o = 0; o < out; ++o) row[o] = weights[bias() + o];
      multiply(&h[v * in], panel(0), row);
      for (std::size_t s = 0; s < sides; ++s) {
        T* message = &messages[(s * n + v) * in];
        gather(h, s, v, message, &winners[(s * n + v) * in]);
        multiply(message, panel(1 + s), row);
      }
      for (std::size_t o = 0; o < out; ++o) normed[v * out + o] = row[o];
      if (options.layer_norm) {
        T mean = 0, variance = 0;
        for (std::size_t o = 0; o < out; ++o) mean += row[o] / T(out);
        for (std::size_t o = 0; o < out; ++o) variance += (row[o] - mean) * (row[o] - mean) / T(out);
        deviation[v] = T(1) / std::sqrt(variance + T(kLayerNormEpsilon));
        for (std::size_t o = 0; o < out; ++o) normed[v * out + o] = (row[o] - mean) * deviation[v];
      }
      for (std::size_t o = 0; o < out; ++o) y[v * out + o] = activate(options.activation, before_activation(v, o));
    }
    return y;
  }

  // Adds to dweights, gives dh.
  std::vector<T> backward(const std::vector<T>& h, const std::vector<T>& dy, std::vector<T>& dweights) const {
    const std::size_t n = graph->num_nodes(), in = options.in, out = options.out, sides = graph->sides().size();
    std::vector<T> dh(n * in);
    for (std::size_t v = 0; v < n; ++v) {
      std::vector<T> dz(out);
      T mean = 0, along = 0;
      for (std::size_t o = 0; o < out; ++o) {
        const T g = dy[v * out + o] * slope(options.activation, before_activation(v, o));
        dz[o] = g;
        if (!options.layer_norm) continue;
        dweights[gain() + o] += g * normed[v * out + o];
        dweights[shift() + o] += g;
        dz[o] = g * weights[gain() + o];
        mean += dz[o] / T(out);
        along += dz[o] * normed[v * out + o] / T(out);
      }
      for (std::size_t o = 0; o < out; ++o) {
        if (options.layer_norm) dz[o] = deviation[v] * (dz[o] - mean - normed[v * out + o] * along);
        dweights[bias() + o] += dz[o];
      }
      back_multiply(&h[v * in], dz, panel(0), &dh[v * in], dweights);
      for (std::size_t s = 0; s < sides; ++s) {
        std::vector<T> dmessage(in);
        back_multiply(&messages[(s * n + v) * in], dz, panel(1 + s), dmessage.data(), dweights);
        const MessageGraph::Side& side = graph->sides()[s];
        for (std::size_t i = 0; i < in; ++i) {
          if (options.aggregation == Aggregation::kMax) {
            const std::size_t winner = winners[(s * n + v) * in + i];
            if (winner < n) dh[winner * in + i] += dmessage[i];
            continue;
          }
          const std::size_t degree = side.offsets[v + 1] - side.offsets[v];
          const T share = options.aggregation == Aggregation::kMean && degree ? T(1) / T(degree) : T(1);
          for (std::size_t e = side.offsets[v]; e < side.offsets[v + 1]; ++e)
            dh[side.list[e] * in + i] += share * dmessage[i];
        }
      }
    }
    return dh;
  }

 private:
  T before_activation(std::size_t v, std::size_t o) const {
    const T x = normed[v * options.out + o];
    return options.layer_norm ? weights[gain() + o] * x + weights[shift() + o] : x;
  }
  void gather(const std::vector<T>& h, std::size_t s, std::size_t v, T* message, std::size_t* who) const {
    const MessageGraph::Side& side = graph->sides()[s];
    for (std::size_t e = side.offsets[v]; e < side.offsets[v + 1]; ++e)
      for (std::size_t i = 0; i < options.in; ++i) {
        const T x = h[side.list[e] * options.in + i];
        if (options.aggregation != Aggregation::kMax) {
          message[i] += x;
        } else if (e == side.offsets[v] || x > message[i]) {
          message[i] = x;
          who[i] = side.list[e];
        }
      }
    const std::size_t degree = side.offsets[v + 1] - side.offsets[v];
    if (options.aggregation == Aggregation::kMean && degree)
      for (std::size_t i = 0; i < options.in; ++i) message[i] /= T(degree);
  }
  void multiply(const T* x, std::size_t at, T* z_row) const {
    for (std::size_t i = 0; i < options.in; ++i)
      for (std::size_t o = 0; o < options.out; ++o) z_row[o] += x[i] * weights[at + i * options.out + o];
  }
  void back_multiply(const T* x, const std::vector<T>& dz, std::size_t at, T* dx, std::vector<T>& dweights) const {
    for (std::size_t i = 0; i < options.in; ++i)
      for (std::size_t o = 0; o < options.out; ++o) {
        dweights[at + i * options.out + o] += x[i] * dz[o];
        dx[i] += dz[o] * weights[at + i * options.out + o];
      }
  }
};

}  // namespace espalier::reference
