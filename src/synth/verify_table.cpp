#include "synth/verify_table.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace espalier {
namespace {

constexpr std::size_t kWords = 16;  // words of one net evaluated together
using Row = std::array<std::uint64_t, kWords>;

std::vector<Net> cone_of(const Netlist& n, Net x, Net y) {
  std::vector<bool> seen(n.nets());
  std::vector<Net> cone;
  const auto visit = [&](Net net) {
    if (!seen[net]) cone.push_back(net);
    seen[net] = true;
  };
  visit(x);
  visit(y);
  for (std::size_t i = 0; i < cone.size(); ++i) {
    if (n.is_input(cone[i])) continue;
    const NetlistGate gate = n.gate_of_net(cone[i]);
    if (reads_a(gate.gate)) visit(gate.a);
    if (reads_b(gate.gate)) visit(gate.b);
  }
  std::sort(cone.begin(), cone.end());
  return cone;
}

}  // namespace

std::vector<Net> support_of(const Netlist& n, Net x, Net y) {
  std::vector<Net> cone = cone_of(n, x, y);
  cone.erase(std::find_if(cone.begin(), cone.end(), [&](Net net) { return !n.is_input(net); }), cone.end());
  return cone;
}

std::optional<std::vector<bool>> first_difference(const Netlist& n, Net x, Net y, const std::vector<Net>& support) {
  struct Step {
    Gate gate;
    std::uint32_t a, b;
  };
  const std::vector<Net> cone = cone_of(n, x, y);  // inputs first
  std::vector<std::uint32_t> place(n.nets());
  std::vector<Step> steps;
  for (std::uint32_t i = 0; i < cone.size(); ++i) {
    place[cone[i]] = i;
    if (n.is_input(cone[i])) continue;
    const NetlistGate& g = n.gate_of_net(cone[i]);
    steps.push_back({g.gate, is_constant(g.gate) ? 0 : place[g.a], is_constant(g.gate) ? 0 : place[g.b]});
  }
  std::vector<Row> rows(cone.size());
  const std::uint64_t blocks = support.size() > 6 ? std::uint64_t{1} << (support.size() - 6) : 1;
  for (std::uint64_t block = 0; block < blocks; block += kWords) {
    for (std::size_t i = 0; i < support.size(); ++i)
      for (std::size_t w = 0; w < kWords; ++w) rows[i][w] = counting_word(i, block + w);
    Row* out = rows.data() + support.size();
    for (const Step& step : steps) {
      const Row &a = rows[step.a], &b = rows[step.b];
      for (std::size_t w = 0; w < kWords; ++w) (*out)[w] = apply_gate(step.gate, a[w], b[w]);
      ++out;
    }
    for (std::size_t w = 0; w < kWords; ++w) {
      const std::uint64_t different = rows[place[x]][w] ^ rows[place[y]][w];
      if (!different) continue;
      std::vector<bool> pattern(n.inputs.size());
      for (std::size_t i = 0; i < support.size(); ++i)
        pattern[support[i]] = counting_word(i, block + w) >> std::countr_zero(different) & 1;
      return pattern;
    }
  }
  return std::nullopt;
}

}  // namespace espalier
