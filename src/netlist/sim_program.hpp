// A cell's netlist as straight-line code for the simulator: four vector operations and a copy. Polarities are chosen so
// that every two-input gate is one operation; only an output may need one more to be turned over.
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

SimProgram sim_program(const Netlist& netlist);

// The cell with one more input, "fire": outputs keep the cell's own state (patch position 4) where it is 0.
Netlist with_fire(const Netlist& cell);

}  // namespace espalier
