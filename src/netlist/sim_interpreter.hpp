// Runs a simulator program without machine code of its own: operation by operation over blocks of words, long enough
// to hide the dispatch, short enough that all live values stay in the first-level cache. Words of 64 to 512 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "netlist/sim_native.hpp"
#include "netlist/sim_program.hpp"

namespace espalier {

class SimInterpreter {
 public:
  // word_bits: 64, 128, 256 or 512, at most widest_word().
  SimInterpreter(const SimProgram& program, const std::vector<SimPlace>& inputs, const std::vector<SimPlace>& outputs,
                 std::int64_t slot_bytes, int word_bits);

  std::size_t slot_room() const { return slots_ * kBlockWords * 8; }  // bytes of the arena, from slot_bytes on
  // `words`, a multiple of 8, of every place.
  void run(std::uint8_t* arena, const std::uint8_t* board, std::uint8_t* next, std::size_t words) const;

  static constexpr std::size_t kBlockWords = 64;
  // Operands are places: inputs, outputs, then slots.
  struct Step {
    SimCode code;
    std::uint32_t to, a, b;
  };

 private:
  std::vector<Step> steps_;
  std::vector<SimPlace> places_;
  std::size_t fixed_places_ = 0;  // inputs and outputs; the slots after them do not move with the block
  std::size_t slots_ = 0;
  int word_bits_;
};

}  // namespace espalier
