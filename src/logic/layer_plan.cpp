#include "logic/layer_plan.hpp"

#include <numeric>

namespace espalier {
namespace {

WirePlan plan_wires(const Wiring& wiring) {
  WirePlan plan;
  plan.candidates = wiring.choices();
  plan.row = wiring.candidates;
  const std::size_t count = plan.row.size();
  plan.first.assign(static_cast<std::size_t>(wiring.inputs) + 1, 0);
  for (const std::int32_t row : plan.row) ++plan.first[static_cast<std::size_t>(row) + 1];
  std::partial_sum(plan.first.begin(), plan.first.end(), plan.first.begin());
  std::vector<std::int32_t> next(plan.first.begin(), plan.first.end() - 1);
  plan.place.resize(count);
  plan.pin.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t place = next[static_cast<std::size_t>(plan.row[i])]++;
    plan.place[i] = place;
    plan.pin[static_cast<std::size_t>(place)] =
        static_cast<std::int32_t>(i / static_cast<std::size_t>(plan.candidates));
  }
  plan.weights = (count + 3) / 4 * 4;
  return plan;
}

}  // namespace

LayerPlan plan_layer(const Wiring& wiring) {
  LayerPlan plan;
  plan.inputs = wiring.inputs;
  plan.outputs = wiring.outputs();
  const int gates = wiring.outputs();
  if (!wiring.candidates.empty()) {
    plan.wires = plan_wires(wiring);
    plan.gate.resize(static_cast<std::size_t>(gates));
    std::iota(plan.gate.begin(), plan.gate.end(), 0);
    return plan;
  }

  // step[r]: the gate that reads (r, r+1), if any; a second gate with the same pair shares its rows.
  std::vector<int> step(wiring.inputs, -1);
  std::vector<char> placed(gates, 0), owned(wiring.inputs, 0);
  for (int g = 0; g < gates; ++g)
    if (wiring.b[g] == wiring.a[g] + 1 && step[wiring.a[g]] < 0) step[wiring.a[g]] = g;

  const auto place = [&](int g) {
    plan.a.push_back(wiring.a[g]);
    plan.b.push_back(wiring.b[g]);
    plan.gate.push_back(g);
    placed[g] = 1;
  };
  const auto starts_chain = [&](int row) { return step[row] >= 0 && row + 1 < wiring.inputs && step[row + 1] >= 0; };

  for (int row = 0; row < wiring.inputs; ++row) {
    if (!starts_chain(row)) continue;
    LayerPlan::Chain chain{row, static_cast<std::int32_t>(plan.gate.size()), 0};
    for (; row < wiring.inputs && step[row] >= 0; ++row, ++chain.count) {
      place(step[row]);
      owned[row] = 1;
    }
    owned[row] = 1;
    plan.chains.push_back(chain);
  }
  plan.pairs_first = static_cast<std::int32_t>(plan.gate.size());
  for (int g = 0; g < gates; ++g) {
    const int a = wiring.a[g], b = wiring.b[g];
    if (placed[g] || a == b || owned[a] || owned[b]) continue;
    place(g);
    owned[a] = owned[b] = 1;
  }
  plan.shared_first = static_cast<std::int32_t>(plan.gate.size());
  for (int g = 0; g < gates; ++g)
    if (!placed[g]) place(g);
  for (int row = 0; row < wiring.inputs; ++row)
    if (!owned[row]) plan.unowned_rows.push_back(row);

  std::vector<std::int32_t> shared(wiring.inputs, -1);
  const auto share = [&](int row) {
    if (shared[row] < 0) {
      shared[row] = static_cast<std::int32_t>(plan.shared_rows.size());
      plan.shared_rows.push_back(row);
    }
    return shared[row];
  };
  for (int g = plan.shared_first; g < gates; ++g) {
    plan.shared_a.push_back(share(plan.a[g]));
    plan.shared_b.push_back(share(plan.b[g]));
  }
  return plan;
}

}  // namespace espalier
