#include "logic/soft_wires.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/arrays.hpp"
#include "espalier/error.hpp"
#include "logic/harden.hpp"
#include "logic/wire_kernels.hpp"

namespace espalier {
namespace {

constexpr std::size_t kPinChunk = 512;
constexpr double kForwardNs = 3, kBackwardNs = 2;  // per candidate

// p = softmax(logits / temperature) of some pins, each summed up in the order of its candidates.
void softmax_pins(std::size_t pins, std::size_t candidates, const float* logits, float inverse_temperature, float* p) {
  for (std::size_t at = 0; at < pins * candidates; at += candidates) {
    const float top = *std::max_element(logits + at, logits + at + candidates);
    for (std::size_t m = at; m < at + candidates; ++m) p[m] = (logits[m] - top) * inverse_temperature;
  }
  exp_in_place(p, pins * candidates);
  for (std::size_t at = 0; at < pins * candidates; at += candidates) {
    float sum = 0;
    for (std::size_t m = at; m < at + candidates; ++m) sum += p[m];
    for (std::size_t m = at; m < at + candidates; ++m) p[m] /= sum;
  }
}

// visit(first, end) of the candidates of some pins, in parallel.
template <class Visit>
void each_chunk(const WirePlan& plan, double candidate_ns, const ThreadPool& pool, Visit visit) {
  const auto candidates = static_cast<std::size_t>(plan.candidates);
  pool.for_chunks(plan.row.size() / candidates, kPinChunk, candidate_ns * static_cast<double>(candidates),
                  [&](Chunk chunk) { visit(chunk.begin * candidates, chunk.end * candidates); });
}

void check_wire_logits(const char* op, const GateNetwork& network, std::span<const float> wires) {
  if (wires.size() != static_cast<std::size_t>(network.wires()))
    fail(op, fmt::format("{} logits of wires", wires.size()), fmt::format("{}, those of the network", network.wires()));
  if (!all_finite(wires)) fail(op, "a logit that is not finite", "trained logits");
}

}  // namespace

void choose_wires(const WirePlan& plan, const float* logits, float inverse_temperature, bool straight, float* p,
                  float* weights, const ThreadPool& pool) {
  if (!plan.choose()) return;
  logits += plan.logit_offset;
  p += plan.logit_offset;
  weights += plan.weight_offset;
  const auto candidates = static_cast<std::size_t>(plan.candidates);
  each_chunk(plan, kForwardNs, pool, [&](std::size_t begin, std::size_t end) {
    softmax_pins((end - begin) / candidates, candidates, logits + begin, inverse_temperature, p + begin);
    for (std::size_t m = begin; m < end; ++m) weights[plan.place[m]] = straight ? 0 : p[m];
    for (std::size_t at = begin; at < end && straight; at += candidates)
      weights[plan.place[static_cast<std::size_t>(std::max_element(p + at, p + at + candidates) - p)]] = 1;
  });
}

void choose_wires_backward(const WirePlan& plan, const float* p, const float* dweights, float inverse_temperature,
                           float* dlogits, const ThreadPool& pool) {
  if (!plan.choose()) return;
  p += plan.logit_offset;
  dlogits += plan.logit_offset;
  dweights += plan.weight_offset;
  const auto candidates = static_cast<std::size_t>(plan.candidates);
  each_chunk(plan, kBackwardNs, pool, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += candidates) {
      // Counted from that of the likeliest: where one candidate has nearly all of p, a gradient less their mean would
      // otherwise be a small difference of large numbers.
      const auto likeliest = static_cast<std::size_t>(std::max_element(p + at, p + at + candidates) - p);
      const float base = dweights[plan.place[likeliest]];
      float mean = 0;
      for (std::size_t m = at; m < at + candidates; ++m) mean += p[m] * (dweights[plan.place[m]] - base);
      for (std::size_t m = at; m < at + candidates; ++m)
        dlogits[m] += p[m] * ((dweights[plan.place[m]] - base) - mean) * inverse_temperature;
    }
  });
}

std::vector<Wiring> likeliest_wiring(const GateNetwork& network, std::span<const float> wires) {
  check_wire_logits("likeliest wires", network, wires);
  std::vector<Wiring> layers = network.layers();
  for (Wiring& layer : layers) {
    const auto candidates = static_cast<std::size_t>(layer.choices());
    for (std::size_t at = 0; at < layer.candidates.size(); at += candidates, wires = wires.subspan(candidates)) {
      const auto own = wires.first(candidates);
      const auto chosen = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
      const std::size_t pin = at / candidates;
      (pin % 2 ? layer.b : layer.a)[pin / 2] = layer.candidates[at + chosen];
    }
    layer.candidates.clear();
  }
  return layers;
}

double mean_wire_entropy(const GateNetwork& network, std::span<const float> wires) {
  check_wire_logits("entropy", network, wires);
  AlignedVector<float> p(wires.size());
  double sum = 0, pins = 0;  // in nats
  for (const LayerPlan& plan : network.plans()) {
    const auto candidates = static_cast<std::size_t>(plan.wires.candidates), first = plan.wires.logit_offset;
    softmax_pins(plan.wires.row.size() / candidates, candidates, wires.data() + first, 1, p.data() + first);
    for (std::size_t at = first; at < first + plan.wires.row.size(); at += candidates, ++pins) {
      double entropy = 0;
      for (std::size_t m = at; m < at + candidates; ++m)
        if (p[m] > 0) entropy -= static_cast<double>(p[m]) * std::log(static_cast<double>(p[m]));
      sum += entropy;
    }
  }
  return pins > 0 ? sum / pins / std::numbers::ln2 : 0;
}

}  // namespace espalier
