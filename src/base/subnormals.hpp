// Numbers too small for a normal float (below 1.2e-38) taken for zero while this lives, on this thread: as operands and
// as results. A multiplication that meets one costs some processors a hundred times as much as any other. Gradients
// that pass through many nearly decided gates are full of them, and in a sum with any others they do not show. Where
// the processor has no such mode, nothing happens.
#pragma once

#include <cstdint>

namespace espalier {

class FlushSubnormals {
 public:
  FlushSubnormals() : before_(read()) { write(before_ | kFlush); }
  ~FlushSubnormals() { write(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t kFlush = 0x8040;  // results, operands
  static std::uint64_t read() { return __builtin_ia32_stmxcsr(); }
  static void write(std::uint64_t control) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(control)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // both
  static std::uint64_t read() {
    std::uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
  }
  static void write(std::uint64_t control) { asm volatile("msr fpcr, %0" ::"r"(control)); }
#else
  static constexpr std::uint64_t kFlush = 0;
  static std::uint64_t read() { return 0; }
  static void write(std::uint64_t) {}
#endif

  std::uint64_t before_;
};

}  // namespace espalier
