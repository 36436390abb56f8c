// How the wires of a layer are drawn.

#include <fmt/format.h>

#include <numeric>
#include <span>
#include <utility>

#include "espalier/error.hpp"
#include "espalier/gate_network.hpp"

namespace espalier {
namespace {

Wiring from_pairs(int inputs, const std::vector<std::pair<int, int>>& pairs) {
  Wiring wiring{inputs, {}, {}};
  for (const auto& [a, b] : pairs) {
    wiring.a.push_back(a);
    wiring.b.push_back(b);
  }
  return wiring;
}

void check_sizes(std::string_view op, int inputs, int outputs) {
  if (inputs < 2 || outputs < 1)
    fail(op, fmt::format("a layer {} -> {}", inputs, outputs), "at least 2 inputs and 1 output");
  if (inputs > kMaxNetworkGates || outputs > kMaxNetworkGates)
    fail(op, fmt::format("a layer {} -> {}", inputs, outputs), fmt::format("at most {} of either", kMaxNetworkGates));
}

}  // namespace

Wiring unique_wiring(int inputs, int outputs, const Random& random) {
  check_sizes("unique wiring", inputs, outputs);
  if (2 * outputs < inputs)
    fail("unique wiring", fmt::format("a layer {} -> {}", inputs, outputs), "2 x outputs >= inputs",
         fmt::format("make the layer at least {} wide", (inputs + 1) / 2));
  const auto wanted = static_cast<std::size_t>(outputs);
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i + 1 < inputs; i += 2) pairs.emplace_back(i, i + 1);
  for (int i = 1; i + 1 < inputs && pairs.size() < wanted; i += 2) pairs.emplace_back(i, i + 1);
  for (int offset = 2; offset < inputs && pairs.size() < wanted; ++offset)
    for (int i = 0; i + offset < inputs; ++i) pairs.emplace_back(i, i + offset);
  if (pairs.size() < wanted)
    fail("unique wiring", fmt::format("a layer {} -> {}", inputs, outputs),
         fmt::format("at most {} outputs, the number of pairs of {} inputs", pairs.size(), inputs), "narrow the layer");
  pairs.resize(wanted);
  random.shuffle(std::span(pairs));
  return from_pairs(inputs, pairs);
}

Wiring random_wiring(int inputs, int outputs, const Random& random) {
  check_sizes("random wiring", inputs, outputs);
  std::vector<int> deck(inputs);
  std::iota(deck.begin(), deck.end(), 0);
  random.shuffle(std::span(deck));
  std::vector<int> wires;
  for (int i = 0; i < 2 * outputs; ++i) wires.push_back(deck[i % inputs]);
  // A second shuffle, of elements no shuffle of the deck uses, so that pairs are not neighbours in the deck.
  for (std::size_t i = wires.size(); i > 1; --i)
    std::swap(wires[i - 1], wires[random.choice((std::uint64_t{1} << 40) + i, i)]);
  std::vector<std::pair<int, int>> pairs;
  for (int g = 0; g < outputs; ++g) pairs.emplace_back(wires[2 * g], wires[2 * g + 1]);
  return from_pairs(inputs, pairs);
}

Wiring make_wiring(WiringKind kind, int inputs, int outputs, const Random& random) {
  return kind == WiringKind::kUnique ? unique_wiring(inputs, outputs, random) : random_wiring(inputs, outputs, random);
}

}  // namespace espalier
