#include "models/lattice/cell_wrapper.hpp"

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
  Bits next(const Bits& x) {  // + 1
    Bits result;
    Net carry = kOne;
    for (const Net bit : x) {
      result.push_back(gate(Gate::kXor, bit, carry));
      carry = both(bit, carry);
    }
    return result;
  }
  Net less(const Bits& x, const Bits& y) {
    Net result = kZero;
    for (std::size_t i = 0; i < x.size(); ++i)
      result = choose(gate(Gate::kXor, x[i], y[i]), y[i], result);  // higher bits decide over lower ones
    return result;
  }

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
    return simplify(builder_.finish(std::move(shape)), SimplifyOptions::brief());
  }

 private:
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
  // The next state of the given cell, whose channels begin at `first`.
  Bits grown(int first = 0) {
    return logic_.embed(given_, [this, first](std::size_t i) {
      return in(static_cast<int>(i) / own_, first + static_cast<int>(i) % own_);
    });
  }
  Netlist finish(const Bits& outputs) { return logic_.finish(outputs, all_); }

 private:
  const Netlist& given_;
  int own_, all_, used_;
  Logic logic_;
};

void append(Bits& to, const Bits& more) { to.insert(to.end(), more.begin(), more.end()); }

// All ones is where a seed begins.
int counter_bits(const WrapperPlan& plan) { return bits_for(plan.steps + (plan.seeded() ? 1 : 0)); }

Netlist persisting(const Netlist& given, const WrapperPlan& plan, int channels) {
  const int width = counter_bits(plan);
  Cell cell(given, channels, width);
  Logic& l = cell.logic();
  const int counter = cell.take(width);
  const Bits count = cell.word(4, counter, width), own = cell.word(4, 0, cell.own());
  const Net ended = l.equals(count, plan.steps);
  Bits from = count;
  if (plan.seeded())
    for (Net& bit : from) bit = l.but_not(bit, l.all(count));
  Bits outputs = l.choose(ended, own, cell.grown());
  append(outputs, l.choose(ended, count, l.next(from)));
  return cell.finish(outputs);
}

// A picture that is grown again and again out of sight, by a clock that all cells share. What a cell knows comes in one
// step from its neighbours to the west and north, and in the end from the rim, where zeros are outside of the board: so
// whatever cells were made to believe is forgotten once the rim has been heard of everywhere. The picture itself is
// taken over whenever it is grown.
Netlist healing(const Netlist& given, const WrapperPlan& plan, int channels) {
  const int side = std::max(plan.height, plan.width), T = plan.steps;
  // A seed is put where it belongs once every cell knows its place.
  const int period = plan.seeded() ? std::max(T, side) + 2 : T + 1;
  const int width = bits_for(period);  // all ones is more than any number, and where a seed begins
  const int x_width = plan.seeded() ? bits_for(plan.width + 1) : 0,
            y_width = plan.seeded() ? bits_for(plan.height + 1) : 0;
  Cell cell(given, channels, plan.judged + 1 + width + x_width + y_width);
  Logic& l = cell.logic();
  // The picture stands first; what grows stands behind it.
  const int grows = plan.judged, alive = grows + cell.own(), clock = alive + 1, x = clock + width, y = x + x_width;
  constexpr int kNorthWest = 0, kNorth = 1, kWest = 3, kSelf = 4;
  // After a step every cell is alive, and what is outside is not.
  Bits source = cell.word(kSelf, clock, width);
  for (const int p : {kNorth, kWest, kNorthWest})
    source = l.choose(cell.in(p, alive), cell.word(p, clock, width), source);
  const auto counted = [&](Bits time) {
    const Net seed = l.all(time);
    for (Net& bit : time) bit = l.but_not(bit, seed);
    return time;
  };
  const Bits last = Logic::constant(period - 1, static_cast<std::size_t>(width));
  const Bits time = counted(cell.word(kSelf, clock, width)), heard = counted(source);
  const Net again = l.negated(l.less(time, last));
  Net origin = Logic::kZero;
  if (plan.seeded())
    origin = l.both(l.equals(cell.word(kSelf, x, x_width), plan.seed_column + 1),
                    l.equals(cell.word(kSelf, y, y_width), plan.seed_row + 1));
  const Bits grown = cell.grown(grows);
  const Bits shown(grown.begin(), grown.begin() + plan.judged);
  Bits outputs = l.choose(l.equals(time, T - 1), shown, cell.word(kSelf, 0, plan.judged));
  append(outputs, l.choose(again, Bits(grown.size(), origin), grown));
  outputs.push_back(Logic::kOne);
  const Net running = l.less(heard, last);
  for (const Net bit : l.next(heard)) outputs.push_back(l.both(bit, running));
  const auto located = [&](int before, int channel, int bits) {
    append(outputs, l.choose(cell.in(before, alive), l.next(cell.word(before, channel, bits)),
                             Logic::constant(1, static_cast<std::size_t>(bits))));
  };
  if (plan.seeded()) located(kWest, x, x_width), located(kNorth, y, y_width);
  return cell.finish(outputs);
}

Netlist asynchronous(const Netlist& given, const WrapperPlan& plan, int channels) {
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

Netlist wrapped_cell(const Netlist& cell, const WrapperPlan& plan, int channels) {
  switch (plan.wrapper) {
    case Wrapper::kNone: break;
    case Wrapper::kPersist: return persisting(cell, plan, channels);
    case Wrapper::kHeal: return healing(cell, plan, channels);
    case Wrapper::kAsync: return asynchronous(cell, plan, channels);
  }
  return cell;
}

}  // namespace espalier
