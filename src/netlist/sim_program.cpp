#include "netlist/sim_program.hpp"

#include "netlist/cell.hpp"

namespace espalier {
namespace {

// A value and whether it holds the inverse of what is meant.
struct Held {
  std::uint32_t value = 0;
  bool inverted = false;
};

class Compiler {
 public:
  explicit Compiler(const Netlist& netlist) : netlist_(netlist), held_(netlist.nets()) {
    program_.inputs = netlist.inputs.size();
    for (std::uint32_t i = 0; i < program_.inputs; ++i) held_[i] = {i, false};
  }

  SimProgram run() {
    for (std::size_t g = 0; g < netlist_.gates.size(); ++g) held_[netlist_.net_of_gate(g)] = gate(netlist_.gates[g]);
    std::vector<bool> taken(program_.values() + 2 * netlist_.outputs.size());
    for (const NetlistOutput& output : netlist_.outputs) {
      Held h = held_[output.net];
      if (h.inverted)
        h.value = emit(SimCode::kNot, h.value, h.value);
      else if (h.value < program_.inputs || taken[h.value])
        h.value = emit(SimCode::kCopy, h.value, h.value);
      taken[h.value] = true;
      program_.outputs.push_back(h.value);
    }
    return std::move(program_);
  }

 private:
  std::uint32_t emit(SimCode code, std::uint32_t a, std::uint32_t b) {
    program_.ops.push_back({code, a, b});
    return static_cast<std::uint32_t>(program_.values() - 1);
  }

  Held gate(const NetlistGate& g) {
    Gate type = g.gate;
    if (is_constant(type)) return {emit(type == Gate::kTrue ? SimCode::kOnes : SimCode::kZero, 0, 0), false};
    if (!reads_b(type)) return {held_[g.a].value, held_[g.a].inverted != (type == Gate::kNotA)};
    if (!reads_a(type)) return {held_[g.b].value, held_[g.b].inverted != (type == Gate::kNotB)};
    const auto [x, flip_x] = held_[g.a];
    const auto [y, flip_y] = held_[g.b];
    if (flip_x) type = invert_a(type);
    if (flip_y) type = invert_b(type);
    // In the polarity with f(0,0) = 0 five gates are left, each one operation.
    const bool inverted = gate_value(type, false, false);
    if (inverted) type = invert_output(type);
    switch (type) {
      case Gate::kAnd: return {emit(SimCode::kAnd, x, y), inverted};
      case Gate::kOr: return {emit(SimCode::kOr, x, y), inverted};
      case Gate::kXor: return {emit(SimCode::kXor, x, y), inverted};
      case Gate::kNotAAndB: return {emit(SimCode::kAndNot, x, y), inverted};
      default: return {emit(SimCode::kAndNot, y, x), inverted};  // A and not B
    }
  }

  const Netlist& netlist_;
  SimProgram program_;
  std::vector<Held> held_;
};

}  // namespace

// Depth-first order: a value is used soon after it is made, so that few are alive at a time.
SimProgram sim_program(const Netlist& netlist) { return Compiler(sort_netlist(netlist, "simulate", true)).run(); }

Netlist with_fire(const Netlist& cell) {
  const int C = cell_channels(cell);
  Netlist result;
  result.name = cell.name;
  result.inputs = cell.inputs;
  const Net fire = result.add_input("fire");
  const auto moved = [&](Net net) { return net < fire ? net : net + 1; };
  for (const NetlistGate& g : cell.gates) result.add_gate(g.gate, moved(g.a), moved(g.b));
  for (int c = 0; c < C; ++c) {
    const NetlistOutput& output = cell.outputs[static_cast<std::size_t>(c)];
    const Net old = patch_net(4, c, C), fresh = moved(output.net);
    const Net change = result.add_gate(Gate::kAnd, result.add_gate(Gate::kXor, fresh, old), fire);
    result.add_output(output.name, result.add_gate(Gate::kXor, change, old));
  }
  return result;
}

}  // namespace espalier
