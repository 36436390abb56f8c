// A simulator program as functions of up to three values each, for machines where those take one instruction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "netlist/sim_program.hpp"

namespace espalier {

// A function of up to three values, as vpternlogq has it: bit 4 x + 2 y + z of `table` is the result for x, y, z, the
// first `count` of `in`.
struct Lut {
  std::uint8_t table = 0, count = 0;
  std::array<std::uint32_t, 3> in{};
};
inline constexpr std::uint8_t kX = 0xF0, kY = 0xCC, kZ = 0xAA;  // tables of the values themselves
inline constexpr std::uint8_t kAndTable = kX & kY, kOrTable = kX | kY, kXorTable = kX ^ kY, kAndNotTable = ~kX & kY;

struct LutProgram {
  std::size_t inputs = 0;
  std::vector<Lut> luts;               // value inputs + i
  std::vector<std::uint32_t> outputs;  // values
  std::size_t values() const { return inputs + luts.size(); }
};

// Every operation as it stands.
LutProgram plain_luts(const SimProgram& program);
// Operations merged into as few functions of three values as a quick search finds.
LutProgram cover_with_luts(const SimProgram& program);

}  // namespace espalier
