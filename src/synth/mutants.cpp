#include "synth/mutants.hpp"

#include <algorithm>
#include <queue>

#include "espalier/error.hpp"

namespace espalier {
namespace {

Gate difference(Gate f, Gate g) { return gate_of_bits(gate_bits(f) ^ gate_bits(g)); }

// The moves of each place, in the order of the list.
class MovesByPlace {
 public:
  MovesByPlace(const Netlist& circuit, std::span<const Move> moves)
      : first_(3 * circuit.gates.size() + circuit.outputs.size(), kNone), next_(moves.size(), kNone) {
    outputs_ = static_cast<std::uint32_t>(3 * circuit.gates.size());
    for (std::size_t m = moves.size(); m-- > 0;) {
      std::uint32_t& first = first_[at(moves[m].at, moves[m].place)];
      next_[m] = first;
      first = static_cast<std::uint32_t>(m);
    }
  }
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t first(Move::At where, std::size_t place) const {
    return first_[at(where, static_cast<std::uint32_t>(place))];
  }
  std::uint32_t next(std::uint32_t move) const { return next_[move]; }

 private:
  std::size_t at(Move::At where, std::uint32_t place) const {
    return where == Move::At::kOutput ? outputs_ + place : 3 * place + static_cast<std::uint32_t>(where);
  }
  std::uint32_t outputs_;
  std::vector<std::uint32_t> first_, next_;
};

}  // namespace

std::vector<Move> MutantGroup::of(std::size_t lane) const {
  std::vector<Move> result;
  for (std::size_t m = 0; m < moves.size(); ++m)
    if (has(m, lane)) result.push_back(moves[m]);
  return result;
}

// --- One copy.

Netlist mutated(const Netlist& parent, std::span<const Move> moves) {
  const MovesByPlace by_place(parent, moves);
  Netlist result = without_gates(parent);
  std::vector<Net> to(parent.nets());
  for (Net i = 0; i < parent.inputs.size(); ++i) to[i] = i;
  const auto pin = [&](Move::At at, std::size_t place, Net net) {
    Net v = to[net];
    for (std::uint32_t m = by_place.first(at, place); m != MovesByPlace::kNone; m = by_place.next(m))
      v = result.add_gate(moves[m].gate, v, to[moves[m].other]);
    return v;
  };
  for (std::size_t g = 0; g < parent.gates.size(); ++g) {
    const NetlistGate& gate = parent.gates[g];
    const std::uint32_t change = by_place.first(Move::At::kFunction, g);
    const Net a = pin(Move::At::kPinA, g, gate.a), b = pin(Move::At::kPinB, g, gate.b);
    to[parent.net_of_gate(g)] = result.add_gate(change == MovesByPlace::kNone ? gate.gate : moves[change].gate, a, b);
  }
  for (std::size_t o = 0; o < parent.outputs.size(); ++o)
    result.outputs[o].net = pin(Move::At::kOutput, o, parent.outputs[o].net);
  return result;
}

// --- All copies.

Netlist lane_circuit(const Netlist& parent, const MutantGroup& group, std::span<const std::uint32_t> used) {
  std::vector<Move> moves;
  for (const std::uint32_t m : used) moves.push_back(group.moves[m]);
  const MovesByPlace by_place(parent, moves);
  Netlist result;
  result.name = parent.name;
  result.inputs = parent.inputs;
  result.inputs.resize(parent.inputs.size() + moves.size(), "mask");
  result.gates.reserve(parent.gates.size() + 3 * moves.size());
  std::vector<Net> to(parent.nets());
  for (Net i = 0; i < parent.inputs.size(); ++i) to[i] = i;
  const auto push = [&](Gate gate, Net a, Net b) {
    result.gates.push_back({gate, a, b});
    return static_cast<Net>(result.nets() - 1);
  };
  // v ^ (mask & h(a, b)): in the lanes of the mask v becomes what differs from it by h.
  const auto change = [&](Net v, std::uint32_t move, Gate h, Net a, Net b) {
    const Net mask = static_cast<Net>(parent.inputs.size() + move);
    if (h == Gate::kFalse) return v;
    if (h == Gate::kTrue) return push(Gate::kXor, v, mask);
    return push(Gate::kXor, v, push(Gate::kAnd, mask, push(h, a, b)));
  };
  const auto pin = [&](Move::At at, std::size_t place, Net net) {
    Net v = to[net];
    for (std::uint32_t m = by_place.first(at, place); m != MovesByPlace::kNone; m = by_place.next(m))
      v = change(v, m, difference(moves[m].gate, Gate::kA), v, to[moves[m].other]);
    return v;
  };
  for (std::size_t g = 0; g < parent.gates.size(); ++g) {
    const NetlistGate& gate = parent.gates[g];
    const Net a = pin(Move::At::kPinA, g, gate.a), b = pin(Move::At::kPinB, g, gate.b);
    Net v = push(gate.gate, a, b);
    for (std::uint32_t m = by_place.first(Move::At::kFunction, g); m != MovesByPlace::kNone; m = by_place.next(m))
      v = change(v, m, difference(moves[m].gate, gate.gate), a, b);
    to[parent.net_of_gate(g)] = v;
  }
  for (std::size_t o = 0; o < parent.outputs.size(); ++o)
    result.outputs.push_back({parent.outputs[o].name, pin(Move::At::kOutput, o, parent.outputs[o].net)});
  return result;
}

// --- Order.

Netlist shuffled(const Netlist& circuit, const Random& random) {
  const std::size_t inputs = circuit.inputs.size(), gates = circuit.gates.size();
  std::vector<std::uint32_t> waits(gates), first(gates + 1), readers;
  const auto each_read = [&](auto visit) {
    for (std::uint32_t g = 0; g < gates; ++g)
      for (const Net net : {circuit.gates[g].a, circuit.gates[g].b})
        if (net >= inputs) visit(g, static_cast<std::uint32_t>(net - inputs));
  };
  each_read([&](std::uint32_t g, std::uint32_t source) { ++waits[g], ++first[source + 1]; });
  for (std::size_t g = 0; g < gates; ++g) first[g + 1] += first[g];
  readers.resize(first[gates]);
  std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
  each_read([&](std::uint32_t g, std::uint32_t source) { readers[at[source]++] = g; });
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // random, gate
  std::priority_queue<Key> ready;
  for (std::uint32_t g = 0; g < gates; ++g)
    if (!waits[g]) ready.emplace(random.bits(g), g);
  Netlist result = without_gates(circuit);
  std::vector<Net> to(circuit.nets());
  for (Net i = 0; i < inputs; ++i) to[i] = i;
  while (!ready.empty()) {
    const std::uint32_t g = ready.top().second;
    ready.pop();
    const NetlistGate& gate = circuit.gates[g];
    to[inputs + g] = static_cast<Net>(result.nets());
    result.gates.push_back({gate.gate, to[gate.a], to[gate.b]});
    for (std::uint32_t r = first[g]; r < first[g + 1]; ++r)
      if (--waits[readers[r]] == 0) ready.emplace(random.bits(readers[r]), readers[r]);
  }
  for (std::size_t o = 0; o < circuit.outputs.size(); ++o) result.outputs[o].net = to[circuit.outputs[o].net];
  return result;
}

// --- Folding.

CircuitSize Compactor::measure(const Netlist& circuit, std::span<const Move> moves) {
  circuit_ = &circuit;
  edit(circuit, moves);
  fold();
  mark();
  CircuitSize size;
  for (std::size_t g = 0; g < gates_.size(); ++g) size.gates += live_[circuit.inputs.size() + g] != 0;
  for (std::size_t o = 0; o < results_.size(); ++o) {
    const Literal r = results_[o];
    if (!output_live_[o] || r >= kZero) continue;
    const bool is_input = r / 2 < circuit.inputs.size();
    // An inverter of its own: of an input, or of a gate that is wanted both ways, once.
    const bool extra = r % 2 && (is_input || plain_[r / 2]) && inverted_[r / 2] == 1;
    if (extra) ++size.gates, inverted_[r / 2] = 2;
    size.depth = std::max<std::size_t>(size.depth, depth_[r / 2] + (r % 2 && (is_input || plain_[r / 2]) ? 1 : 0));
  }
  return size;
}

// The moves carried out: gates of pins go where they are read first. Few moves: they are looked up one by one.
void Compactor::edit(const Netlist& circuit, std::span<const Move> moves) {
  const std::size_t inputs = circuit.inputs.size();
  edited_.clear();
  outputs_.clear();
  if (moves.empty()) {
    edited_ = circuit.gates;
    for (const NetlistOutput& o : circuit.outputs) outputs_.push_back(o.net);
    return;
  }
  edited_net_.resize(circuit.nets());
  for (Net i = 0; i < inputs; ++i) edited_net_[i] = i;
  const auto push = [&](Gate gate, Net a, Net b) {
    edited_.push_back({gate, a, b});
    return static_cast<Net>(inputs + edited_.size() - 1);
  };
  const auto pin = [&](Move::At at, std::size_t place, Net net) {
    Net v = edited_net_[net];
    for (const Move& m : moves)
      if (m.at == at && m.place == place) v = push(m.gate, v, edited_net_[m.other]);
    return v;
  };
  // Which gates are changed at all, as a small filter before the search through the moves.
  stack_.clear();
  for (const Move& m : moves)
    if (m.at != Move::At::kOutput) stack_.push_back(m.place);
  std::ranges::sort(stack_);
  std::size_t next = 0;
  for (std::size_t g = 0; g < circuit.gates.size(); ++g) {
    const NetlistGate& gate = circuit.gates[g];
    if (next == stack_.size() || stack_[next] != g) {
      edited_net_[inputs + g] = push(gate.gate, edited_net_[gate.a], edited_net_[gate.b]);
      continue;
    }
    while (next < stack_.size() && stack_[next] == g) ++next;
    Gate type = gate.gate;
    for (const Move& m : moves)
      if (m.at == Move::At::kFunction && m.place == g) type = m.gate;
    const Net a = pin(Move::At::kPinA, g, gate.a), b = pin(Move::At::kPinB, g, gate.b);
    edited_net_[inputs + g] = push(type, a, b);
  }
  for (std::size_t o = 0; o < circuit.outputs.size(); ++o)
    outputs_.push_back(pin(Move::At::kOutput, o, circuit.outputs[o].net));
}

Compactor::Literal Compactor::add(Gate gate, Literal a, Literal b) {
  const auto unary = [](Gate one, Literal v) -> Literal {  // a function of a alone
    if (one == Gate::kFalse) return kZero;
    if (one == Gate::kTrue) return kOne;
    return one == Gate::kA ? v : v ^ 1;
  };
  if (a >= kZero && b >= kZero) return gate_value(gate, a == kOne, b == kOne) ? kOne : kZero;
  if (a >= kZero) return unary(fix_a(gate, a == kOne), b);
  if (b >= kZero) return unary(fix_b(gate, b == kOne), a);
  if (a % 2) gate = invert_a(gate);
  if (b % 2) gate = invert_b(gate);
  a &= ~Literal{1};
  b &= ~Literal{1};
  if (a == b) return unary(merge_inputs(gate), a);
  if (!reads_b(gate)) return unary(fix_b(gate, false), a);
  if (!reads_a(gate)) return unary(fix_a(gate, false), b);
  gates_.push_back({gate, a / 2, b / 2});
  depth_.push_back(1 + std::max(depth_[a / 2], depth_[b / 2]));
  return static_cast<Literal>(2 * (depth_.size() - 1));
}

void Compactor::fold() {
  const std::size_t inputs = circuit_->inputs.size();
  gates_.clear();
  depth_.assign(inputs, 0);
  literal_.resize(inputs + edited_.size());
  for (std::size_t i = 0; i < inputs; ++i) literal_[i] = static_cast<Literal>(2 * i);
  for (std::size_t g = 0; g < edited_.size(); ++g)
    literal_[inputs + g] = add(edited_[g].gate, literal_[edited_[g].a], literal_[edited_[g].b]);
  results_.clear();
  for (const Net net : outputs_) results_.push_back(literal_[net]);
}

void Compactor::mark() {
  const std::size_t inputs = circuit_->inputs.size();
  live_.assign(inputs + gates_.size(), 0);
  plain_.assign(live_.size(), 0);
  inverted_.assign(live_.size(), 0);
  output_live_.assign(results_.size(), 0);
  stack_.clear();
  const auto need = [&](std::size_t output) {
    if (output_live_[output]) return;
    output_live_[output] = 1;
    const Literal r = results_[output];
    if (r >= kZero) return;
    (r % 2 ? inverted_ : plain_)[r / 2] = 1;
    if (!live_[r / 2]) live_[r / 2] = 1, stack_.push_back(r / 2);
  };
  for (std::size_t o = 0; o < kind_.judged; ++o) need(o);
  while (!stack_.empty()) {
    const Net net = stack_.back();
    stack_.pop_back();
    if (net < inputs) {
      if (kind_.channels) need(net % kind_.channels);
      continue;
    }
    for (const Net read : {gates_[net - inputs].a, gates_[net - inputs].b})
      if (!live_[read]) live_[read] = 1, stack_.push_back(read);
  }
}

Netlist Compactor::build() const {
  const std::size_t inputs = circuit_->inputs.size();
  Netlist result = without_gates(*circuit_);
  std::vector<Net> to(live_.size(), kNoNet);
  std::vector<char> flipped(live_.size());
  for (Net i = 0; i < inputs; ++i) to[i] = i;
  for (std::size_t g = 0; g < gates_.size(); ++g) {
    const std::size_t net = inputs + g;
    if (!live_[net]) continue;
    flipped[net] = inverted_[net] && !plain_[net];
    Gate gate = gates_[g].gate;
    if (flipped[gates_[g].a]) gate = invert_a(gate);
    if (flipped[gates_[g].b]) gate = invert_b(gate);
    if (flipped[net]) gate = invert_output(gate);
    to[net] = result.add_gate(gate, to[gates_[g].a], to[gates_[g].b]);
  }
  Net constants[2] = {kNoNet, kNoNet};
  std::vector<Net> inverse(live_.size(), kNoNet);
  for (std::size_t o = 0; o < results_.size(); ++o) {
    const Literal r = output_live_[o] ? results_[o] : kZero;
    if (r >= kZero) {
      Net& constant = constants[r - kZero];
      if (constant == kNoNet) constant = result.add_constant(r == kOne);
      result.outputs[o].net = constant;
    } else if ((r % 2 != 0) == (flipped[r / 2] != 0)) {
      result.outputs[o].net = to[r / 2];
    } else {
      Net& inverter = inverse[r / 2];
      if (inverter == kNoNet) inverter = result.add_gate(Gate::kNotA, to[r / 2], to[r / 2]);
      result.outputs[o].net = inverter;
    }
  }
  return result;
}

}  // namespace espalier
