#include "netlist/sim_native.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <sys/mman.h>

#include <cstring>
#include <limits>

#include "netlist/sim_assembler.hpp"

namespace espalier {
namespace {

constexpr int kRegisters = 16;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxOps = 1u << 20;
constexpr std::int64_t kMaxDisplacement = std::numeric_limits<std::int32_t>::max();

// Walks the program once, keeping values in registers; the one used furthest in the future leaves first.
class Generator {
 public:
  Generator(const SimProgram& program, const std::vector<SimPlace>& inputs, const std::vector<SimPlace>& outputs,
            std::int64_t spill_bytes)
      : program_(program),
        inputs_(inputs),
        spill_bytes_(spill_bytes),
        uses_(program.values()),
        past_uses_(program.values()),
        where_(program.values(), -1),
        spilled_(program.values(), -1),
        output_(program.values(), nullptr) {
    for (std::size_t o = 0; o < outputs.size(); ++o) output_[program.outputs[o]] = &outputs[o];
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      if (reads_a(program.ops[i].code)) uses_[program.ops[i].a].push_back(i);
      if (reads_b(program.ops[i].code)) uses_[program.ops[i].b].push_back(i);
    }
  }

  const std::vector<std::uint8_t>& run() {
    code_.begin_loop();
    for (now_ = 0; now_ < program_.ops.size(); ++now_) emit(program_.ops[now_]);
    code_.end_loop();
    return code_.bytes();
  }
  std::size_t spill_room() const { return 32 * spill_slots_; }

 private:
  static bool reads_a(SimCode code) { return code != SimCode::kZero && code != SimCode::kOnes; }
  static bool reads_b(SimCode code) { return code <= SimCode::kAndNot; }

  // The first operation from `op` on that reads the value; op is now_ or the one after.
  std::uint32_t use_from(std::uint32_t value, std::uint32_t op) {
    const std::vector<std::uint32_t>& uses = uses_[value];
    std::size_t& past = past_uses_[value];
    while (past < uses.size() && uses[past] < now_) ++past;
    std::size_t at = past;
    while (at < uses.size() && uses[at] < op) ++at;
    return at < uses.size() ? uses[at] : kNever;
  }
  bool dies_now(std::uint32_t value) { return use_from(value, now_ + 1) == kNever; }
  static SimAssembler::Memory memory(const SimPlace& place) {
    return {static_cast<int>(place.base), true, static_cast<std::int32_t>(place.bytes)};
  }
  SimAssembler::Memory home(std::uint32_t value) const {  // of a value that is in no register
    if (value < program_.inputs) return memory(inputs_[value]);
    return {0, false, static_cast<std::int32_t>(spill_bytes_ + 32 * spilled_[value])};
  }

  int free_register(std::uint32_t keep_a, std::uint32_t keep_b) {
    int victim = -1;
    std::uint32_t furthest = 0;
    for (int r = 0; r < kRegisters; ++r) {
      if (holds_[r] == kNever) return r;
      if (holds_[r] == keep_a || holds_[r] == keep_b) continue;
      const std::uint32_t use = use_from(holds_[r], now_);
      if (victim < 0 || use > furthest) {
        victim = r;
        furthest = use;
      }
    }
    const std::uint32_t value = holds_[victim];
    if (furthest != kNever && value >= program_.inputs && spilled_[value] < 0) {
      spilled_[value] = static_cast<std::int32_t>(free_slots_.empty() ? spill_slots_++ : free_slots_.back());
      if (!free_slots_.empty()) free_slots_.pop_back();
      code_.store(victim, home(value));
    }
    where_[value] = -1;
    holds_[victim] = kNever;
    return victim;
  }
  int in_register(std::uint32_t value, std::uint32_t keep) {
    if (where_[value] >= 0) return where_[value];
    const int r = free_register(value, keep);
    code_.load(r, home(value));
    holds_[r] = value;
    where_[value] = r;
    return r;
  }
  void release(std::uint32_t value) {
    if (!dies_now(value)) return;
    if (where_[value] >= 0) holds_[where_[value]] = kNever;
    where_[value] = -1;
    if (spilled_[value] >= 0) free_slots_.push_back(static_cast<std::size_t>(spilled_[value]));
    spilled_[value] = -1;
  }

  void emit(const SimOp& op) {
    const auto value = static_cast<std::uint32_t>(program_.inputs + now_);
    int to = 0;
    switch (op.code) {
      case SimCode::kZero:
      case SimCode::kOnes:
        to = free_register(kNever - 1, kNever - 1);
        code_.op(op.code == SimCode::kZero ? SimAssembler::kPxor : SimAssembler::kPcmpeqd, to, to, to);
        break;
      case SimCode::kCopy:
      case SimCode::kNot: {
        const int a = in_register(op.a, op.a);
        to = free_register(op.a, op.a);
        code_.op(SimAssembler::kPcmpeqd, to, to, to);
        code_.op(op.code == SimCode::kNot ? SimAssembler::kPxor : SimAssembler::kPand, to, to, a);
        break;
      }
      default: two_inputs(op, to);
    }
    if (reads_a(op.code)) release(op.a);
    if (reads_b(op.code)) release(op.b);
    if (holds_[to] == kNever) {
      holds_[to] = value;
      where_[value] = to;
    }
    if (const SimPlace* place = output_[value]) code_.store(to, memory(*place));
    release(value);
  }

  void two_inputs(const SimOp& op, int& to) {
    constexpr SimAssembler::Opcode kCodes[] = {SimAssembler::kPand, SimAssembler::kPor, SimAssembler::kPxor,
                                               SimAssembler::kPandn};
    std::uint32_t a = op.a, b = op.b;
    // Commuting operations take the value that is in a register first.
    if (op.code != SimCode::kAndNot && where_[a] < 0 && where_[b] >= 0) std::swap(a, b);
    const int first = in_register(a, b);
    // The last use of a value in memory is an operand in memory.
    const bool from_memory = a != b && where_[b] < 0 && dies_now(b);
    const int second = from_memory ? -1 : in_register(b, a);
    // The result may take the register of an operand that dies here.
    if (dies_now(a))
      to = first;
    else if (!from_memory && dies_now(b))
      to = second;
    else
      to = free_register(a, b);
    const SimAssembler::Opcode code = kCodes[static_cast<int>(op.code)];
    if (from_memory)
      code_.op(code, to, first, home(b));
    else
      code_.op(code, to, first, second);
  }

  const SimProgram& program_;
  const std::vector<SimPlace>& inputs_;
  std::int64_t spill_bytes_;
  SimAssembler code_;
  std::uint32_t now_ = 0;
  std::vector<std::vector<std::uint32_t>> uses_;  // [value] ops, ascending
  std::vector<std::size_t> past_uses_;
  std::vector<int> where_;               // [value] register, or -1
  std::vector<std::int32_t> spilled_;    // [value] slot, or -1
  std::vector<const SimPlace*> output_;  // [value]
  std::uint32_t holds_[kRegisters] = {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever,
                                      kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever};
  std::vector<std::size_t> free_slots_;
  std::size_t spill_slots_ = 0;
};

bool fits(const std::vector<SimPlace>& places) {
  for (const SimPlace& place : places)
    if (place.bytes - 32 != static_cast<std::int32_t>(place.bytes - 32) || place.bytes > kMaxDisplacement) return false;
  return true;
}

}  // namespace

std::unique_ptr<NativeCode> NativeCode::make(const SimProgram& program, const std::vector<SimPlace>& inputs,
                                             const std::vector<SimPlace>& outputs, std::int64_t spill_bytes) {
  if (!__builtin_cpu_supports("avx2") || program.ops.size() > kMaxOps || !fits(inputs) || !fits(outputs) ||
      spill_bytes > std::numeric_limits<std::int32_t>::max() / 2)
    return nullptr;
  Generator generator(program, inputs, outputs, spill_bytes);
  const std::vector<std::uint8_t>& bytes = generator.run();
  void* pages = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, bytes.data(), bytes.size());
  // Never writable and executable at once.
  if (mprotect(pages, bytes.size(), PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, bytes.size());
    return nullptr;
  }
  std::unique_ptr<NativeCode> code(new NativeCode);
  code->pages_ = pages;
  code->page_bytes_ = bytes.size();
  code->spill_room_ = generator.spill_room();
  std::memcpy(&code->function_, &pages, sizeof(pages));
  return code;
}

NativeCode::~NativeCode() { munmap(pages_, page_bytes_); }

}  // namespace espalier

#else

namespace espalier {

std::unique_ptr<NativeCode> NativeCode::make(const SimProgram&, const std::vector<SimPlace>&,
                                             const std::vector<SimPlace>&, std::int64_t) {
  return nullptr;
}
NativeCode::~NativeCode() = default;

}  // namespace espalier

#endif
