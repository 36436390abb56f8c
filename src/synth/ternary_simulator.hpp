// What a board comes to whatever is unknown about its start: cells are 0, 1 or unknown, and a cell's next value is
// known when its patch decides it, whatever the unknown bits are. No search: it goes on at any size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "synth/unroll.hpp"

namespace espalier {

enum class Trit : char { kZero = '0', kOne = '1', kUnknown = '?' };

class TernarySimulator {
 public:
  // `pause`: called for every row of a step; what it throws ends the step.
  TernarySimulator(const Netlist& cell, bool periodic, int height, int width, std::function<void()> pause = {});

  using State = std::string;  // [C][H][W] of Trits
  static State of(const LiteralBoard& board);
  State step(const State& now);
  // The least state above `now` that updates of any cells in any order never leave.
  State closure(State now);

 private:
  // The cell's next value for one patch of Trits, each exact.
  const std::string& next(const std::string& patch);

  Netlist cell_;
  bool periodic_;
  int channels_, height_, width_;
  std::function<void()> pause_;
  std::map<std::string, std::string> known_;
};

}  // namespace espalier
