// The few AVX2 instructions that a simulator program needs, as bytes. Always the three-byte VEX form and 32-bit
// displacements: simple, and the loop is not bound by its fetch.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier {

class SimAssembler {
 public:
  // Bases in the order of the System V arguments: rdi, rsi, rdx. The running offset is rcx.
  struct Memory {
    int base;      // 0 rdi, 1 rsi, 2 rdx
    bool indexed;  // + rcx
    std::int32_t displacement;
  };
  enum Opcode : std::uint8_t { kPand = 0xDB, kPandn = 0xDF, kPor = 0xEB, kPxor = 0xEF, kPcmpeqd = 0x76 };

  void load(int to, const Memory& m) { vex_memory(to, 0, kF3, 0x6F, m); }
  void store(int from, const Memory& m) { vex_memory(from, 0, kF3, 0x7F, m); }
  void op(Opcode code, int to, int a, int b) {
    vex(to, a, b, k66);
    byte(code);
    byte(static_cast<std::uint8_t>(0xC0 | (to & 7) << 3 | (b & 7)));
  }
  void op(Opcode code, int to, int a, const Memory& m) { vex_memory(to, a, k66, code, m); }

  // From the last 32 bytes to the first; the offset stands 32 beyond, so that one fused subtract-and-jump ends the
  // loop.
  void begin_loop() { loop_ = bytes_.size(); }
  void end_loop() {
    emit({0x48, 0x83, 0xE9, 0x20, 0x0F, 0x85});  // sub rcx, 32; jnz loop
    dword(static_cast<std::int32_t>(static_cast<std::int64_t>(loop_) - static_cast<std::int64_t>(bytes_.size()) - 4));
    emit({0xC5, 0xF8, 0x77, 0xC3});  // vzeroupper; ret
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  enum Prefix : std::uint8_t { k66 = 1, kF3 = 2 };
  void byte(std::uint8_t b) { bytes_.push_back(b); }
  void emit(std::initializer_list<std::uint8_t> list) { bytes_.insert(bytes_.end(), list); }
  void dword(std::int32_t v) {
    for (int i = 0; i < 4; ++i) byte(static_cast<std::uint8_t>(static_cast<std::uint32_t>(v) >> (8 * i)));
  }
  // reg: the register field, second: the extra source (vvvv), rm: the register of the last operand.
  void vex(int reg, int second, int rm, Prefix prefix) {
    byte(0xC4);
    byte(static_cast<std::uint8_t>((reg < 8 ? 0x80 : 0) | 0x40 | (rm < 8 ? 0x20 : 0) | 1));
    byte(static_cast<std::uint8_t>((~second & 15) << 3 | 4 | prefix));
  }
  void vex_memory(int reg, int second, Prefix prefix, std::uint8_t code, const Memory& m) {
    constexpr std::uint8_t kBases[3] = {7, 6, 2};  // rdi, rsi, rdx
    vex(reg, second, 0, prefix);
    byte(code);
    const std::uint8_t base = kBases[m.base];
    if (m.indexed) {
      byte(static_cast<std::uint8_t>(0x80 | (reg & 7) << 3 | 4));
      byte(static_cast<std::uint8_t>(1 << 3 | base));  // index rcx, scale 1
    } else {
      byte(static_cast<std::uint8_t>(0x80 | (reg & 7) << 3 | base));
    }
    dword(m.indexed ? m.displacement - 32 : m.displacement);
  }
  std::vector<std::uint8_t> bytes_;
  std::size_t loop_ = 0;
};

}  // namespace espalier
