// A gate network as the formulas say it: one gate after the other, no vectors, no threads. Templated on the number
// type: float to compare with the fast code, double for finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "espalier/gate_network.hpp"

namespace espalier::reference {

template <class T>
struct SoftGate {
  T p[kGates], c[4];
};

// p = softmax(logits / temperature), c = M^T p.
template <class T>
SoftGate<T> soften(const T* logits, T temperature) {
  SoftGate<T> gate{};
  const T top = *std::max_element(logits, logits + kGates);
  // Sums in double: a rounding error in a coefficient is the same in every layer and step, and adds up.
  double total = 0, c[4] = {};
  for (int i = 0; i < kGates; ++i) total += gate.p[i] = std::exp((logits[i] - top) / temperature);
  for (int i = 0; i < kGates; ++i) {
    gate.p[i] = static_cast<T>(gate.p[i] / total);
    for (int k = 0; k < 4; ++k) c[k] += gate.p[i] * static_cast<double>(kGateCoefficients[i][k]);
  }
  for (int k = 0; k < 4; ++k) gate.c[k] = static_cast<T>(c[k]);
  return gate;
}

// dl_i = p_i (dp_i - sum_j p_j dp_j) / temperature, dp = M dc; dp counts from that of the likeliest gate, or little
// would be left of the difference where one gate has nearly all of p.
template <class T>
void soften_backward(const SoftGate<T>& gate, const T* dc, T temperature, T* dlogits) {
  T dp[kGates] = {}, mean = 0;
  const auto& base = kGateCoefficients[std::max_element(gate.p, gate.p + kGates) - gate.p];
  for (int i = 0; i < kGates; ++i) {
    for (int k = 0; k < 4; ++k) dp[i] += (kGateCoefficients[i][k] - base[k]) * dc[k];
    mean += gate.p[i] * dp[i];
  }
  for (int i = 0; i < kGates; ++i) dlogits[i] += gate.p[i] * (dp[i] - mean) / temperature;
}

// straight: the likeliest gate alone computes, the gradient is that of the soft choice.
template <class T>
std::vector<SoftGate<T>> soften_all(std::span<const T> logits, T temperature, bool straight) {
  std::vector<SoftGate<T>> gates;
  for (std::size_t at = 0; at < logits.size(); at += kGates) {
    gates.push_back(soften(&logits[at], temperature));
    SoftGate<T>& gate = gates.back();
    if (straight) std::ranges::copy(kGateCoefficients[std::max_element(gate.p, gate.p + kGates) - gate.p], gate.c);
  }
  return gates;
}

template <class T>
using Layers = std::vector<std::vector<T>>;  // the input, then the values of every layer

// One copy of a network. gates: of all copies in the order of the parameters.
template <class T>
Layers<T> network_forward(const GateNetwork& network, std::span<const SoftGate<T>> gates, int copy,
                          std::vector<T> input) {
  Layers<T> layers{std::move(input)};
  for (int l = 0; l < static_cast<int>(network.layers().size()); ++l) {
    const Wiring& w = network.layers()[l];
    const std::vector<T>& in = layers.back();
    std::vector<T> out(w.outputs());
    for (int g = 0; g < w.outputs(); ++g) {
      const T a = in[w.a[g]], b = in[w.b[g]];
      const T* c = gates[network.gate_number(copy, l, g)].c;
      out[g] = c[0] + c[1] * a + c[2] * b + c[3] * a * b;
    }
    layers.push_back(std::move(out));
  }
  return layers;
}

// From the gradient of the outputs to that of the input; adds to dc: [gates][4] like `gates`.
template <class T>
std::vector<T> network_backward(const GateNetwork& network, std::span<const SoftGate<T>> gates, int copy,
                                const Layers<T>& layers, std::vector<T> dout, std::span<T> dc) {
  for (int l = static_cast<int>(network.layers().size()) - 1; l >= 0; --l) {
    const Wiring& w = network.layers()[l];
    const std::vector<T>& in = layers[l];
    std::vector<T> din(in.size(), T{0});
    for (int g = 0; g < w.outputs(); ++g) {
      const auto number = static_cast<std::size_t>(network.gate_number(copy, l, g));
      const T a = in[w.a[g]], b = in[w.b[g]], d = dout[g];
      const T* c = gates[number].c;
      din[w.a[g]] += d * (c[1] + c[3] * b);
      din[w.b[g]] += d * (c[2] + c[3] * a);
      dc[4 * number] += d;
      dc[4 * number + 1] += d * a;
      dc[4 * number + 2] += d * b;
      dc[4 * number + 3] += d * a * b;
    }
    dout = std::move(din);
  }
  return dout;
}

}  // namespace espalier::reference
