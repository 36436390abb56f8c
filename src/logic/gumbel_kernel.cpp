#include "logic/gumbel_kernel.hpp"

#include "espalier/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/gumbel_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::CappedTag<std::uint32_t, 8>;
using Word = hn::Vec<U32>;

// High and low halves of a 32 x 32 bit product, lane by lane.
HWY_INLINE void multiply(Word a, std::uint32_t factor, Word& high, Word& low) {
  const U32 d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * factor;
  low = hn::Set(d, static_cast<std::uint32_t>(product));
  high = hn::Set(d, static_cast<std::uint32_t>(product >> 32));
#else
  const hn::Repartition<std::uint64_t, U32> d64;
  const Word f = hn::Set(d, factor);
  const auto even = hn::MulEven(a, f);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a))), f);
  const Word even32 = hn::BitCast(d, even), odd32 = hn::BitCast(d, odd);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), even32);
  high = hn::OddEven(odd32, hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
}

HWY_INLINE hn::Vec<hn::CappedTag<float, 8>> gumbel(Word bits) {
  const hn::CappedTag<float, 8> df;
  const hn::RebindToSigned<decltype(df)> di;
  // (bits >> 8) + 0.5 over 2^24: inside (0, 1) and exact in float.
  const auto whole = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<8>(bits)));
  const auto u =
      hn::Min(hn::Mul(hn::Add(whole, hn::Set(df, 0.5f)), hn::Set(df, 0x1p-24f)), hn::Set(df, 0x1.fffffep-1f));
  return hn::Neg(hn::Log(df, hn::Neg(hn::Log(df, u))));
}

void fill_gumbel(std::uint64_t seed, std::uint32_t step, std::uint32_t first_group, int groups, float* noise) {
  const U32 d;
  const hn::CappedTag<float, 8> df;
  const int width = static_cast<int>(hn::Lanes(d));
  for (int g = 0; g < groups; ++g, noise += 32)
    for (int lane = 0; lane < 8; lane += width) {
      Word c0 = hn::Iota(d, (first_group + static_cast<std::uint32_t>(g)) * 8 + static_cast<std::uint32_t>(lane));
      Word c1 = hn::Zero(d), c2 = hn::Set(d, step), c3 = hn::Set(d, static_cast<std::uint32_t>(Purpose::kGumbel));
      auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
      for (int round = 0; round < 10; ++round) {
        Word high0, low0, high1, low1;
        multiply(c0, 0xD2511F53, high0, low0);
        multiply(c2, 0xCD9E8D57, high1, low1);
        c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
        c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
        c1 = low1;
        c3 = low0;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
      }
      hn::StoreU(gumbel(c0), df, noise + lane);
      hn::StoreU(gumbel(c1), df, noise + 8 + lane);
      hn::StoreU(gumbel(c2), df, noise + 16 + lane);
      hn::StoreU(gumbel(c3), df, noise + 24 + lane);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(fill_gumbel);

void gumbel_noise(std::uint64_t seed, std::uint32_t step, std::uint32_t first_group, int groups, float* noise) {
  HWY_DYNAMIC_DISPATCH(fill_gumbel)(seed, step, first_group, groups, noise);
}

}  // namespace espalier
#endif
