#include "synth/channels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "netlist/cell.hpp"
#include "synth/passes.hpp"

namespace espalier {

std::vector<int> needed_channels(const Netlist& cell, int visible) {
  const int C = cell_channels(cell);
  if (visible < 1 || visible > C) fail("channels", fmt::format("{} visible ones", visible), fmt::format("1 to {}", C));
  std::vector<bool> needed(static_cast<std::size_t>(C));
  std::fill_n(needed.begin(), visible, true);
  // To a fixed point: the inputs in the cones of the channels needed so far name further channels.
  for (bool grown = true; grown;) {
    grown = false;
    Netlist part = cell;
    part.outputs.clear();
    for (int c = 0; c < C; ++c)
      if (needed[c]) part.outputs.push_back(cell.outputs[c]);
    const std::vector<bool> live = live_nets(part);
    for (std::size_t i = 0; i < cell.inputs.size(); ++i)
      if (live[i] && !needed[i % C]) grown = needed[i % C] = true;
  }
  std::vector<int> kept;
  for (int c = 0; c < C; ++c)
    if (needed[c]) kept.push_back(c);
  return kept;
}

Netlist keep_channels(const Netlist& cell, const std::vector<int>& kept) {
  const int C = cell_channels(cell), K = static_cast<int>(kept.size());
  Netlist part = cell;
  part.outputs.clear();
  for (const int c : kept) part.outputs.push_back(cell.outputs[c]);
  part = remove_dead(part);
  const std::vector<bool> live = live_nets(part);
  Netlist small;
  small.name = cell.name;
  std::vector<Net> now(part.nets(), kNoNet);
  for (int p = 0; p < kPatch; ++p)
    for (int k = 0; k < K; ++k) {
      const Net old = patch_net(p, kept[k], C);
      now[old] = small.add_input(cell.inputs[old]);
    }
  for (std::size_t i = 0; i < part.inputs.size(); ++i)
    if (live[i] && now[i] == kNoNet)
      fail("channels", fmt::format("input {}, which a kept channel reads", part.inputs[i]), "only kept channels");
  for (std::size_t g = 0; g < part.gates.size(); ++g) {
    const auto& [gate, a, b] = part.gates[g];
    const Net x = reads_a(gate) ? now[a] : reads_b(gate) ? now[b] : 0, y = reads_b(gate) ? now[b] : x;
    now[part.net_of_gate(g)] = small.add_gate(gate, x, y);
  }
  for (const NetlistOutput& output : part.outputs) small.add_output(output.name, now[output.net]);
  return small;
}

}  // namespace espalier
