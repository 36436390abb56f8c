#include "logic/choice_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "espalier/netlist.hpp"
#include "espalier/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/choice_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target:
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "logic/lanes8-inl.hpp"

#ifndef ESPALIER_SOFTMAX_TABLE
#define ESPALIER_SOFTMAX_TABLE
namespace espalier {
// The gate table by columns, so that a column is two groups of eight lanes.
struct GateColumns {
  alignas(64) float column[4][kGates];
  constexpr GateColumns() : column{} {
    for (int k = 0; k < 4; ++k)
      for (int gate = 0; gate < kGates; ++gate) column[k][gate] = kGateCoefficients[gate][k];
  }
};
inline constexpr GateColumns kColumns;
}  // namespace espalier
#endif

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {

constexpr int kVectors = kGates / kWidth;

// ((x0+x2)+(x1+x3)) + ... of all sixteen, folded to eight first.
HWY_INLINE float sum16(const Vec (&x)[kVectors]) {
  const Tag d;
  HWY_ALIGN float y[8];
  for (int part = 0; part < kParts; ++part) hn::Store(hn::Add(x[part], x[part + kParts]), d, y + part * kWidth);
  return ((y[0] + y[2]) + (y[1] + y[3])) + ((y[4] + y[6]) + (y[5] + y[7]));
}

bool softmax_forward(int gates, const float* logits, const std::int32_t* row, float inverse_temperature, float* p,
                     float* c) {
  const Tag d;
  const Vec scale = hn::Set(d, inverse_temperature);
  Vec wrong = hn::Zero(d);  // where a logit is not finite, its difference from itself is no number
  for (int g = 0; g < gates; ++g, p += kGates, c += 4) {
    const float* l = logits + static_cast<std::ptrdiff_t>(row[g]) * kGates;
    Vec x[kVectors];
    Vec largest = hn::Load(d, l);
    for (int i = 0; i < kVectors; ++i) {
      x[i] = hn::Load(d, l + i * kWidth);
      largest = hn::Max(largest, x[i]);
      wrong = hn::Or(wrong, hn::Sub(x[i], x[i]));
    }
    const Vec top = hn::MaxOfLanes(d, largest);
    for (int i = 0; i < kVectors; ++i) x[i] = hn::Exp(d, hn::Mul(hn::Sub(x[i], top), scale));
    const Vec total = hn::Set(d, sum16(x));
    Vec sums[4][kParts];
    for (int i = 0; i < kVectors; ++i) {
      x[i] = hn::Div(x[i], total);
      hn::Store(x[i], d, p + i * kWidth);
    }
    for (int k = 0; k < 4; ++k)
      for (int part = 0; part < kParts; ++part)
        sums[k][part] = hn::MulAdd(x[part + kParts], hn::Load(d, kColumns.column[k] + 8 + part * kWidth),
                                   hn::Mul(x[part], hn::Load(d, kColumns.column[k] + part * kWidth)));
    c[0] = c[1] = c[2] = c[3] = 0;
    add_four_sums(sums, c);
  }
  return hn::AllFalse(d, hn::IsNaN(wrong));
}

double sum_entropies(int gates, const float* logits) {
  const Tag d;
  double total = 0;
  for (int g = 0; g < gates; ++g, logits += kGates) {
    Vec x[kVectors], weighted[kVectors];
    Vec largest = hn::LoadU(d, logits);
    for (int i = 0; i < kVectors; ++i) {
      x[i] = hn::LoadU(d, logits + i * kWidth);
      largest = hn::Max(largest, x[i]);
    }
    const Vec top = hn::MaxOfLanes(d, largest);
    for (int i = 0; i < kVectors; ++i) {
      const Vec below = hn::Sub(x[i], top);
      x[i] = hn::Exp(d, below);
      weighted[i] = hn::Mul(x[i], below);
    }
    const float sum = sum16(x);  // at least 1
    total += std::log(sum) - sum16(weighted) / sum;
  }
  return total;
}

void softmax_backward(int gates, const float* p, const float* dc, const std::int32_t* row, float inverse_temperature,
                      float* dlogits) {
  const Tag d;
  const Vec scale = hn::Set(d, inverse_temperature);
  for (int g = 0; g < gates; ++g, p += kGates, dc += 4) {
    float* dl = dlogits + static_cast<std::ptrdiff_t>(row[g]) * kGates;
    // dp counts from that of the likeliest gate: where one gate has nearly all of p, dp less its mean would
    // otherwise be a small difference of large numbers.
    const auto& base = kGateCoefficients[std::max_element(p, p + kGates) - p];
    Vec dp[kVectors], weighted[kVectors];
    for (int i = 0; i < kVectors; ++i) {
      dp[i] = hn::Zero(d);
      for (int k = 0; k < 4; ++k)
        dp[i] = hn::MulAdd(hn::Set(d, dc[k]),
                           hn::Sub(hn::Load(d, kColumns.column[k] + i * kWidth), hn::Set(d, base[k])), dp[i]);
      weighted[i] = hn::Mul(hn::Load(d, p + i * kWidth), dp[i]);
    }
    const Vec mean = hn::Set(d, sum16(weighted));
    for (int i = 0; i < kVectors; ++i) {
      const Vec grad = hn::Mul(hn::Mul(hn::Load(d, p + i * kWidth), hn::Sub(dp[i], mean)), scale);
      hn::Store(hn::Add(hn::Load(d, dl + i * kWidth), grad), d, dl + i * kWidth);
    }
  }
}

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

HWY_EXPORT(softmax_forward);
HWY_EXPORT(softmax_backward);
HWY_EXPORT(sum_entropies);
HWY_EXPORT(fill_gumbel);

bool gate_softmax_forward(int gates, const float* logits, const std::int32_t* row, float inverse_temperature, float* p,
                          float* c) {
  return HWY_DYNAMIC_DISPATCH(softmax_forward)(gates, logits, row, inverse_temperature, p, c);
}

double gate_entropies(int gates, const float* logits) { return HWY_DYNAMIC_DISPATCH(sum_entropies)(gates, logits); }

void gate_softmax_backward(int gates, const float* p, const float* dc, const std::int32_t* row,
                           float inverse_temperature, float* dlogits) {
  HWY_DYNAMIC_DISPATCH(softmax_backward)(gates, p, dc, row, inverse_temperature, dlogits);
}

void gumbel_noise(std::uint64_t seed, std::uint32_t step, std::uint32_t first_group, int groups, float* noise) {
  HWY_DYNAMIC_DISPATCH(fill_gumbel)(seed, step, first_group, groups, noise);
}

}  // namespace espalier
#endif
