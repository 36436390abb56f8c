#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "circuit/sim_shift.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/highway.h>

#include "circuit/sim_shift.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// All rows as one stretch of words; what crosses from row to row at the edges is put right afterwards.
void shift_words(const std::uint64_t* HWY_RESTRICT in, std::size_t words, std::uint64_t* HWY_RESTRICT west,
                 std::uint64_t* HWY_RESTRICT east) {
  const hn::CappedTag<std::uint64_t, 8> d;
  for (std::size_t w = 0; w < words; w += hn::Lanes(d)) {
    const auto here = hn::LoadU(d, in + w);
    if (west) hn::StoreU(hn::Or(hn::Add(here, here), hn::ShiftRight<63>(hn::LoadU(d, in + w - 1))), d, west + w);
    if (east) hn::StoreU(hn::Or(hn::ShiftRight<1>(here), hn::ShiftLeft<63>(hn::LoadU(d, in + w + 1))), d, east + w);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(shift_words);

void shift_rows(const std::uint64_t* in, const ShiftShape& shape, std::uint64_t* west, std::uint64_t* east) {
  HWY_DYNAMIC_DISPATCH(shift_words)(in, shape.rows * shape.row_words, west, east);
  for (std::size_t y = 0; y < shape.rows; ++y) {
    const std::size_t first = y * shape.row_words, last = first + shape.row_words - 1;
    if (west) west[first] = (in[first] << 1) | (shape.periodic ? in[last] >> shape.last_bit & 1 : 0);
    if (east) east[last] = in[last] >> 1 | (shape.periodic ? (in[first] & 1) << shape.last_bit : 0);
  }
}

}  // namespace espalier
#endif
