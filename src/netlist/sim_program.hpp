// A cell's netlist as straight-line code for the simulators: four vector operations and a copy. Polarities are chosen
// so that every two-input gate is one operation; only an output may need one more to be turned over. Engines
// (sim_engine.hpp) run such code on any long rows of bits: cells of one board, or one cell of many boards.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/netlist.hpp"

namespace espalier {

enum class SimCode : std::uint8_t {
  kAnd,     // a & b
  kOr,      // a | b
  kXor,     // a ^ b
  kAndNot,  // ~a & b
  kCopy,    // a
  kNot,     // ~a
  kZero,
  kOnes,
};
constexpr int operands(SimCode code) { return code <= SimCode::kAndNot ? 2 : code <= SimCode::kNot ? 1 : 0; }

// Values: 0..I-1 the inputs, then one for each operation.
struct SimOp {
  SimCode code;
  std::uint32_t a, b;
};

struct SimProgram {
  std::size_t inputs = 0;
  std::vector<SimOp> ops;
  std::vector<std::uint32_t> outputs;  // values; every one of an op of its own, none shared, none an input
  std::size_t values() const { return inputs + ops.size(); }
};

// Values are used soon after they are made, so that few are alive at a time.
SimProgram sim_program(const Netlist& netlist);

// used[input]: some operation reads it.
std::vector<bool> used_inputs(const SimProgram& program);

// The cell with one more input, "fire": outputs keep the cell's own state (patch position 4) where it is 0.
Netlist with_fire(const Netlist& cell);

// What a cell computes of one row of its patch alone, its neighbours above and below compute too: such values are taken
// out of the cell's program and made once for each row, for the three rows of cells that look at it.
struct SharedRows {
  // Inputs [3][C]: a row's western, own and eastern bits. Without operations when sharing does not pay.
  SimProgram row;
  // Inputs: those of the whole program, then [row.outputs][3]: the values of the rows above, here, below.
  SimProgram cell;
};
SharedRows share_rows(const SimProgram& program, int channels);

}  // namespace espalier
