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
  T p[kGates], c[4];  // p of the gates; with four logits p[0..3] of the entries being 1, p[4..7] 0
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

// What entry e = 2 a + b weighs in each Walsh function: 1, A, B, A B.
inline constexpr int kWalsh[4][4] = {{1, -1, -1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, 1, 1, 1}};
// And in each coefficient of c0 + c1 a + c2 b + c3 ab.
inline constexpr int kOfEntry[4][4] = {{1, -1, -1, 1}, {0, 0, 1, -1}, {0, 1, 0, -1}, {0, 0, 0, 1}};

// Four logits: p = sigmoid(entries / temperature); the entries are the logits, or sums of Walsh functions.
template <class T>
SoftGate<T> soften_entries(const T* logits, T temperature, bool walsh, bool straight) {
  SoftGate<T> gate{};
  for (int e = 0; e < 4; ++e) {
    T z = walsh ? T{0} : logits[e];
    for (int k = 0; k < 4 && walsh; ++k) z += kWalsh[e][k] * logits[k];
    gate.p[e] = 1 / (1 + std::exp(-z / temperature));
    gate.p[4 + e] = 1 / (1 + std::exp(z / temperature));  // 1 - p, which rounding would spoil near 0
    const T value = straight ? static_cast<T>(z > 0) : gate.p[e];
    for (int k = 0; k < 4; ++k) gate.c[k] += kOfEntry[e][k] * value;
  }
  return gate;
}

template <class T>
void soften_entries_backward(const SoftGate<T>& gate, const T* dc, T temperature, bool walsh, T* dlogits) {
  for (int e = 0; e < 4; ++e) {
    T dp = 0;
    for (int k = 0; k < 4; ++k) dp += kOfEntry[e][k] * dc[k];
    const T dz = dp * gate.p[e] * gate.p[4 + e] / temperature;
    if (!walsh) dlogits[e] += dz;
    for (int k = 0; k < 4 && walsh; ++k) dlogits[k] += kWalsh[e][k] * dz;
  }
}

// straight: the likeliest gate alone computes, the gradient is that of the soft choice.
template <class T>
std::vector<SoftGate<T>> soften_all(std::span<const T> logits, T temperature, bool straight,
                                    Parametrisation parametrisation = Parametrisation::kGates) {
  std::vector<SoftGate<T>> gates;
  for (std::size_t at = 0; at < logits.size(); at += static_cast<std::size_t>(logits_of(parametrisation))) {
    if (parametrisation != Parametrisation::kGates) {
      gates.push_back(soften_entries(&logits[at], temperature, parametrisation == Parametrisation::kWalsh, straight));
      continue;
    }
    gates.push_back(soften(&logits[at], temperature));
    SoftGate<T>& gate = gates.back();
    if (straight) std::ranges::copy(kGateCoefficients[std::max_element(gate.p, gate.p + kGates) - gate.p], gate.c);
  }
  return gates;
}

// From the gradients of all coefficients to those of all logits.
template <class T>
std::vector<T> soften_all_backward(std::span<const SoftGate<T>> gates, std::span<const T> dc, T temperature,
                                   Parametrisation parametrisation) {
  const auto each = static_cast<std::size_t>(logits_of(parametrisation));
  std::vector<T> dlogits(gates.size() * each, T{0});
  for (std::size_t g = 0; g < gates.size(); ++g)
    if (parametrisation == Parametrisation::kGates)
      soften_backward(gates[g], &dc[g * 4], temperature, &dlogits[g * each]);
    else
      soften_entries_backward(gates[g], &dc[g * 4], temperature, parametrisation == Parametrisation::kWalsh,
                              &dlogits[g * each]);
  return dlogits;
}

template <class T>
T p_log_p(T p) {
  return p > 0 ? p * std::log(p) : T{0};
}

// The entropies of all gates at temperature 1, in nats.
template <class T>
T entropy(std::span<const T> logits, Parametrisation parametrisation) {
  T sum = 0;
  for (const SoftGate<T>& gate : soften_all(logits, T{1}, false, parametrisation))
    if (parametrisation == Parametrisation::kGates)
      for (int i = 0; i < kGates; ++i) sum -= p_log_p(gate.p[i]);
    else
      for (int e = 0; e < 4; ++e) sum -= p_log_p(gate.p[e]) + p_log_p(gate.p[4 + e]);
  return sum;
}

template <class T>
struct SoftWire {
  T p = 0, weight = 0;  // of a candidate: its probability, and what it weighs; straight: 1 or 0
};

// visit(layer, pin, number of its first candidate among the logits of wires, candidates) for all pins that choose.
template <class Visit>
void each_pin(const GateNetwork& network, Visit visit) {
  for (int l = 0; l < static_cast<int>(network.layers().size()); ++l) {
    const Wiring& w = network.layers()[l];
    for (int pin = 0; pin < w.pins() && !w.candidates.empty(); ++pin)
      visit(l, pin, network.wire_number(l, pin), w.choices());
  }
}

// p = softmax(logits / temperature) over the candidates of each pin. logits: those of wires.
template <class T>
std::vector<SoftWire<T>> soften_wires(const GateNetwork& network, std::span<const T> logits, T temperature,
                                      bool straight) {
  std::vector<SoftWire<T>> wires(logits.size());
  each_pin(network, [&](int, int, int first, int count) {
    const T* own = &logits[first];
    const T* top = std::max_element(own, own + count);
    double total = 0;
    for (int m = 0; m < count; ++m) total += wires[first + m].p = std::exp((own[m] - *top) / temperature);
    for (int m = 0; m < count; ++m) {
      T& p = wires[first + m].p;
      p = static_cast<T>(p / total);
      wires[first + m].weight = straight ? static_cast<T>(m == top - own) : p;
    }
  });
  return wires;
}

// dl_m = p_m (dw_m - sum_j p_j dw_j) / temperature; dw counts from that of the likeliest, as for gates.
template <class T>
std::vector<T> soften_wires_backward(const GateNetwork& network, std::span<const SoftWire<T>> wires,
                                     std::span<const T> dweights, T temperature) {
  std::vector<T> dlogits(wires.size(), T{0});
  each_pin(network, [&](int, int, int first, int count) {
    int likeliest = first;
    for (int m = first; m < first + count; ++m)
      if (wires[m].p > wires[likeliest].p) likeliest = m;
    T mean = 0;
    for (int m = first; m < first + count; ++m) mean += wires[m].p * (dweights[m] - dweights[likeliest]);
    for (int m = first; m < first + count; ++m)
      dlogits[m] = wires[m].p * (dweights[m] - dweights[likeliest] - mean) / temperature;
  });
  return dlogits;
}

// The entropies of all pins as those of gates above.
template <class T>
T wire_entropy(const GateNetwork& network, std::span<const T> logits) {
  T sum = 0;
  for (const SoftWire<T>& wire : soften_wires(network, logits, T{1}, false)) sum -= p_log_p(wire.p);
  return sum;
}

template <class T>
using Layers = std::vector<std::vector<T>>;  // the input, then the values of every layer

// What pin 2 g or 2 g + 1 of a layer reads: its wire, or the mean of its candidates.
template <class T>
T pin_value(const GateNetwork& network, std::span<const SoftWire<T>> wires, int layer, int pin,
            const std::vector<T>& in) {
  const Wiring& w = network.layers()[layer];
  if (w.candidates.empty()) return in[(pin % 2 ? w.b : w.a)[pin / 2]];
  T mean = 0;
  for (int m = 0; m < w.choices(); ++m)
    mean += wires[network.wire_number(layer, pin) + m].weight * in[w.candidates[pin * w.choices() + m]];
  return mean;
}

// The other way, with the gradient d of the pin: adds to those of the layer's inputs and of the weights.
template <class T>
void pin_backward(const GateNetwork& network, std::span<const SoftWire<T>> wires, int layer, int pin,
                  const std::vector<T>& in, T d, std::vector<T>& din, std::span<T> dweights) {
  const Wiring& w = network.layers()[layer];
  if (w.candidates.empty()) {
    din[(pin % 2 ? w.b : w.a)[pin / 2]] += d;
    return;
  }
  for (int m = 0; m < w.choices(); ++m) {
    const int number = network.wire_number(layer, pin) + m, row = w.candidates[pin * w.choices() + m];
    din[row] += d * wires[number].weight;
    dweights[number] += d * in[row];
  }
}

// One copy of a network. gates: of all copies in the order of the parameters, as are the wires.
template <class T>
Layers<T> network_forward(const GateNetwork& network, std::span<const SoftGate<T>> gates, int copy,
                          std::vector<T> input, std::span<const SoftWire<T>> wires = {}) {
  Layers<T> layers{std::move(input)};
  for (int l = 0; l < static_cast<int>(network.layers().size()); ++l) {
    const Wiring& w = network.layers()[l];
    const std::vector<T>& in = layers.back();
    std::vector<T> out(w.outputs());
    for (int g = 0; g < w.outputs(); ++g) {
      const T a = pin_value(network, wires, l, 2 * g, in), b = pin_value(network, wires, l, 2 * g + 1, in);
      const T* c = gates[network.gate_number(copy, l, g)].c;
      out[g] = c[0] + c[1] * a + c[2] * b + c[3] * a * b;
    }
    layers.push_back(std::move(out));
  }
  return layers;
}

// From the gradient of the outputs to that of the input; adds to dc: [gates][4] like `gates`, and dweights: like
// `wires`.
template <class T>
std::vector<T> network_backward(const GateNetwork& network, std::span<const SoftGate<T>> gates, int copy,
                                const Layers<T>& layers, std::vector<T> dout, std::span<T> dc,
                                std::span<const SoftWire<T>> wires = {}, std::span<T> dweights = {}) {
  for (int l = static_cast<int>(network.layers().size()) - 1; l >= 0; --l) {
    const Wiring& w = network.layers()[l];
    const std::vector<T>& in = layers[l];
    std::vector<T> din(in.size(), T{0});
    for (int g = 0; g < w.outputs(); ++g) {
      const auto number = static_cast<std::size_t>(network.gate_number(copy, l, g));
      const T a = pin_value(network, wires, l, 2 * g, in), b = pin_value(network, wires, l, 2 * g + 1, in), d = dout[g];
      const T* c = gates[number].c;
      pin_backward(network, wires, l, 2 * g, in, d * (c[1] + c[3] * b), din, dweights);
      pin_backward(network, wires, l, 2 * g + 1, in, d * (c[2] + c[3] * a), din, dweights);
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
