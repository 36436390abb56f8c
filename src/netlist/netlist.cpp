#include "espalier/netlist.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"

namespace espalier {

void Netlist::refuse_net(Net net) const {
  fail("netlist", fmt::format("net {} as that of a gate", net), fmt::format("{} to {}", inputs.size(), nets()));
}

Net Netlist::add_input(std::string input_name) {
  if (!gates.empty())
    fail("netlist", fmt::format("input {} after a gate", inputs.size()), "all inputs before the first gate");
  inputs.push_back(std::move(input_name));
  return static_cast<Net>(inputs.size() - 1);
}

Net Netlist::add_gate(Gate gate, Net a, Net b) {
  if (is_constant(gate))
    a = b = 0;
  else if (!reads_a(gate))
    a = b;
  else if (!reads_b(gate))
    b = a;
  const std::size_t net = nets();
  if (gate_bits(gate) >= kGates || net >= kNoNet || (std::max(a, b) >= net && !is_constant(gate)))
    fail("netlist", fmt::format("gate {} of type {} reading nets {} and {}", gates.size(), gate_bits(gate), a, b),
         fmt::format("a type below {} and nets below {}", kGates, std::min<std::size_t>(net, kNoNet)));
  gates.push_back({gate, a, b});
  return static_cast<Net>(net);
}

void Netlist::add_output(std::string output_name, Net net) {
  if (net >= nets())
    fail("netlist", fmt::format("output {} from net {}", outputs.size(), net), fmt::format("a net below {}", nets()));
  outputs.push_back({std::move(output_name), net});
}

Netlist without_gates(const Netlist& netlist) {
  Netlist copy;
  copy.name = netlist.name;
  copy.inputs = netlist.inputs;
  copy.outputs = netlist.outputs;
  return copy;
}

namespace {

void check_types_and_outputs(const Netlist& netlist, std::string_view what) {
  if (netlist.nets() >= kNoNet) fail(what, fmt::format("{} nets", netlist.nets()), fmt::format("below {}", kNoNet));
  for (std::size_t g = 0; g < netlist.gates.size(); ++g)
    if (gate_bits(netlist.gates[g].gate) >= kGates)
      fail(what, fmt::format("gate {} of type {}", g, gate_bits(netlist.gates[g].gate)), "a type from 0 to 15");
  for (std::size_t o = 0; o < netlist.outputs.size(); ++o)
    if (netlist.outputs[o].net >= netlist.nets())
      fail(what, fmt::format("output {} from net {}", o, netlist.outputs[o].net),
           fmt::format("a net below {}", netlist.nets()));
}

}  // namespace

void check_netlist(const Netlist& netlist, std::string_view what) {
  check_types_and_outputs(netlist, what);
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    const Net own = netlist.net_of_gate(g);
    if (std::max(a, b) >= own && !is_constant(gate))
      fail(what, fmt::format("gate {} (net {}) reading net {}", g, own, std::max(a, b)),
           "an input or the output of an earlier gate", "list gates in topological order, without cycles");
  }
}

// Depth-first with an explicit stack: circuits may be deeper than the machine's.
Netlist sort_netlist(const Netlist& unsorted, const std::string& what, bool only_live,
                     const std::function<std::string(std::size_t gate)>& place) {
  check_types_and_outputs(unsorted, what);
  Netlist sorted = without_gates(unsorted);
  enum State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(unsorted.nets(), kNew);
  std::vector<Net> moved(unsorted.nets() + 1), stack;
  for (Net net = 0; net < unsorted.inputs.size(); ++net) {
    moved[net] = net;
    state[net] = kDone;
  }
  const auto place_of = [&](std::size_t gate) { return place ? place(gate) : fmt::format("gate {}", gate); };
  const auto need = [&](Net reader, Net net) {
    const std::size_t gate = reader - unsorted.inputs.size();
    if (net >= unsorted.nets())
      fail(what, fmt::format("{} reading net {}", place_of(gate), net), fmt::format("a net below {}", unsorted.nets()));
    if (state[net] == kNew) stack.push_back(net);
    if (state[net] == kOpen)
      fail(what, fmt::format("a cycle through {}", place_of(gate)), "a combinational circuit",
           "break the loop; latches are not supported");
  };
  const auto finish = [&](Net root) {
    stack.assign(1, root);
    while (!stack.empty()) {
      const Net net = stack.back();
      if (state[net] == kDone) {
        stack.pop_back();
        continue;
      }
      const auto& [gate, a, b] = unsorted.gate_of_net(net);
      if (state[net] == kNew) {
        state[net] = kOpen;
        if (reads_b(gate)) need(net, b);
        if (reads_a(gate)) need(net, a);
      } else {
        state[net] = kDone;
        moved[net] = sorted.add_gate(gate, reads_a(gate) ? moved[a] : 0, reads_b(gate) ? moved[b] : 0);
      }
    }
  };
  if (!only_live)
    for (std::size_t g = 0; g < unsorted.gates.size(); ++g) finish(unsorted.net_of_gate(g));
  for (NetlistOutput& output : sorted.outputs) {
    if (state[output.net] != kDone) finish(output.net);
    output.net = moved[output.net];
  }
  return sorted;
}

Net CleanBuilder::add(Gate gate, Net a, Net b) {
  const std::size_t own = inputs_ + gates_.size();
  const auto known = [&](Net net) { return net < own || net >= kFalse; };
  if (gate_bits(gate) >= kGates || own >= kFalse || (reads_a(gate) && !known(a)) || (reads_b(gate) && !known(b)))
    fail("netlist", fmt::format("type {} on nets {} and {}", gate_bits(gate), a, b),
         fmt::format("a type below {} and nets below {}", kGates, own));
  if (!reads_a(gate)) a = b;
  if (!reads_b(gate)) b = a;
  if (is_constant(gate)) {
  } else if (a >= kFalse) {
    gate = fix_a(gate, a == kTrue);
    a = b;
    if (b >= kFalse) gate = fix_a(gate, b == kTrue);
  } else if (b >= kFalse) {
    gate = fix_b(gate, b == kTrue);
  } else if (a == b) {
    gate = merge_inputs(gate);
  }
  switch (gate) {
    case Gate::kFalse: return kFalse;
    case Gate::kTrue: return kTrue;
    case Gate::kA: return a;
    case Gate::kNotA: b = a; break;
    default: break;
  }
  gates_.push_back({gate, a, b});
  return static_cast<Net>(own);
}

Netlist CleanBuilder::finish(Netlist result) const {
  if (result.inputs.size() != inputs_ || !result.gates.empty())
    fail("netlist", fmt::format("{} inputs and {} gates", result.inputs.size(), result.gates.size()),
         fmt::format("the names of {} inputs, and no gates", inputs_));
  const std::size_t nets = inputs_ + gates_.size();
  std::vector<bool> live(nets);
  for (const NetlistOutput& output : result.outputs) {
    if (output.net >= nets && output.net < kFalse)
      fail("netlist", fmt::format("an output from net {}", output.net), fmt::format("a net below {}", nets));
    if (output.net < kFalse) live[output.net] = true;
  }
  for (std::size_t g = gates_.size(); g-- > 0;)
    if (live[inputs_ + g]) live[gates_[g].a] = live[gates_[g].b] = true;
  std::vector<Net> moved(nets);
  for (std::size_t net = 0; net < inputs_; ++net) moved[net] = static_cast<Net>(net);
  for (std::size_t g = 0; g < gates_.size(); ++g)
    if (live[inputs_ + g]) moved[inputs_ + g] = result.add_gate(gates_[g].gate, moved[gates_[g].a], moved[gates_[g].b]);
  Net constants[2] = {kNoNet, kNoNet};
  for (NetlistOutput& output : result.outputs) {
    if (output.net < kFalse) {
      output.net = moved[output.net];
    } else {
      Net& shared = constants[output.net == kTrue];
      if (shared == kNoNet) shared = result.add_constant(output.net == kTrue);
      output.net = shared;
    }
  }
  return result;
}

Netlist clean(const Netlist& netlist) {
  check_netlist(netlist, "clean");
  CleanBuilder builder(netlist.inputs.size());
  std::vector<Net> now(netlist.nets() + 1);  // one to spare: constants may name net 0 of none
  for (Net net = 0; net < netlist.inputs.size(); ++net) now[net] = net;
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    now[netlist.net_of_gate(g)] = is_constant(gate) ? builder.add(gate, 0, 0) : builder.add(gate, now[a], now[b]);
  }
  Netlist shape = without_gates(netlist);
  for (NetlistOutput& output : shape.outputs) output.net = now[output.net];
  return builder.finish(std::move(shape));
}

std::vector<bool> live_nets(const Netlist& netlist) {
  check_netlist(netlist, "live nets");
  std::vector<bool> live(netlist.nets());
  for (const NetlistOutput& output : netlist.outputs) live[output.net] = true;
  for (std::size_t g = netlist.gates.size(); g-- > 0;) {
    if (!live[netlist.net_of_gate(g)]) continue;
    const NetlistGate& gate = netlist.gates[g];
    if (reads_a(gate.gate)) live[gate.a] = true;
    if (reads_b(gate.gate)) live[gate.b] = true;
  }
  return live;
}

NetlistCounts count_netlist(const Netlist& netlist) {
  const std::vector<bool> live = live_nets(netlist);
  NetlistCounts counts;
  counts.inputs = netlist.inputs.size();
  counts.outputs = netlist.outputs.size();
  counts.raw = netlist.gates.size();
  std::vector<std::size_t> depth(netlist.nets());
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, a, b] = netlist.gates[g];
    ++counts.histogram[gate_bits(gate)];
    counts.constants += is_constant(gate);
    counts.active += !is_wire(gate) && !is_constant(gate);
    const std::size_t below = std::max(reads_a(gate) ? depth[a] : 0, reads_b(gate) ? depth[b] : 0);
    depth[netlist.net_of_gate(g)] = below + (is_wire(gate) || is_constant(gate) ? 0 : 1);
  }
  for (const NetlistOutput& output : netlist.outputs) counts.depth = std::max(counts.depth, depth[output.net]);
  counts.live_inputs = static_cast<std::size_t>(
      std::count(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(netlist.inputs.size()), true));
  return counts;
}

std::vector<std::uint64_t> evaluate_words(const Netlist& netlist, std::span<const std::uint64_t> inputs) {
  if (inputs.size() != netlist.inputs.size())
    fail("evaluate", fmt::format("{} inputs", inputs.size()), fmt::format("{}", netlist.inputs.size()));
  check_netlist(netlist, "evaluate");
  std::vector<std::uint64_t> words(netlist.nets());
  std::copy(inputs.begin(), inputs.end(), words.begin());
  std::size_t net = inputs.size();
  for (const NetlistGate& g : netlist.gates) {
    words[net] =
        is_constant(g.gate) ? apply_gate<std::uint64_t>(g.gate, 0, 0) : apply_gate(g.gate, words[g.a], words[g.b]);
    ++net;
  }
  return words;
}

std::vector<bool> evaluate(const Netlist& netlist, const std::vector<bool>& inputs) {
  const std::vector<std::uint64_t> words(inputs.begin(), inputs.end());
  const std::vector<std::uint64_t> nets = evaluate_words(netlist, words);
  std::vector<bool> outputs;
  for (const NetlistOutput& output : netlist.outputs) outputs.push_back(nets[output.net] & 1);
  return outputs;
}

std::uint64_t counting_word(std::size_t input, std::uint64_t block) {
  constexpr std::uint64_t kLow[6] = {0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
                                     0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000};
  if (input < 6) return kLow[input];
  return input - 6 < 64 && (block >> (input - 6) & 1) ? ~std::uint64_t{0} : 0;
}

}  // namespace espalier
