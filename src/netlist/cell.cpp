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

}  // namespace espalier
