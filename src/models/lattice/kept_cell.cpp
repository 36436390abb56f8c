#include "models/lattice/kept_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "espalier/synth.hpp"
#include "netlist/cell.hpp"

namespace espalier {
namespace {

using Bits = std::vector<Net>;  // a number, lowest bit first

int bits_for(int largest) { return std::bit_width(static_cast<unsigned>(largest)); }

// Words of gates: what a hand would write.
class Logic {
 public:
  explicit Logic(std::size_t inputs) : builder_(inputs) {}
  static constexpr Net kZero = CleanBuilder::kFalse, kOne = CleanBuilder::kTrue;

  Net both(Net a, Net b) { return builder_.add(Gate::kAnd, a, b); }
  Net either(Net a, Net b) { return builder_.add(Gate::kOr, a, b); }
  Net but_not(Net a, Net b) { return builder_.add(Gate::kAAndNotB, a, b); }
  Net negated(Net a) { return builder_.add(Gate::kNotA, a, a); }
  Net gate(Gate g, Net a, Net b) { return builder_.add(g, a, b); }
  Net choose(Net which, Net yes, Net no) { return either(both(which, yes), but_not(no, which)); }
  Net all(const Bits& x) {
    Net result = kOne;
    for (const Net bit : x) result = both(result, bit);
    return result;
  }
  Net any(const Bits& x) {
    Net result = kZero;
    for (const Net bit : x) result = either(result, bit);
    return result;
  }
  Net equals(const Bits& x, int value) {
    Net result = kOne;
    for (std::size_t i = 0; i < x.size(); ++i) result = value >> i & 1 ? both(result, x[i]) : but_not(result, x[i]);
    return result;
  }
  static Bits constant(int value, std::size_t bits) {
    Bits x;
    for (std::size_t i = 0; i < bits; ++i) x.push_back(value >> i & 1 ? kOne : kZero);
    return x;
  }
  Bits choose(Net which, const Bits& yes, const Bits& no) {
    Bits x;
    for (std::size_t i = 0; i < yes.size(); ++i) x.push_back(choose(which, yes[i], no[i]));
    return x;
  }
  Bits next(const Bits& x) { return stepped(x, Gate::kAnd); }           // + 1, the carry goes on over ones
  Bits previous(const Bits& x) { return stepped(x, Gate::kNotAAndB); }  // - 1, over zeros
  Net less(const Bits& x, const Bits& y) {
    Net result = kZero;
    for (std::size_t i = 0; i < x.size(); ++i)
      result = choose(gate(Gate::kXor, x[i], y[i]), y[i], result);  // higher bits decide over lower ones
    return result;
  }
  Bits smaller(const Bits& x, const Bits& y) { return choose(less(x, y), x, y); }

  // The gates of a circuit, reading these nets; its outputs.
  Bits embed(const Netlist& circuit, const std::function<Net(std::size_t input)>& input) {
    Bits nets;
    for (std::size_t i = 0; i < circuit.inputs.size(); ++i) nets.push_back(input(i));
    for (const NetlistGate& g : circuit.gates) nets.push_back(gate(g.gate, nets[g.a], nets[g.b]));
    Bits outputs;
    for (const NetlistOutput& output : circuit.outputs) outputs.push_back(nets[output.net]);
    return outputs;
  }

  // A cell with these outputs, and 0 in the channels that are left.
  Netlist finish(const Bits& outputs, int channels) {
    Netlist shape = empty_cell(channels);
    for (int c = 0; c < channels; ++c)
      shape.outputs.push_back({fmt::format("next{}", c), static_cast<std::size_t>(c) < outputs.size()
                                                             ? outputs[static_cast<std::size_t>(c)]
                                                             : kZero});
    return simplify(builder_.finish(std::move(shape)));
  }

 private:
  Bits stepped(const Bits& x, Gate carried) {
    Bits result;
    Net carry = kOne;
    for (const Net bit : x) {
      result.push_back(gate(Gate::kXor, bit, carry));
      carry = gate(carried, bit, carry);
    }
    return result;
  }

  CleanBuilder builder_;
};

// The channels of the cell that is built: those of the given one, and then whatever is taken.
class Cell {
 public:
  Cell(const Netlist& given, int channels, int more)
      : given_(given),
        own_(cell_channels(given)),
        all_(std::max(channels, own_ + more)),
        used_(own_),
        logic_(kPatch * static_cast<std::size_t>(all_)) {}

  Logic& logic() { return logic_; }
  int own() const { return own_; }
  int take(int count) { return std::exchange(used_, used_ + count); }
  Net in(int position, int channel) const { return patch_net(position, channel, all_); }
  Bits word(int position, int first, int count) const {
    Bits x;
    for (int i = 0; i < count; ++i) x.push_back(in(position, first + i));
    return x;
  }
  Bits grown() {
    return logic_.embed(given_,
                        [this](std::size_t i) { return in(static_cast<int>(i) / own_, static_cast<int>(i) % own_); });
  }
  Netlist finish(const Bits& outputs) { return logic_.finish(outputs, all_); }

 private:
  const Netlist& given_;
  int own_, all_, used_;
  Logic logic_;
};

void append(Bits& to, const Bits& more) { to.insert(to.end(), more.begin(), more.end()); }

// All ones is where a seed begins.
int counter_bits(const KeepPlan& plan) { return bits_for(plan.steps + (plan.seeded ? 1 : 0)); }

Netlist persisting(const Netlist& given, const KeepPlan& plan, int channels) {
  const int width = counter_bits(plan);
  Cell cell(given, channels, width);
  Logic& l = cell.logic();
  const int counter = cell.take(width);
  const Bits count = cell.word(4, counter, width), own = cell.word(4, 0, cell.own());
  const Net ended = l.equals(count, plan.steps);
  Bits from = count;
  if (plan.seeded)
    for (Net& bit : from) bit = l.but_not(bit, l.all(count));
  Bits outputs = l.choose(ended, own, cell.grown());
  append(outputs, l.choose(ended, count, l.next(from)));
  return cell.finish(outputs);
}

// Where a cell lies, counted from the seed: all ones there, 0 unknown, and one more from column to column, round and
// round. A cell that does not know asks its neighbours.
struct Coordinate {
  int channel, width, size;      // its bits; numbers in use
  int before, after, beside[2];  // neighbours with one less, one more, the same
};

Bits located(Cell& cell, const Coordinate& c) {
  Logic& l = cell.logic();
  const int last = (1 << c.width) - 1, first = last - c.size + 1;
  const auto bits = static_cast<std::size_t>(c.width);
  Bits result = Logic::constant(0, bits);
  const auto prefer = [&](int position, const Bits& value) {
    result = l.choose(l.any(cell.word(position, c.channel, c.width)), value, result);
  };
  const auto at = [&](int position) { return cell.word(position, c.channel, c.width); };
  for (const int position : c.beside) prefer(position, at(position));
  prefer(c.after, l.choose(l.equals(at(c.after), first), Logic::constant(last, bits), l.previous(at(c.after))));
  prefer(c.before, l.choose(l.all(at(c.before)), Logic::constant(first, bits), l.next(at(c.before))));
  prefer(4, at(4));
  return result;
}

Netlist healing(const Netlist& given, const KeepPlan& plan, int channels) {
  const int side = std::max(plan.height, plan.width);
  const int ready = side + 1, end = ready + plan.steps;  // all cells are reached, and know where they lie; it is grown
  const int width = bits_for(end + 1);                   // all ones is more than any number
  const int x_width = bits_for(plan.width), y_width = bits_for(plan.height);
  Cell cell(given, channels, 1 + width + (plan.seeded ? 1 + x_width + y_width : 0));
  Logic& l = cell.logic();
  const int alive_channel = cell.take(1), guard = plan.seeded ? cell.take(1) : -1, counter = cell.take(width);
  const int x_channel = plan.seeded ? cell.take(x_width) : 0, y_channel = plan.seeded ? cell.take(y_width) : 0;
  // Alive: has taken a step since it was set to 0. A seed has the guard set, and has not.
  const auto alive = [&](int p) {
    return guard < 0 ? cell.in(p, alive_channel) : l.but_not(cell.in(p, alive_channel), cell.in(p, guard));
  };
  Net beside_living = Logic::kZero;
  Bits least = Logic::constant((1 << width) - 1, static_cast<std::size_t>(width));
  for (int p = 0; p < kPatch; ++p) {
    const Net lives = alive(p);
    if (p != 4) beside_living = l.either(beside_living, lives);
    Bits value = cell.word(p, counter, width);
    for (Net& bit : value) bit = l.gate(Gate::kAOrNotB, bit, lives);
    least = l.smaller(least, value);
  }
  const auto number = [&](int n) { return Logic::constant(n, static_cast<std::size_t>(width)); };
  const Net lives = alive(4), born = l.but_not(beside_living, lives);
  const Net clearing = l.less(least, number(ready)), running = l.less(least, number(end));
  const Bits count = l.choose(lives, l.choose(running, l.next(least), number(end)),
                              l.choose(beside_living, number(0), number(ready + 1)));
  Net origin = Logic::kZero;
  if (plan.seeded) origin = l.both(l.all(cell.word(4, x_channel, x_width)), l.all(cell.word(4, y_channel, y_width)));
  const Bits grown = cell.grown(), own = cell.word(4, 0, cell.own());
  Bits outputs;
  for (std::size_t c = 0; c < own.size(); ++c) {
    const Net living = l.choose(running, l.choose(clearing, origin, grown[c]), own[c]);
    outputs.push_back(l.but_not(l.choose(lives, living, grown[c]), born));
  }
  outputs.push_back(Logic::kOne);
  if (guard >= 0) outputs.push_back(Logic::kZero);
  append(outputs, count);
  if (plan.seeded) {
    append(outputs, located(cell, {x_channel, x_width, plan.width, 3, 5, {1, 7}}));
    append(outputs, located(cell, {y_channel, y_width, plan.height, 1, 7, {3, 5}}));
  }
  return cell.finish(outputs);
}

Netlist asynchronous(const Netlist& given, const KeepPlan& plan, int channels) {
  const Netlist persists = persisting(given, plan, 0);
  Cell cell(persists, channels, cell_channels(persists) + 2);
  Logic& l = cell.logic();
  const int n = cell.own(), last = cell.take(n), phase = cell.take(2);
  // Phases 0, 1, 2, 0, ...; a seed's 3 is 0.
  struct Phase {
    Net is[3];
  };
  const auto phase_at = [&](int p) {
    const Net low = cell.in(p, phase), high = cell.in(p, phase + 1);
    return Phase{{l.gate(Gate::kXnor, low, high), l.but_not(low, high), l.but_not(high, low)}};
  };
  const Phase own = phase_at(4);
  const auto ahead_by = [&](const Phase& other, int steps) {
    Net result = Logic::kZero;
    for (int k = 0; k < 3; ++k) result = l.either(result, l.both(own.is[k], other.is[(k + steps) % 3]));
    return result;
  };
  Net wait = Logic::kZero, ahead[kPatch];
  for (int p = 0; p < kPatch; ++p) {
    const Phase other = phase_at(p);
    wait = l.either(wait, p == 4 ? Logic::kZero : ahead_by(other, 2));
    ahead[p] = p == 4 ? Logic::kZero : ahead_by(other, 1);
  }
  const Bits grown = l.embed(persists, [&](std::size_t i) {
    const int p = static_cast<int>(i) / n, c = static_cast<int>(i) % n;
    return l.choose(ahead[p], cell.in(p, last + c), cell.in(p, c));
  });
  const Bits now = cell.word(4, 0, n);
  Bits outputs = l.choose(wait, now, grown);
  append(outputs, l.choose(wait, cell.word(4, last, n), now));
  outputs.push_back(l.choose(wait, own.is[1], own.is[0]));
  outputs.push_back(l.choose(wait, own.is[2], own.is[1]));
  return cell.finish(outputs);
}

}  // namespace

Netlist kept_cell(const Netlist& cell, const KeepPlan& plan, int channels) {
  switch (plan.keep) {
    case Keep::kNothing: break;
    case Keep::kPersist: return persisting(cell, plan, channels);
    case Keep::kHeal: return healing(cell, plan, channels);
    case Keep::kAsync: return asynchronous(cell, plan, channels);
  }
  return cell;
}

}  // namespace espalier
