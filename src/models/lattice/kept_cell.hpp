// Cells that keep what they grow. A cell that has learned to grow a picture in T steps shows it at step T and not
// after; around it a circuit is built that counts the steps. The counting is made, not learned: what it gives is exact
// for every picture that is grown without a wrong bit.
#pragma once

#include "espalier/netlist.hpp"

namespace espalier {

enum class Keep {
  kNothing,
  kPersist,  // every cell counts to T, and then stays as it is
  // Cells that come to life beside living ones make all others begin anew: a wave spreads from them, clears the board
  // and sets every counter to the same number. What was set to 0 grows again, whatever it was.
  kHeal,
  // No step is common: a cell waits for neighbours that are behind it, and keeps its last state for them (Nakamura,
  // 1974). Needs a periodic board, where every neighbour is a cell.
  kAsync,
};

struct KeepPlan {
  Keep keep = Keep::kPersist;
  int steps = 1;              // T
  int height = 1, width = 1;  // of the board
  bool seeded = false;        // it begins with one cell that is 1 in every channel, and not with 0 alone
};

// The first channels of the result are those of `cell`, and are judged as they were. It has at least `channels`, and
// more where these are too few.
Netlist kept_cell(const Netlist& cell, const KeepPlan& plan, int channels);

}  // namespace espalier
