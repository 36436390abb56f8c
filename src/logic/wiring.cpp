// How the wires of a layer are drawn.

#include <fmt/format.h>

#include <algorithm>
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

Wiring with_candidates(Wiring wiring, int candidates, const Random& random) {
  if (wiring.a.size() != wiring.b.size())
    fail("candidates", fmt::format("{} and {} wires", wiring.a.size(), wiring.b.size()), "two wires per gate");
  if (candidates < 1 || candidates > kMaxCandidates || candidates > wiring.inputs)
    fail("candidates", fmt::format("{} for each input of a gate", candidates),
         fmt::format("1 to {}", std::min(kMaxCandidates, wiring.inputs)),
         fmt::format("the layer has {} inputs to choose from", wiring.inputs));
  if (wiring.a.size() > static_cast<std::size_t>(kMaxNetworkWires) / 2 / static_cast<std::size_t>(candidates))
    fail("candidates", fmt::format("{} for each input of {} gates", candidates, wiring.a.size()),
         fmt::format("at most {} in all", kMaxNetworkWires));
  wiring.candidates.clear();
  if (candidates == 1) return wiring;
  const auto others = static_cast<std::uint64_t>(candidates - 1), left = static_cast<std::uint64_t>(wiring.inputs - 1);
  for (std::size_t pin = 0; pin < 2 * wiring.a.size(); ++pin) {
    const std::int32_t wire = pin % 2 ? wiring.b[pin / 2] : wiring.a[pin / 2];
    const std::size_t first = wiring.candidates.size() + 1;
    wiring.candidates.push_back(wire);
    // Floyd's sampling of different ones: the next is drawn from one more of those that are left than the one before,
    // and is the newcomer when the draw was taken already.
    for (std::uint64_t i = 0; i < others; ++i) {
      const std::uint64_t most = left - others + i;
      const auto input = [&](std::uint64_t of_left) {
        const auto at = static_cast<std::int32_t>(of_left);
        return at < wire ? at : at + 1;
      };
      const std::int32_t drawn = input(random.choice(pin * others + i, most + 1));
      const bool taken = std::find(wiring.candidates.begin() + static_cast<std::ptrdiff_t>(first),
                                   wiring.candidates.end(), drawn) != wiring.candidates.end();
      wiring.candidates.push_back(taken ? input(most) : drawn);
    }
  }
  return wiring;
}

}  // namespace espalier
