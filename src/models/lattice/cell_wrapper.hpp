// Cells that keep what they grow. A cell that has learned to grow a picture in T steps shows it at step T and not
// after; around it a circuit is built that counts the steps. The counting is made, not learned: what it gives is exact
// for every picture that is grown without a wrong bit.
#pragma once

#include "espalier/netlist.hpp"

namespace espalier {

enum class Wrapper {
  kNone,
  kPersist,  // every cell counts to T, and then stays as it is
  // Whatever is done to any of its cells, the picture comes back: nothing that a cell keeps is believed for long. Needs
  // a board with a rim of zeros, which is the one thing that no damage reaches.
  kHeal,
  // No step is common: a cell waits for neighbours that are behind it, and keeps its last state for them (Nakamura,
  // 1974). Needs a periodic board, where every neighbour is a cell.
  kAsync,
};

struct WrapperPlan {
  Wrapper wrapper = Wrapper::kPersist;
  int steps = 1;                        // T
  int height = 1, width = 1;            // of the board
  int seed_row = -1, seed_column = -1;  // of the one cell that is 1 in every channel at the start; -1: all cells are 0
  int judged = 1;                       // channels that show the picture
  bool seeded() const { return seed_row >= 0; }
};

// The first channels of the result are judged as those of `cell` were. It has at least `channels`, and more where these
// are too few.
Netlist wrapped_cell(const Netlist& cell, const WrapperPlan& plan, int channels);

}  // namespace espalier
