// What a cell computes of one row of its patch alone, its neighbours above and below compute too: such values are taken
// out of the cell's program and made once a row, for the three rows of cells that look at it.
#pragma once

#include "netlist/sim_program.hpp"

namespace espalier {

struct SharedRows {
  SimProgram row;  // inputs [3][C]: a row's western, own and eastern bits; none when sharing does not pay
  SimProgram
      cell;  // inputs: those of the whole program, then [row.outputs][3]: the values of the rows above, here, below
};

SharedRows share_rows(const SimProgram& program, int channels);

}  // namespace espalier
