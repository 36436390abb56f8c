// The vector code of the simulators, for every instruction set: rows shifted to their neighbours, and the interpreter.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "netlist/sim_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "netlist/sim_engine.hpp"

// Once, not for each instruction set:
#ifndef ESPALIER_SIM_STEP
#define ESPALIER_SIM_STEP
namespace espalier {
// An operation on places: inputs, outputs, then slots of the scratch memory.
struct SimStep {
  SimCode code;
  std::uint32_t to, a, b;
};
}  // namespace espalier
#endif

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A cell's western neighbour stands one bit lower; the lowest bit of a word comes from the word before.
template <class V>
HWY_INLINE V seen_from_east(V here, V before) {
  return hn::Or(hn::Add(here, here), hn::ShiftRight<63>(before));
}
template <class V>
HWY_INLINE V seen_from_west(V here, V after) {
  return hn::Or(hn::ShiftRight<1>(here), hn::ShiftLeft<63>(after));
}

// All rows as one stretch of words; what crosses from row to row at the edges is put right afterwards.
void shift_stretch(const std::uint64_t* HWY_RESTRICT in, std::size_t words, std::uint64_t* HWY_RESTRICT west,
                   std::uint64_t* HWY_RESTRICT east) {
  const hn::CappedTag<std::uint64_t, 8> d;
  for (std::size_t w = 0; w < words; w += hn::Lanes(d)) {
    const auto here = hn::LoadU(d, in + w);
    if (west) hn::StoreU(seen_from_east(here, hn::LoadU(d, in + w - 1)), d, west + w);
    if (east) hn::StoreU(seen_from_west(here, hn::LoadU(d, in + w + 1)), d, east + w);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Of two or four words: the word before or after each, where `seam` is the upper half of the vector before and the
// lower half of the one after.
template <class D, class V>
HWY_INLINE V words_before(D d, V here, V seam) {
  if constexpr (hn::MaxLanes(D()) == 2) return seam;
  return hn::CombineShiftRightBytes<8>(d, here, seam);
}
template <class D, class V>
HWY_INLINE V words_after(D d, V here, V seam) {
  if constexpr (hn::MaxLanes(D()) == 2) return seam;
  return hn::CombineShiftRightBytes<8>(d, seam, here);
}

// Rows of whole vectors of whole words: a row's ends meet in the registers.
template <bool kWest, bool kEast, bool kPeriodic>
HWY_INLINE void shift_whole_rows(const std::uint64_t* HWY_RESTRICT in, std::size_t rows, const std::size_t row_words,
                                 std::uint64_t* HWY_RESTRICT west, std::uint64_t* HWY_RESTRICT east) {
  const hn::CappedTag<std::uint64_t, 4> d;
  constexpr std::size_t N = hn::MaxLanes(d);
  const std::size_t end = row_words - N;
  for (; rows > 0; --rows, in += row_words, west += row_words, east += row_words) {
    auto here = hn::LoadU(d, in);
    const auto last = hn::LoadU(d, in + end);
    const auto seam_before = hn::ConcatLowerUpper(d, here, kPeriodic ? last : hn::Zero(d));
    const auto seam_after = hn::ConcatLowerUpper(d, kPeriodic ? here : hn::Zero(d), last);
    auto before = words_before(d, here, seam_before);
    for (std::size_t at = 0; at < end; at += N) {
      if (kWest) hn::StoreU(seen_from_east(here, before), d, west + at);
      if (kEast) hn::StoreU(seen_from_west(here, hn::LoadU(d, in + at + 1)), d, east + at);
      here = hn::LoadU(d, in + at + N);
      before = hn::LoadU(d, in + at + N - 1);
    }
    if (kWest) hn::StoreU(seen_from_east(here, before), d, west + end);
    if (kEast) hn::StoreU(seen_from_west(here, words_after(d, here, seam_after)), d, east + end);
  }
}

template <bool kWest, bool kEast>
void shift_either(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east) {
  if (shape.periodic)
    shift_whole_rows<kWest, kEast, true>(in, shape.rows, shape.row_words, west, east);
  else
    shift_whole_rows<kWest, kEast, false>(in, shape.rows, shape.row_words, west, east);
}

bool shift_quickly(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east) {
  const hn::CappedTag<std::uint64_t, 4> d;
  if (shape.last_bit != 63 || shape.row_words % hn::MaxLanes(d)) return false;
  if (west && east)
    shift_either<true, true>(in, shape, west, east);
  else if (west)
    shift_either<true, false>(in, shape, west, west);
  else
    shift_either<false, true>(in, shape, east, east);
  return true;
}
#else
bool shift_quickly(const std::uint64_t*, const ShiftShape&, std::uint64_t*, std::uint64_t*) { return false; }
#endif

template <class D, class F>
HWY_INLINE void each_word(D d, std::uint64_t* to, const std::uint64_t* a, const std::uint64_t* b, std::size_t words,
                          F f) {
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  if (words == SimEngine::kBlockWords) {  // nearly always: a loop whose length the compiler knows
    for (std::size_t w = 0; w < SimEngine::kBlockWords; w += kLanes)
      hn::StoreU(f(hn::LoadU(d, a + w), hn::LoadU(d, b + w)), d, to + w);
  } else {
    for (std::size_t w = 0; w < words; w += kLanes) hn::StoreU(f(hn::LoadU(d, a + w), hn::LoadU(d, b + w)), d, to + w);
  }
}

template <class D>
void run_steps(D d, const SimStep* steps, std::size_t count, std::uint64_t* const* at, std::size_t words) {
  using V = hn::Vec<D>;
  for (std::size_t i = 0; i < count; ++i) {
    const SimStep& s = steps[i];
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

void run_block(const SimStep* steps, std::size_t count, std::uint64_t* const* at, std::size_t words, int word_bits) {
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

HWY_EXPORT(shift_quickly);
HWY_EXPORT(shift_stretch);
HWY_EXPORT(run_block);
HWY_EXPORT(word_width);

void shift_rows(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east) {
  if (HWY_DYNAMIC_DISPATCH(shift_quickly)(in, shape, west, east)) return;
  HWY_DYNAMIC_DISPATCH(shift_stretch)(in, shape.rows * shape.row_words, west, east);
  for (std::size_t y = 0; y < shape.rows; ++y) {
    const std::size_t first = y * shape.row_words, last = first + shape.row_words - 1;
    if (west) west[first] = (in[first] << 1) | (shape.periodic ? in[last] >> shape.last_bit & 1 : 0);
    if (east) east[last] = in[last] >> 1 | (shape.periodic ? (in[first] & 1) << shape.last_bit : 0);
  }
}

int widest_word() { return HWY_DYNAMIC_DISPATCH(word_width)(); }

namespace {

// Blocks of words are long enough to hide the dispatch, short enough that all live values stay in the first-level
// cache.
class Interpreter : public SimEngine {
 public:
  Interpreter(const SimProgram& program, const SimPlaces& places, int word_bits) : SimEngine(false, word_bits) {
    constexpr std::uint32_t kNone = 0xffffffff;
    std::vector<std::uint32_t> place(program.values(), kNone), last_use(program.values(), 0);
    const auto add_place = [&](const SimPlace& p) {
      places_.push_back(p);
      return static_cast<std::uint32_t>(places_.size() - 1);
    };
    const std::vector<bool> used = used_inputs(program);
    for (std::size_t i = 0; i < program.inputs; ++i)
      if (used[i]) place[i] = add_place(places.inputs[i]);
    // An output is written where it belongs at once; later readers read it there.
    for (std::size_t o = 0; o < program.outputs.size(); ++o) place[program.outputs[o]] = add_place(places.outputs[o]);
    const std::size_t first_slot = places_.size();
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) last_use[program.ops[i].a] = last_use[program.ops[i].b] = i;
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const auto& [code, a, b] = program.ops[i];
      const auto value = static_cast<std::uint32_t>(program.inputs + i);
      const int count = operands(code);
      SimStep step{code, 0, count > 0 ? place[a] : 0, count > 1 ? place[b] : 0};
      const auto release = [&](std::uint32_t v) {
        if (place[v] >= first_slot && place[v] != kNone && last_use[v] == i) free.push_back(place[v]);
      };
      if (count > 0) release(a);
      if (count > 1 && b != a) release(b);
      if (place[value] == kNone) {
        if (free.empty()) {
          free.push_back(add_place(
              {SimPlace::kScratch, places.scratch_offset + static_cast<std::int64_t>(scratch_bytes_), false}));
          scratch_bytes_ += kBlockWords * 8;
        }
        place[value] = free.back();
        free.pop_back();
        if (last_use[value] <= i) free.push_back(place[value]);  // nobody reads it
      }
      step.to = place[value];
      if (count < 1) step.a = step.to;
      if (count < 2) step.b = step.a;
      steps_.push_back(step);
    }
  }

  void run(const SimMemory& memory, std::size_t words) const override {
    const auto kernel = HWY_DYNAMIC_DISPATCH(run_block);
    std::uint8_t* const bases[] = {memory.scratch, const_cast<std::uint8_t*>(memory.board), memory.next,
                                   const_cast<std::uint8_t*>(memory.fire)};  // board and fire are only read
    std::vector<std::uint64_t*> at(places_.size());
    for (std::size_t p = 0; p < places_.size(); ++p)
      at[p] = reinterpret_cast<std::uint64_t*>(bases[places_[p].base] + places_[p].bytes);
    for (std::size_t first = 0; first < words; first += kBlockWords) {
      kernel(steps_.data(), steps_.size(), at.data(), std::min(kBlockWords, words - first), word_bits_);
      for (std::size_t p = 0; p < places_.size(); ++p)
        if (places_[p].moves) at[p] += kBlockWords;
    }
  }

 private:
  std::vector<SimStep> steps_;
  std::vector<SimPlace> places_;
};

}  // namespace

std::unique_ptr<SimEngine> make_interpreter(const SimProgram& program, const SimPlaces& places, int word_bits) {
  if (word_bits != 0 && word_bits != 64 && word_bits != 128 && word_bits != 256 && word_bits != 512)
    fail("word width", fmt::format("{} bits", word_bits), "64, 128, 256 or 512");
  if (word_bits > widest_word())
    fail("word width", fmt::format("{} bits", word_bits), fmt::format("at most {} on this machine", widest_word()));
  return std::make_unique<Interpreter>(program, places, word_bits ? word_bits : widest_word());
}

}  // namespace espalier
#endif
