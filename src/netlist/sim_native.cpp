// Machine code for a simulator program, encoded by Xbyak: 256-bit vectors with AVX2, 512-bit ones with AVX-512, where
// functions of three values take one instruction. Registers are given out here: the code is one straight line in a
// loop, for which "the value used furthest in the future leaves first" is both simple and close to the best.
#include "netlist/sim_engine.hpp"
#include "netlist/sim_luts.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <sys/mman.h>
#include <xbyak/xbyak.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace espalier {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxOps = 1u << 20;
constexpr std::int64_t kMaxDisplacement = 1 << 30;

// A table with two of its values exchanged.
std::uint8_t exchanged(std::uint8_t table, unsigned i, unsigned j) {
  const unsigned x = 2 - i, y = 2 - j;
  unsigned result = 0;
  for (unsigned index = 0; index < 8; ++index) {
    const unsigned rest = index & ~(1u << x) & ~(1u << y);
    result |= (table >> (rest | (index >> x & 1u) << y | (index >> y & 1u) << x) & 1u) << index;
  }
  return static_cast<std::uint8_t>(result);
}

// Walks the program once, keeping values in registers. The loop goes from the last vector to the first; the offset
// stands one vector beyond, so that one subtract and jump end it.
class Generator : private Xbyak::CodeGenerator {
 public:
  // Writes at most `size` bytes to `pages`; throws an Xbyak::Error when that is not enough.
  Generator(const LutProgram& program, const SimPlaces& places, bool wide, void* pages, std::size_t size)
      : CodeGenerator(size, pages),
        program_(program),
        places_(places),
        wide_(wide),
        bytes_(wide ? 64 : 32),
        registers_(wide ? 32 : 16),
        next_(program.luts.size()),
        first_use_(program.luts.size()),
        where_(program.values(), -1),
        slot_(program.values(), -1),
        output_(program.values(), nullptr) {
    for (std::size_t o = 0; o < program.outputs.size(); ++o) output_[program.outputs[o]] = &places.outputs[o];
    std::vector<std::uint32_t> next(program.values(), kNever);
    for (std::size_t i = program.luts.size(); i-- > 0;) {
      first_use_[i] = next[program.inputs + i];
      for (std::size_t k = 0; k < program.luts[i].count; ++k) {
        next_[i][k] = next[program.luts[i].in[k]];
        next[program.luts[i].in[k]] = static_cast<std::uint32_t>(i);
      }
    }
    holds_.fill(kNever);
  }

  void run() {
    Xbyak::Label loop;
    L(loop);
    for (now_ = 0; now_ < program_.luts.size(); ++now_) emit();
    sub(offset_, bytes_);
    jnz(loop, T_NEAR);
    vzeroupper();
    ret();
  }
  std::size_t spill_bytes() const { return 64 * slots_; }

 private:
  using Vec = Xbyak::Xmm;
  using Mem = Xbyak::Address;

  Vec reg(int r) const { return wide_ ? Vec(Xbyak::Zmm(r)) : Vec(Xbyak::Ymm(r)); }
  Mem memory(const SimPlace& place) const {
    const Xbyak::Reg64 bases[] = {rdi, rsi, rdx, rcx};  // the System V arguments, in the order of SimPlace::Base
    const Xbyak::RegExp base(bases[place.base]);
    const auto bytes = static_cast<int>(place.bytes);
    return place.moves ? ptr[base + offset_ + (bytes - bytes_)] : ptr[base + bytes];
  }
  Mem home(std::uint32_t value) const {  // of a value that is in no register
    if (value < program_.inputs) return memory(places_.inputs[value]);
    return memory({SimPlace::kScratch, places_.scratch_offset + 64 * slot_[value], false});
  }
  void load(int to, const Mem& from) { wide_ ? vmovdqu64(reg(to), from) : vmovdqu(reg(to), from); }
  void store(const Mem& to, int from) { wide_ ? vmovdqu64(to, reg(from)) : vmovdqu(to, reg(from)); }
  void copy(int to, int from) { wide_ ? vmovdqa64(reg(to), reg(from)) : vmovdqa(reg(to), reg(from)); }

  // A register for a new value; not one that holds an operand of the current function.
  int take_register() {
    int victim = -1;
    for (int r = 0; r < registers_; ++r) {
      if (holds_[r] == kNever) return r;
      const Lut& lut = program_.luts[now_];
      if (std::find(lut.in.begin(), lut.in.begin() + lut.count, holds_[r]) != lut.in.begin() + lut.count) continue;
      if (victim < 0 || use_[r] > use_[victim]) victim = r;
    }
    const std::uint32_t value = holds_[victim];
    if (value >= program_.inputs && slot_[value] < 0) {
      slot_[value] = free_slots_.empty() ? static_cast<int>(slots_++) : free_slots_.back();
      if (!free_slots_.empty()) free_slots_.pop_back();
      store(home(value), victim);
    }
    where_[value] = -1;
    holds_[victim] = kNever;
    return victim;
  }
  int in_register(std::uint32_t value) {
    if (where_[value] >= 0) return where_[value];
    const int r = take_register();
    load(r, home(value));
    hold(r, value, now_);
    return r;
  }
  void hold(int r, std::uint32_t value, std::uint32_t use) {
    holds_[r] = value;
    use_[r] = use;
    where_[value] = r;
  }
  void forget(std::uint32_t value) {
    if (where_[value] >= 0) holds_[where_[value]] = kNever;
    where_[value] = -1;
    if (slot_[value] >= 0) free_slots_.push_back(slot_[value]);
    slot_[value] = -1;
  }

  void emit() {
    const Lut& lut = program_.luts[now_];
    const auto value = static_cast<std::uint32_t>(program_.inputs + now_);
    const int to = lut.count == 0 ? constant(lut) : lut.count == 1 ? unary(lut) : function(lut);
    for (std::size_t k = 0; k < lut.count; ++k) {
      const int r = where_[lut.in[k]];
      if (next_[now_][k] == kNever)
        forget(lut.in[k]);
      else if (r >= 0)
        use_[r] = next_[now_][k];
    }
    hold(to, value, first_use_[now_]);
    if (output_[value]) store(memory(*output_[value]), to);
    if (first_use_[now_] == kNever) forget(value);
  }

  int constant(const Lut& lut) {
    const int to = take_register();
    if (wide_)
      vpternlogq(reg(to), reg(to), reg(to), lut.table);
    else if (lut.table)
      vpcmpeqd(reg(to), reg(to), reg(to));
    else
      vpxor(reg(to), reg(to), reg(to));
    return to;
  }

  int unary(const Lut& lut) {
    const int from = in_register(lut.in[0]);
    const bool dies = next_[now_][0] == kNever;
    if (lut.table == kX) {
      if (dies) return from;
      const int to = take_register();
      copy(to, from);
      return to;
    }
    const int to = dies && wide_ ? from : take_register();
    if (wide_) {
      vpternlogq(reg(to), reg(from), reg(from), exchanged(lut.table, 0, 1));
    } else {
      vpcmpeqd(reg(to), reg(to), reg(to));
      vpxor(reg(to), reg(to), reg(from));
    }
    return to;
  }

  // Operands in the order in which they are emitted, with their table.
  struct Operands {
    std::uint8_t table;
    std::array<std::uint32_t, 3> in;
    std::array<bool, 3> dies;
    void exchange(unsigned i, unsigned j) {
      table = exchanged(table, i, j);
      std::swap(in[i], in[j]);
      std::swap(dies[i], dies[j]);
    }
  };

  int function(const Lut& lut) {
    Operands o{lut.table, lut.in, {}};
    for (std::size_t k = 0; k < lut.count; ++k) o.dies[k] = next_[now_][k] == kNever;
    if (lut.count == 3) return ternary(o);
    // The last use of a value in memory is an operand in memory, and that is the second one.
    const auto better_second = [&](int k) { return where_[o.in[k]] < 0 && o.dies[k]; };
    const bool direct = o.table == kAndTable || o.table == kOrTable || o.table == kXorTable || o.table == kAndNotTable;
    if (!direct || (o.table != kAndNotTable && better_second(0) && !better_second(1))) o.exchange(0, 1);
    if (o.table != kAndTable && o.table != kOrTable && o.table != kXorTable && o.table != kAndNotTable)
      return binary_table(o);
    const int first = in_register(o.in[0]);
    const bool from_memory = better_second(1);
    const int second = from_memory ? -1 : in_register(o.in[1]);
    const int to = o.dies[0] ? first : !from_memory && o.dies[1] ? second : take_register();
    if (from_memory)
      two(o.table, reg(to), reg(first), home(o.in[1]));
    else
      two(o.table, reg(to), reg(first), reg(second));
    return to;
  }

  void two(std::uint8_t table, const Vec& to, const Vec& first, const Xbyak::Operand& last) {
    switch (table) {
      case kAndTable: wide_ ? vpandq(to, first, last) : vpand(to, first, last); break;
      case kOrTable: wide_ ? vporq(to, first, last) : vpor(to, first, last); break;
      case kXorTable: wide_ ? vpxorq(to, first, last) : vpxor(to, first, last); break;
      default: wide_ ? vpandnq(to, first, last) : vpandn(to, first, last); break;
    }
  }

  // One of the other functions of two values, such as an inverted one: covers make them, with vpternlogq at hand.
  int binary_table(Operands o) {
    if (!o.dies[0] && o.dies[1]) o.exchange(0, 1);
    const int first = in_register(o.in[0]), second = in_register(o.in[1]);
    int to = first;
    if (!o.dies[0]) {
      to = take_register();
      copy(to, first);
    }
    vpternlogq(reg(to), reg(second), reg(second), o.table);
    return to;
  }

  // vpternlogq writes over its first operand: best one that dies here, and stands in a register already.
  int ternary(Operands o) {
    unsigned best = 0;
    const auto rank = [&](unsigned k) { return (o.dies[k] ? 2 : 0) + (where_[o.in[k]] >= 0 ? 1 : 0); };
    for (const unsigned k : {1u, 2u})
      if (rank(k) > rank(best)) best = k;
    if (best) o.exchange(0, best);
    const auto in_memory = [&](unsigned k) { return where_[o.in[k]] < 0 && o.dies[k]; };
    if (in_memory(1) && !in_memory(2)) o.exchange(1, 2);
    const int first = in_register(o.in[0]), second = in_register(o.in[1]);
    const bool from_memory = in_memory(2);
    const int third = from_memory ? -1 : in_register(o.in[2]);
    int to = first;
    if (!o.dies[0]) {
      to = take_register();
      copy(to, first);
    }
    if (from_memory)
      vpternlogq(reg(to), reg(second), home(o.in[2]), o.table);
    else
      vpternlogq(reg(to), reg(second), reg(third), o.table);
    return to;
  }

  const LutProgram& program_;
  const SimPlaces& places_;
  bool wide_;
  int bytes_, registers_;
  const Xbyak::Reg64 offset_ = r8;
  std::uint32_t now_ = 0;
  std::vector<std::array<std::uint32_t, 3>> next_;  // [lut][operand] the next function that reads it, or kNever
  std::vector<std::uint32_t> first_use_;            // [lut]
  std::vector<int> where_;                          // [value] register, or -1
  std::vector<int> slot_;                           // [value] in scratch memory, or -1
  std::vector<const SimPlace*> output_;             // [value]
  std::array<std::uint32_t, 32> holds_{};           // [register] value, or kNever
  std::array<std::uint32_t, 32> use_{};             // [register] the next function that reads it
  std::vector<int> free_slots_;
  std::size_t slots_ = 0;
};

// Pages that are written first and executed then, never both at once.
class CodePages {
 public:
  explicit CodePages(std::size_t size) : size_(size) {
    memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) memory_ = nullptr;
  }
  ~CodePages() {
    if (memory_) munmap(memory_, size_);
  }
  CodePages(const CodePages&) = delete;
  CodePages& operator=(const CodePages&) = delete;
  void* memory() const { return memory_; }
  std::size_t size() const { return size_; }
  bool make_executable() { return mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0; }

 private:
  void* memory_;
  std::size_t size_;
};

class NativeCode : public SimEngine {
 public:
  NativeCode(std::unique_ptr<CodePages> pages, int word_bits, std::size_t spill_bytes)
      : SimEngine(true, word_bits), pages_(std::move(pages)) {
    void* memory = pages_->memory();
    std::memcpy(&function_, &memory, sizeof(memory));
    scratch_bytes_ = spill_bytes;
  }
  void run(const SimMemory& m, std::size_t words) const override {
    if (words) function_(m.scratch, m.board, m.next, m.fire, words * 8);
  }

 private:
  std::unique_ptr<CodePages> pages_;
  void (*function_)(std::uint8_t*, const std::uint8_t*, std::uint8_t*, const std::uint8_t*, std::size_t) = nullptr;
};

bool near(const std::vector<SimPlace>& places) {
  return std::all_of(places.begin(), places.end(), [](const SimPlace& place) {
    return place.bytes > -kMaxDisplacement && place.bytes < kMaxDisplacement;
  });
}

}  // namespace

std::unique_ptr<SimEngine> make_native(const SimProgram& program, const SimPlaces& places, int word_bits) {
  const bool avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
  const bool wide = word_bits == 0 ? avx512 : word_bits == 512;
  if ((wide && !avx512) || !avx2 || (word_bits != 0 && word_bits != 256 && word_bits != 512)) return nullptr;
  if (program.ops.size() > kMaxOps || !near(places.inputs) || !near(places.outputs) ||
      places.scratch_offset > kMaxDisplacement)
    return nullptr;
  const LutProgram luts = wide ? cover_with_luts(program) : plain_luts(program);
  // Loads, spills, copy, operation and store of a function; pages that are not written cost nothing.
  constexpr std::size_t kMostBytes = 128, kStart = 4096;
  auto pages = std::make_unique<CodePages>(kStart + kMostBytes * luts.luts.size());
  if (!pages->memory()) return nullptr;
  try {
    Generator generator(luts, places, wide, pages->memory(), pages->size());
    generator.run();
    if (!pages->make_executable()) return nullptr;
    return std::make_unique<NativeCode>(std::move(pages), wide ? 512 : 256, generator.spill_bytes());
  } catch (const Xbyak::Error&) {
    return nullptr;  // the interpreter can do it
  }
}

}  // namespace espalier

#else

namespace espalier {

std::unique_ptr<SimEngine> make_native(const SimProgram&, const SimPlaces&, int) { return nullptr; }

}  // namespace espalier

#endif
