// What runs a simulator program over long rows of words: machine code made for the program, or an interpreter that goes
// operation by operation over blocks of words. Both give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "espalier/simulator.hpp"
#include "netlist/sim_program.hpp"

namespace espalier {

// Where a row of words begins: `bytes` after a base that is given with every run.
struct SimPlace {
  enum Base : std::uint8_t { kScratch, kBoard, kNext, kFire };
  Base base = kScratch;
  std::int64_t bytes = 0;
  // Or a place that stays: one block of SimEngine::kBlockWords words, used again for each block of the rows.
  bool moves = true;
};
struct SimMemory {
  std::uint8_t* scratch = nullptr;
  const std::uint8_t* board = nullptr;
  std::uint8_t* next = nullptr;
  const std::uint8_t* fire = nullptr;
};

class SimEngine {
 public:
  static constexpr std::size_t kBlockWords = 64;
  virtual ~SimEngine() = default;
  // `words`, a multiple of 8, of every place.
  virtual void run(const SimMemory& memory, std::size_t words) const = 0;

  bool native() const { return native_; }
  int word_bits() const { return word_bits_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }  // that it uses, from `scratch_offset` on

 protected:
  SimEngine(bool native, int word_bits) : native_(native), word_bits_(word_bits) {}
  bool native_;
  int word_bits_;
  std::size_t scratch_bytes_ = 0;
};

// One place for each input and output of the program. Outputs may not overlap inputs.
struct SimPlaces {
  std::vector<SimPlace> inputs, outputs;
  std::int64_t scratch_offset = 0;  // where the engine may keep values, a multiple of 64
};

// word_bits: 64, 128, 256 or 512, at most widest_word(); 0: widest_word(). An Error for others.
std::unique_ptr<SimEngine> make_interpreter(const SimProgram& program, const SimPlaces& places, int word_bits);

// word_bits: 256 (AVX2) or 512 (AVX-512); 0: the wider one of this machine. Null where the machine has no such
// instructions, where the system forbids fresh executable pages, and for programs of more than a million operations.
std::unique_ptr<SimEngine> make_native(const SimProgram& program, const SimPlaces& places, int word_bits);

// The one that is asked for; of kAuto and any width native code where it `pays` and there is any.
std::unique_ptr<SimEngine> make_engine(const SimProgram& program, const SimPlaces& places, SimulatorEngine engine,
                                       int word_bits, bool pays);

// Rows moved one cell to the east and to the west: what a cell sees of its western and eastern neighbours.
struct ShiftShape {
  std::size_t rows, row_words;
  unsigned last_bit;  // of the last cell in a row's last word
  bool periodic;
};
// Consecutive rows of `in` (with at least one readable word before and after; 8 more may be read and written behind).
// west: bit x = cell x - 1; east: bit x = cell x + 1. Either may be null.
void shift_rows(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east);

}  // namespace espalier
