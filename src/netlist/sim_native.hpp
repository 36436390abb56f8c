// Machine code for a simulator program: AVX2 on x86-64 Linux, values kept in the sixteen vector registers. No compiler
// is needed: the operations are few enough to write their bytes. Elsewhere, or where the system forbids fresh
// executable pages, there is none and the interpreter does the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "netlist/sim_program.hpp"

namespace espalier {

// Where an input or output stands: `base` plus a fixed number of bytes.
struct SimPlace {
  enum Base : std::uint8_t { kArena, kBoard, kNext } base;
  std::int64_t bytes;
};

class NativeCode {
 public:
  // Null when this machine cannot run it. `spill_bytes`: offset in the arena of room for values that leave the
  // registers; needed() tells how much is used.
  static std::unique_ptr<NativeCode> make(const SimProgram& program, const std::vector<SimPlace>& inputs,
                                          const std::vector<SimPlace>& outputs, std::int64_t spill_bytes);
  ~NativeCode();
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  std::size_t spill_room() const { return spill_room_; }
  // `bytes` (a positive multiple of 32) of every place, from the bases on.
  void run(const std::uint8_t* arena, const std::uint8_t* board, std::uint8_t* next, std::size_t bytes) const {
    function_(arena, board, next, bytes);
  }

 private:
  NativeCode() = default;
  void (*function_)(const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t) = nullptr;
  void* pages_ = nullptr;
  std::size_t page_bytes_ = 0, spill_room_ = 0;
};

}  // namespace espalier
