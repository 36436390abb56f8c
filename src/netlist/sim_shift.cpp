#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "netlist/sim_shift.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "netlist/sim_shift.hpp"

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

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(shift_quickly);
HWY_EXPORT(shift_stretch);

void shift_rows(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east) {
  if (HWY_DYNAMIC_DISPATCH(shift_quickly)(in, shape, west, east)) return;
  HWY_DYNAMIC_DISPATCH(shift_stretch)(in, shape.rows * shape.row_words, west, east);
  for (std::size_t y = 0; y < shape.rows; ++y) {
    const std::size_t first = y * shape.row_words, last = first + shape.row_words - 1;
    if (west) west[first] = (in[first] << 1) | (shape.periodic ? in[last] >> shape.last_bit & 1 : 0);
    if (east) east[last] = in[last] >> 1 | (shape.periodic ? (in[first] & 1) << shape.last_bit : 0);
  }
}

}  // namespace espalier
#endif
