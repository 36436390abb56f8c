#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "netlist/fire_mask.cpp"
#include <hwy/foreach_target.h>
// Highway includes this file once for each instruction set; the part after HWY_ONCE is compiled once.
#include <hwy/highway.h>

#include <algorithm>

#include "netlist/fire_mask.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// u < threshold for four groups, one more digit, from the lowest on: `digit(group)` holds that of 255 - u. The
// threshold is `whole` or, where `up` is ones, whole + 1: a digit in which the two differ is chosen by `up`, as no
// branch could foresee it; all other branches go the same way for a whole board.
template <class V, class Digit>
HWY_INLINE void add_digit(V* HWY_RESTRICT below, std::uint32_t whole, int k, V up, Digit digit) {
  const bool one = whole >> k & 1, one_if_up = (whole + 1) >> k & 1;
  if (one && one_if_up) {
    for (std::size_t g = 0; g < 4; ++g) below[g] = hn::Or(digit(g), below[g]);
  } else if (!one && !one_if_up) {
    for (std::size_t g = 0; g < 4; ++g) below[g] = hn::And(digit(g), below[g]);
  } else {
    const V ones = one ? hn::Not(up) : up;
    for (std::size_t g = 0; g < 4; ++g) {
      const V d = digit(g);
      below[g] = hn::Or(hn::And(d, below[g]), hn::And(ones, hn::Or(d, below[g])));
    }
  }
}

// One supergroup: 16 words. The eight 32-bit lanes of a digit plane are handled as many at a time as fit.
HWY_INLINE void fire_super(std::uint32_t first_index, FireMask::Key key, std::uint32_t whole, bool round_up,
                           std::uint64_t* HWY_RESTRICT out) {
  const hn::CappedTag<std::uint32_t, 8> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t N = hn::Lanes(d);
  const V first = hn::Set(d, FireMask::kFirst), second = hn::Set(d, FireMask::kSecond), mid = hn::Set(d, key.mid);
  const V up = hn::Set(d, round_up ? ~std::uint32_t{0} : 0), plane_stride = hn::Set(d, 8 * FireMask::kStride);
  for (std::size_t lane = 0; lane < 8; lane += N) {
    V plane[16];
    V start = hn::Add(hn::Mul(hn::Iota(d, 0), hn::Set(d, FireMask::kStride)),
                      hn::Set(d, (first_index + static_cast<std::uint32_t>(lane)) * FireMask::kStride + key.add));
    for (std::uint32_t p = 0; p < 16; ++p, start = hn::Add(start, plane_stride)) {
      V x = hn::Mul(hn::Xor(start, hn::ShiftRight<16>(start)), first);
      x = hn::Mul(hn::Add(hn::Xor(x, hn::ShiftRight<15>(x)), mid), second);
      plane[p] = hn::Xor(x, hn::ShiftRight<16>(x));
    }
    V below[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int k = 0; k < 4; ++k)
      add_digit(below, whole, k, up, [&](std::size_t g) HWY_ATTR {
        return hn::Xor(plane[4 * ((g + 1) % 4) + 3 - k], plane[4 * ((g + 2) % 4) + 3 - k]);
      });
    for (int k = 4; k < 8; ++k)
      add_digit(below, whole, k, up, [&](std::size_t g) HWY_ATTR { return plane[4 * g + 7 - k]; });
    // Two 32-bit lanes make a word, the lower one first (little-endian, as every supported machine).
    for (std::size_t g = 0; g < 4; ++g) hn::StoreU(below[g], d, reinterpret_cast<std::uint32_t*>(out) + 8 * g + lane);
  }
}

void fire_supers(const FireMask& mask, std::uint64_t super, std::size_t count, std::uint64_t* HWY_RESTRICT out) {
  const std::uint32_t whole = mask.whole();
  const FireMask::Key key = mask.key();
  for (std::size_t i = 0; i < count; ++i, out += FireMask::kSuperWords) {
    const std::uint32_t threshold = mask.threshold(super + i);
    if (threshold == 0 || threshold >= 256)
      std::fill(out, out + FireMask::kSuperWords, threshold ? ~std::uint64_t{0} : 0);
    else
      fire_super(static_cast<std::uint32_t>(super + i) * 128, key, whole, threshold != whole, out);
  }
}

}  // namespace espalier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(fire_supers);

FireMask::FireMask(std::uint64_t seed, std::uint32_t step, double rate) {
  const PhiloxBlock block = Random(seed, Purpose::kFire, step).block(0);
  bits_ = {block[0], block[1]};
  rounding_ = {block[2], block[3]};
  const double scaled = std::clamp(rate, 0.0, 1.0) * 256;
  whole_ = static_cast<std::uint32_t>(scaled);
  fraction_ = static_cast<std::uint64_t>((scaled - whole_) * 4294967296.0);
}

std::uint64_t FireMask::word(std::uint64_t index) const {
  const std::uint64_t super = index / kSuperWords;
  const std::uint32_t group = index % kSuperWords / kGroupWords, lane = 2 * (index % kGroupWords);
  const auto plane = [&](std::uint32_t g, std::uint32_t digit) {
    const std::uint32_t first = static_cast<std::uint32_t>(super) * 128 + (g % 4 * 4 + digit) * 8 + lane;
    return hash(first, bits_) | std::uint64_t{hash(first + 1, bits_)} << 32;
  };
  const std::uint32_t limit = threshold(super);
  if (limit >= 256) return ~std::uint64_t{0};
  std::uint64_t below = 0;
  for (int k = 0; k < 8; ++k) {  // digits from the lowest
    const auto digit = static_cast<std::uint32_t>(3 - k % 4);
    const std::uint64_t bits = k < 4 ? plane(group + 1, digit) ^ plane(group + 2, digit) : plane(group, digit);
    below = limit >> k & 1 ? bits | below : bits & below;
  }
  return below;
}

void FireMask::fill(std::uint64_t first, std::span<std::uint64_t> out) const {
  const auto kernel = HWY_DYNAMIC_DISPATCH(fire_supers);
  const std::size_t skip = first % kSuperWords;
  std::uint64_t super = first / kSuperWords, whole[kSuperWords];
  std::size_t done = 0;
  if (skip) {
    kernel(*this, super++, 1, whole);
    done = std::min(out.size(), kSuperWords - skip);
    std::copy_n(whole + skip, done, out.begin());
  }
  const std::size_t supers = (out.size() - done) / kSuperWords;
  kernel(*this, super, supers, out.data() + done);
  done += supers * kSuperWords;
  if (done == out.size()) return;
  kernel(*this, super + supers, 1, whole);
  std::copy_n(whole, out.size() - done, out.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace espalier
#endif
