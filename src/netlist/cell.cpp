#include "netlist/cell.hpp"

#include <fmt/format.h>

#include "espalier/error.hpp"

namespace espalier {

Netlist empty_cell(int channels) {
  if (channels < 1 || channels > 4096) fail("cell", fmt::format("{} channels", channels), "1 to 4096");
  Netlist netlist;
  netlist.name = "cell";
  for (int position = 0; position < kPatch; ++position)
    for (int channel = 0; channel < channels; ++channel) netlist.add_input(fmt::format("p{}c{}", position, channel));
  return netlist;
}

int cell_channels(const Netlist& netlist) {
  const std::size_t channels = netlist.outputs.size();
  if (channels == 0 || netlist.inputs.size() != kPatch * channels)
    fail("cell", fmt::format("a circuit of {} inputs and {} outputs", netlist.inputs.size(), channels),
         "9 x C inputs and C outputs", "only an automaton's cell can be run on a board");
  return static_cast<int>(channels);
}

std::vector<Net> append_layer(Netlist& netlist, const Wiring& wiring, std::span<const Gate> gates,
                              std::span<const Net> inputs) {
  if (gates.size() != wiring.a.size() || inputs.size() != static_cast<std::size_t>(wiring.inputs))
    fail("gate layer", fmt::format("{} gates on {} inputs", gates.size(), inputs.size()),
         fmt::format("{} gates on {} inputs", wiring.a.size(), wiring.inputs));
  std::vector<Net> outputs;
  outputs.reserve(gates.size());
  for (std::size_t g = 0; g < gates.size(); ++g) {
    const Net a = inputs[static_cast<std::size_t>(wiring.a[g])], b = inputs[static_cast<std::size_t>(wiring.b[g])];
    outputs.push_back(netlist.add_gate(gates[g], a, b));
  }
  return outputs;
}

namespace {

std::vector<Net> append_network(Netlist& netlist, const std::vector<Wiring>& wirings,
                                const std::vector<std::vector<Gate>>& gates, std::vector<Net> nets) {
  if (wirings.size() != gates.size())
    fail("gate network", fmt::format("{} layers of gates", gates.size()), fmt::format("{}", wirings.size()));
  for (std::size_t layer = 0; layer < wirings.size(); ++layer)
    nets = append_layer(netlist, wirings[layer], gates[layer], nets);
  return nets;
}

}  // namespace

Netlist cell_netlist(const AutomatonLogic& automaton) {
  const int C = automaton.channels;
  const std::size_t K = automaton.kernels.size();
  Netlist netlist = empty_cell(C);
  std::vector<Net> features;  // [C own channels, then kernel outputs: channel-major, output index, kernel]
  for (int c = 0; c < C; ++c) features.push_back(patch_net(4, c, C));
  for (int c = 0; c < C; ++c) {
    std::vector<Net> patch;
    for (int p = 0; p < kPatch; ++p) patch.push_back(patch_net(p, c, C));
    std::vector<std::vector<Net>> seen;  // [K][output]
    for (std::size_t k = 0; k < K; ++k)
      seen.push_back(append_network(netlist, automaton.perceive, automaton.kernels[k], patch));
    for (std::size_t o = 0; K && o < seen[0].size(); ++o)
      for (std::size_t k = 0; k < K; ++k) features.push_back(seen[k][o]);
  }
  const std::vector<Net> next = append_network(netlist, automaton.update, automaton.update_gates, features);
  if (next.size() != static_cast<std::size_t>(C))
    fail("cell", fmt::format("an update network with {} outputs", next.size()), fmt::format("{} channels", C));
  for (int c = 0; c < C; ++c) netlist.add_output(fmt::format("next{}", c), next[static_cast<std::size_t>(c)]);
  return netlist;
}

Netlist life_cell() {
  Netlist n = empty_cell(1);
  n.name = "life";
  struct Sum {
    Net low, high;
  };
  // Two half adders and an OR; a full adder of three bits in five gates.
  const auto full = [&](Net x, Net y, Net z) {
    const Net xy = n.add_gate(Gate::kXor, x, y), yz = n.add_gate(Gate::kXor, y, z);
    const Net either = n.add_gate(Gate::kOr, xy, yz), low = n.add_gate(Gate::kXor, xy, z);
    return Sum{low, n.add_gate(Gate::kXor, either, low)};
  };
  const auto half = [&](Net x, Net y) { return Sum{n.add_gate(Gate::kXor, x, y), n.add_gate(Gate::kAnd, x, y)}; };
  const Sum top = full(0, 1, 2), bottom = full(6, 7, 8), sides = half(3, 5);
  const Sum ones = full(top.low, bottom.low, sides.low);     // low: bit 0 of the count
  const Sum twos = full(top.high, bottom.high, sides.high);  // twos without the carry of the ones
  // The count is 2 or 3 exactly when one single "two" stands in (twos.low, twos.high, ones.high).
  const Net one_two = n.add_gate(Gate::kXor, twos.low, ones.high);
  const Net two_or_three = n.add_gate(Gate::kAAndNotB, one_two, twos.high);
  const Net odd_or_alive = n.add_gate(Gate::kOr, ones.low, 4);
  n.add_output("next0", n.add_gate(Gate::kAnd, two_or_three, odd_or_alive));
  return n;
}

Netlist parity_cell(int channels) {
  Netlist n = empty_cell(channels);
  n.name = "parity";
  std::vector<Net> next;
  for (int c = 0; c < channels; ++c)
    next.push_back(n.add_gate(Gate::kXnor, patch_net(c % kPatch, c, channels),
                              patch_net((c + 3) % kPatch, (c + 1) % channels, channels)));
  for (int c = 0; c < channels; ++c) n.add_output(fmt::format("next{}", c), next[static_cast<std::size_t>(c)]);
  return n;
}

}  // namespace espalier
