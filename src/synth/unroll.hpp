// A board of cells unrolled over time into one circuit. Constants are folded and equal gates shared as it grows, so
// what a rule decides whatever the start is never becomes a gate.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "espalier/netlist.hpp"
#include "espalier/simulator.hpp"
#include "synth/literal_builder.hpp"

namespace espalier {

inline constexpr Literal kZero{kNoNet, false}, kOne{kNoNet, true};
inline Literal constant_literal(bool value) { return value ? kOne : kZero; }

// What every channel of every cell is at one time: [C][H][W].
struct LiteralBoard {
  int channels, height, width;
  std::vector<Literal> literals;

  LiteralBoard(int c, int h, int w) : channels(c), height(h), width(w), literals(static_cast<std::size_t>(c) * h * w) {}
  std::size_t index(int c, int y, int x) const { return (static_cast<std::size_t>(c) * height + y) * width + x; }
  Literal& at(int c, int y, int x) { return literals[index(c, y, x)]; }
  const Literal& at(int c, int y, int x) const { return literals[index(c, y, x)]; }
};
LiteralBoard constant_board(const Board& board);

class Unroller {
 public:
  // `inputs`: the free bits of starts, schedules and the like, by number. `plain`: every gate of every cell as it is,
  // for proofs in which the folding is not to be taken on trust.
  Unroller(const Netlist& cell, bool periodic, std::size_t inputs, bool plain = false);

  int channels() const { return channels_; }
  const Netlist& netlist() const { return netlist_; }
  Literal input(std::size_t number) const { return {static_cast<Net>(number), false}; }
  Literal gate(Gate gate, Literal a, Literal b);
  // One step. fire, [H][W]: the cells that take their new state; empty: all do. `pause`: called for every row; what it
  // throws ends the step.
  LiteralBoard step(const LiteralBoard& now, const std::vector<Literal>& fire = {},
                    const std::function<void()>& pause = {});

 private:
  Literal settled(Literal literal);  // in a plain circuit constants are nets too

  const Netlist cell_;
  int channels_;
  bool periodic_, plain_;
  Netlist netlist_;
  LiteralBuilder builder_;
  std::vector<Literal> nets_;  // of the cell at work
};

}  // namespace espalier
