#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "netlist/sim_interpreter.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "netlist/sim_interpreter.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class F>
HWY_INLINE void each_word(D d, std::uint64_t* to, const std::uint64_t* a, const std::uint64_t* b, std::size_t words,
                          F f) {
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  if (words == SimInterpreter::kBlockWords) {  // nearly always: a loop whose length the compiler knows
    for (std::size_t w = 0; w < SimInterpreter::kBlockWords; w += kLanes)
      hn::StoreU(f(hn::LoadU(d, a + w), hn::LoadU(d, b + w)), d, to + w);
  } else {
    for (std::size_t w = 0; w < words; w += kLanes) hn::StoreU(f(hn::LoadU(d, a + w), hn::LoadU(d, b + w)), d, to + w);
  }
}

template <class D>
void run_steps(D d, const SimInterpreter::Step* steps, std::size_t count, std::uint64_t* const* at, std::size_t words) {
  using V = hn::Vec<D>;
  for (std::size_t i = 0; i < count; ++i) {
    const SimInterpreter::Step& s = steps[i];
    std::uint64_t* to = at[s.to];
    const std::uint64_t *a = at[s.a], *b = at[s.b];
    switch (s.code) {
      case SimCode::kAnd: each_word(d, to, a, b, words, [](V x, V y) { return hn::And(x, y); }); break;
      case SimCode::kOr: each_word(d, to, a, b, words, [](V x, V y) { return hn::Or(x, y); }); break;
      case SimCode::kXor: each_word(d, to, a, b, words, [](V x, V y) { return hn::Xor(x, y); }); break;
      case SimCode::kAndNot: each_word(d, to, a, b, words, [](V x, V y) { return hn::AndNot(x, y); }); break;
      case SimCode::kCopy: each_word(d, to, a, a, words, [](V x, V) { return x; }); break;
      case SimCode::kNot: each_word(d, to, a, a, words, [](V x, V) { return hn::Not(x); }); break;
      case SimCode::kZero: each_word(d, to, to, to, words, [d](V, V) { return hn::Zero(d); }); break;
      case SimCode::kOnes: each_word(d, to, to, to, words, [d](V, V) { return hn::Set(d, ~std::uint64_t{0}); }); break;
    }
  }
}

void run_block(const SimInterpreter::Step* steps, std::size_t count, std::uint64_t* const* at, std::size_t words,
               int word_bits) {
  switch (word_bits) {
    case 64: return run_steps(hn::CappedTag<std::uint64_t, 1>(), steps, count, at, words);
    case 128: return run_steps(hn::CappedTag<std::uint64_t, 2>(), steps, count, at, words);
    case 256: return run_steps(hn::CappedTag<std::uint64_t, 4>(), steps, count, at, words);
    default: return run_steps(hn::CappedTag<std::uint64_t, 8>(), steps, count, at, words);
  }
}

int word_width() { return static_cast<int>(64 * hn::Lanes(hn::CappedTag<std::uint64_t, 8>())); }

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>

#include "espalier/error.hpp"
#include "espalier/simulator.hpp"

namespace espalier {

HWY_EXPORT(run_block);
HWY_EXPORT(word_width);

int widest_word() { return HWY_DYNAMIC_DISPATCH(word_width)(); }

SimInterpreter::SimInterpreter(const SimProgram& program, const std::vector<SimPlace>& inputs,
                               const std::vector<SimPlace>& outputs, std::int64_t slot_bytes, int word_bits)
    : word_bits_(word_bits ? word_bits : widest_word()) {
  if (word_bits_ != 64 && word_bits_ != 128 && word_bits_ != 256 && word_bits_ != 512)
    fail("word width", fmt::format("{} bits", word_bits), "64, 128, 256 or 512");
  if (word_bits_ > widest_word())
    fail("word width", fmt::format("{} bits", word_bits), fmt::format("at most {} on this machine", widest_word()));
  places_ = inputs;
  places_.insert(places_.end(), outputs.begin(), outputs.end());
  fixed_places_ = places_.size();

  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> place(program.values(), kNone), last_use(program.values(), 0);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) place[i] = i;
  // An output is written where it belongs at once; later readers read it there.
  for (std::uint32_t o = 0; o < outputs.size(); ++o)
    place[program.outputs[o]] = static_cast<std::uint32_t>(inputs.size()) + o;
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) last_use[program.ops[i].a] = last_use[program.ops[i].b] = i;
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    const auto& [code, a, b] = program.ops[i];
    const auto value = static_cast<std::uint32_t>(program.inputs + i);
    const bool nullary = code == SimCode::kZero || code == SimCode::kOnes;
    const std::uint32_t from_a = nullary ? 0 : place[a], from_b = nullary ? 0 : place[b];
    const auto release = [&](std::uint32_t v) {
      if (place[v] >= fixed_places_ && place[v] != kNone && last_use[v] == i) free.push_back(place[v]);
    };
    if (!nullary) {
      release(a);
      if (b != a) release(b);
    }
    if (place[value] == kNone) {
      if (free.empty()) free.push_back(static_cast<std::uint32_t>(fixed_places_ + slots_++));
      place[value] = free.back();
      free.pop_back();
      if (last_use[value] <= i) free.push_back(place[value]);  // nobody reads it
    }
    steps_.push_back({code, place[value], nullary ? place[value] : from_a, nullary ? place[value] : from_b});
  }
  for (std::size_t s = 0; s < slots_; ++s)
    places_.push_back({SimPlace::kArena, slot_bytes + static_cast<std::int64_t>(s * kBlockWords * 8)});
}

void SimInterpreter::run(std::uint8_t* arena, const std::uint8_t* board, std::uint8_t* next, std::size_t words) const {
  const auto kernel = HWY_DYNAMIC_DISPATCH(run_block);
  std::vector<std::uint64_t*> at(places_.size());
  for (std::size_t first = 0; first < words; first += kBlockWords) {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const SimPlace& place = places_[p];
      std::uint8_t* base = place.base == SimPlace::kArena   ? arena
                           : place.base == SimPlace::kBoard ? const_cast<std::uint8_t*>(board)  // only read
                                                            : next;
      at[p] = reinterpret_cast<std::uint64_t*>(base + place.bytes) + (p < fixed_places_ ? first : 0);
    }
    kernel(steps_.data(), steps_.size(), at.data(), std::min(kBlockWords, words - first), word_bits_);
  }
}

}  // namespace espalier
#endif
