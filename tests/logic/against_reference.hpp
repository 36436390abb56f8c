// A gate network over lanes against the plain one in double, gates and wires alike.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "espalier/gate_network.hpp"
#include "logic/each_target.hpp"
#include "logic/gate_network_reference.hpp"

namespace espalier {

inline AlignedVector<float> drawn(std::size_t count, std::uint32_t stream, float scale = 1) {
  const Random random(8, Purpose::kData, stream);
  AlignedVector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = scale * random.normal(i);
  return values;
}

inline std::vector<double> in_double(std::span<const float> v) { return {v.begin(), v.end()}; }

// One copy of the plain network, one sample after the other; gradients are summed up.
struct PlainNetwork {
  PlainNetwork(const GateNetwork& n, std::span<const double> logits, double temperature, bool straight = false,
               int copy = 0)
      : network(n),
        gates(reference::soften_all(logits.first(n.gate_logits()), temperature, straight, n.parametrisation())),
        wires(reference::soften_wires(n, logits.subspan(n.gate_logits()), temperature, straight)),
        temperature(temperature),
        copy(copy),
        dc(4 * gates.size()),
        dweights(wires.size()) {}

  std::vector<double> outputs(std::vector<double> in) {
    layers = reference::network_forward<double>(network, gates, copy, std::move(in), wires);
    return layers.back();
  }
  std::vector<double> backward(std::vector<double> dout) {  // after outputs(); the gradients of the inputs
    return reference::network_backward<double>(network, gates, copy, layers, std::move(dout), dc, wires, dweights);
  }
  std::vector<double> dlogits() const {
    std::vector<double> all = reference::soften_all_backward<double>(gates, dc, temperature, network.parametrisation());
    const auto of_wires = reference::soften_wires_backward<double>(network, wires, dweights, temperature);
    all.insert(all.end(), of_wires.begin(), of_wires.end());
    return all;
  }

  const GateNetwork& network;
  std::vector<reference::SoftGate<double>> gates;
  std::vector<reference::SoftWire<double>> wires;
  double temperature;
  int copy;
  std::vector<double> dc, dweights;
  reference::Layers<double> layers;
};

// Values, gradients of inputs and of logits, on every vector width.
inline void expect_as_reference(const GateNetwork& n, std::span<const float> logits, const SoftChoice& choice,
                                int lanes, int copy = 0) {
  const auto all = static_cast<std::size_t>(lanes);
  const AlignedVector<float> in = drawn(static_cast<std::size_t>(n.inputs()) * all, 1);
  const AlignedVector<float> dout = drawn(static_cast<std::size_t>(n.outputs()) * all, 2);
  PlainNetwork plain(n, in_double(logits), choice.temperature, choice.straight, copy);
  std::vector<double> out(dout.size()), din(in.size());
  for (std::size_t lane = 0; lane < all; ++lane) {
    std::vector<double> one_in, one_dout;
    for (std::size_t i = lane; i < in.size(); i += all) one_in.push_back(in[i]);
    for (std::size_t i = lane; i < dout.size(); i += all) one_dout.push_back(dout[i]);
    const std::vector<double> one_out = plain.outputs(one_in), one_din = plain.backward(one_dout);
    for (std::size_t i = 0; i < one_out.size(); ++i) out[i * all + lane] = one_out[i];
    for (std::size_t i = 0; i < one_din.size(); ++i) din[i * all + lane] = one_din[i];
  }
  const std::vector<double> dlogits = plain.dlogits();
  for_each_target([&] {
    SoftGates soft(n);
    soft.choose(logits, choice);
    ASSERT_EQ(soft.coefficients().size(), n.coefficients());
    AlignedVector<float> rows = in, values(static_cast<std::size_t>(n.gates_per_copy()) * all);
    AlignedVector<float> scratch(static_cast<std::size_t>(n.scratch_rows()) * all), dc(n.coefficients());
    const auto outputs = n.forward_outputs(soft.coefficients(), lanes, rows, scratch, copy);
    GateTape tape;
    n.forward(soft.coefficients(), lanes, rows, values, tape, copy);
    const std::span<float> last = std::span(values).last(dout.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(last[i], out[i], 1e-5 * (1 + std::abs(out[i])));
      ASSERT_EQ(outputs[i], last[i]);
    }
    std::ranges::copy(dout, last.begin());
    AlignedVector<float> kept = values, added(in.size(), 1.0f), added_dc(dc.size());
    n.backward_adding(soft.coefficients(), lanes, rows, kept, scratch, added, added_dc, tape, copy);
    ASSERT_EQ(rows, in);
    n.backward(soft.coefficients(), lanes, rows, values, scratch, dc, tape, copy);
    double largest = 0;
    for (const double d : din) largest = std::max(largest, std::abs(d));
    for (std::size_t i = 0; i < din.size(); ++i) {
      ASSERT_NEAR(rows[i], din[i], 1e-5 * largest);
      ASSERT_NEAR(added[i], 1 + din[i], 1e-5 * largest);
    }
    for (const double d : dlogits) largest = std::max(largest, std::abs(d));
    for (const AlignedVector<float>* sums : {&dc, &added_dc}) {
      AlignedVector<float> gradients(logits.size());
      soft.backward(*sums, gradients);
      for (std::size_t i = 0; i < dlogits.size(); ++i) ASSERT_NEAR(gradients[i], dlogits[i], 1e-5 * largest);
    }
  });
}

// A noisy choice and what its gradients make of dc, in one array: to be the same for any pool.
inline AlignedVector<float> noisy_choice(const GateNetwork& n, std::span<const float> logits, std::span<const float> dc,
                                         const ThreadPool& pool) {
  SoftGates soft(n);
  soft.choose(logits, {.temperature = 0.8f, .gumbel_scale = 0.7f, .seed = 3, .step = 2}, pool);
  AlignedVector<float> all(logits.size());
  soft.backward(dc, all, pool);
  all.insert(all.end(), soft.coefficients().begin(), soft.coefficients().end());
  return all;
}

}  // namespace espalier
