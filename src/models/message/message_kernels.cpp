#include "models/message/message_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/message/message_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "espalier/message_passing.hpp"
#include "graph/activation-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// --- Products and gathers.

constexpr std::size_t kTileVecs = kTileColumns / kVec;

// One row of a tile into memory, added to what is there or not; only `columns` of it when there are fewer.
template <bool kAdd>
HWY_INLINE void put_row(const Vec (&sum)[kTileVecs], std::size_t columns, float* HWY_RESTRICT row) {
  if (columns >= kTileColumns) {
    for (std::size_t t = 0; t < kTileVecs; ++t)
      hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, row + t * kVec), sum[t]) : sum[t], d, row + t * kVec);
    return;
  }
  HWY_ALIGN float last[kTileColumns];
  for (std::size_t t = 0; t < kTileVecs; ++t) hn::Store(sum[t], d, last + t * kVec);
  for (std::size_t i = 0; i < columns; ++i) row[i] = kAdd ? row[i] + last[i] : last[i];
}

// body(integral_constant r) for r = 0..kRows-1, written out: a loop here would keep a tile's sums in memory
// instead of registers.
template <std::size_t kRows, class Body>
HWY_INLINE void for_each_row(Body&& body) {
  body(std::integral_constant<std::size_t, 0>());
  if constexpr (kRows > 1) body(std::integral_constant<std::size_t, 1>());
  if constexpr (kRows > 2) body(std::integral_constant<std::size_t, 2>());
  if constexpr (kRows > 3) body(std::integral_constant<std::size_t, 3>());
  if constexpr (kRows > 4) body(std::integral_constant<std::size_t, 4>());
  if constexpr (kRows > 5) body(std::integral_constant<std::size_t, 5>());
}

template <std::size_t kRows>
HWY_INLINE void dense_tile(const Panel* panels, std::size_t num_panels, std::size_t inner, std::size_t row,
                           std::size_t tile_at, std::size_t columns, float* HWY_RESTRICT c, std::size_t c_stride) {
  Vec sum[kRows][kTileVecs];
  for (auto& row_sums : sum)
    for (Vec& s : row_sums) s = hn::Zero(d);
  for (std::size_t p = 0; p < num_panels; ++p) {
    const float* HWY_RESTRICT a = panels[p].rows + row * panels[p].stride;
    const std::size_t stride = panels[p].stride;
    const float* HWY_RESTRICT b = panels[p].packed + tile_at;
    for (std::size_t k = 0; k < inner; ++k, b += kTileColumns) {
      Vec right[kTileVecs];
      for (std::size_t t = 0; t < kTileVecs; ++t) right[t] = hn::LoadU(d, b + t * kVec);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vec left = hn::Set(d, a[r * stride + k]);
        for (std::size_t t = 0; t < kTileVecs; ++t) sum[r][t] = hn::MulAdd(left, right[t], sum[r][t]);
      }
    }
  }
  for_each_row<kRows>([&](auto r) HWY_ATTR { put_row<false>(sum[r()], columns, c + r() * c_stride); });
}

// a [rows][kRows] with a stride; b [rows][16] packed.
template <std::size_t kRows>
HWY_INLINE void outer_tile(const float* HWY_RESTRICT a, std::size_t a_stride, const float* HWY_RESTRICT b,
                           std::size_t rows, std::size_t columns, float* HWY_RESTRICT c, std::size_t c_stride) {
  Vec sum[kRows][kTileVecs];
  for (auto& row_sums : sum)
    for (Vec& s : row_sums) s = hn::Zero(d);
  for (std::size_t i = 0; i < rows; ++i, a += a_stride, b += kTileColumns) {
    Vec right[kTileVecs];
    for (std::size_t t = 0; t < kTileVecs; ++t) right[t] = hn::LoadU(d, b + t * kVec);
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vec left = hn::Set(d, a[r]);
      for (std::size_t t = 0; t < kTileVecs; ++t) sum[r][t] = hn::MulAdd(left, right[t], sum[r][t]);
    }
  }
  for_each_row<kRows>([&](auto r) HWY_ATTR { put_row<true>(sum[r()], columns, c + r() * c_stride); });
}

// body(integral_constant rows, first) over tiles of six rows and a shorter last one.
template <class Body>
HWY_INLINE void for_row_tiles(std::size_t rows, Body&& body) {
  std::size_t at = 0;
  for (; at + kTileRows <= rows; at += kTileRows) body(std::integral_constant<std::size_t, kTileRows>(), at);
  switch (rows - at) {
    case 5: body(std::integral_constant<std::size_t, 5>(), at); break;
    case 4: body(std::integral_constant<std::size_t, 4>(), at); break;
    case 3: body(std::integral_constant<std::size_t, 3>(), at); break;
    case 2: body(std::integral_constant<std::size_t, 2>(), at); break;
    case 1: body(std::integral_constant<std::size_t, 1>(), at); break;
    default: break;
  }
}

void DenseRows(const Panel* panels, std::size_t num_panels, std::size_t inner, std::size_t rows, std::size_t columns,
               float* c, std::size_t c_stride) {
  for (std::size_t column = 0; column < columns; column += kTileColumns)
    for_row_tiles(rows, [&](auto count, std::size_t row) HWY_ATTR {
      dense_tile<count()>(panels, num_panels, inner, row, column * inner, columns - column, c + row * c_stride + column,
                          c_stride);
    });
}

void OuterAdd(const float* a, std::size_t a_stride, std::size_t m, const float* b, std::size_t b_stride, std::size_t n,
              std::size_t rows, float* c) {
  HWY_ALIGN float packed[kOuterRows * kTileColumns];
  for (std::size_t column = 0; column < n; column += kTileColumns) {
    const std::size_t width = std::min(kTileColumns, n - column);
    if (width == kTileColumns) {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t t = 0; t < kTileVecs; ++t)
          hn::StoreU(hn::LoadU(d, b + i * b_stride + column + t * kVec), d, packed + i * kTileColumns + t * kVec);
    } else {
      std::fill_n(packed, rows * kTileColumns, 0.0f);
      for (std::size_t i = 0; i < rows; ++i) std::copy_n(b + i * b_stride + column, width, packed + i * kTileColumns);
    }
    for_row_tiles(m, [&](auto count, std::size_t row) HWY_ATTR {
      outer_tile<count()>(a + row, a_stride, packed, rows, width, c + row * n + column, n);
    });
  }
}

// kWidth features of the sum over a list of rows; x and out are already offset.
template <std::size_t kWidth>
HWY_INLINE void gather_tile(const GatherArgs& args, const std::uint32_t* HWY_RESTRICT list, std::size_t count,
                            std::size_t known, float scale, const float* HWY_RESTRICT x, float* HWY_RESTRICT out) {
  constexpr std::size_t kCount = kWidth / kVec;
  constexpr std::size_t kAhead = 10;  // rows: enough to hide a miss to the last cache or to memory
  Vec sum[kCount];
  for (Vec& s : sum) s = hn::Zero(d);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < known) {
      const float* next = x + list[i + kAhead] * args.features;
      for (std::size_t line = 0; line < kWidth; line += 16) __builtin_prefetch(next + line);
    }
    const float* row = x + list[i] * args.features;
    if (args.coefficient) {
      const Vec c = hn::Set(d, args.coefficient[list[i]]);
      for (std::size_t t = 0; t < kCount; ++t) sum[t] = hn::MulAdd(c, hn::LoadU(d, row + t * kVec), sum[t]);
    } else {
      for (std::size_t t = 0; t < kCount; ++t) sum[t] = hn::Add(sum[t], hn::LoadU(d, row + t * kVec));
    }
  }
  const Vec s = hn::Set(d, scale);
  for (std::size_t t = 0; t < kCount; ++t) hn::StoreU(hn::Mul(s, sum[t]), d, out + t * kVec);
}

// `known` >= count entries of the list may be read: those behind `count` belong to the next rows, and fetching
// them early hides most of the wait.
HWY_INLINE void gather_row(const GatherArgs& args, const std::uint32_t* list, std::size_t count, std::size_t known,
                           float scale, float* out) {
  std::size_t f = 0;
  for (; f + 64 <= args.features; f += 64) gather_tile<64>(args, list, count, known, scale, args.x + f, out + f);
  for (; f + 16 <= args.features; f += 16) gather_tile<16>(args, list, count, known, scale, args.x + f, out + f);
  for (; f < args.features; ++f) {
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      sum += (args.coefficient ? args.coefficient[list[i]] : 1.0f) * args.x[list[i] * args.features + f];
    out[f] = scale * sum;
  }
}

void GatherSum(const GatherArgs& args, const std::uint32_t* list, std::size_t count, float scale, float* out) {
  gather_row(args, list, count, count, scale, out);
}

void GatherRows(const GatherArgs& args, const std::uint32_t* offsets, const std::uint32_t* list, const float* row_scale,
                std::size_t most, std::size_t begin, std::size_t end, float* out) {
  for (std::size_t v = begin; v < end; ++v, out += args.features) {
    const std::size_t count = offsets[v + 1] - offsets[v], known = offsets[end] - offsets[v];
    if (count <= most) gather_row(args, list + offsets[v], count, known, row_scale ? row_scale[v] : 1.0f, out);
  }
}

// --- Rows after the products.

// body(offset, load, store) for whole vectors, then for the padded rest: `load` reads up to `features` and
// fills with zeros, `store` writes no further.
struct Whole {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(d, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::StoreU(v, d, p); }
  HWY_INLINE Vec only(Vec v) const { return v; }
};
struct Rest {
  std::size_t count;
  HWY_INLINE Vec load(const float* p) const { return hn::MaskedLoad(hn::FirstN(d, count), d, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::BlendedStore(v, hn::FirstN(d, count), d, p); }
  HWY_INLINE Vec only(Vec v) const { return hn::IfThenElseZero(hn::FirstN(d, count), v); }
};
template <class Body>
HWY_INLINE void for_vectors(std::size_t features, Body&& body) {
  std::size_t f = 0;
  for (; f + kVec <= features; f += kVec) body(f, Whole());
  if (f < features) body(f, Rest{features - f});
}

void FinishRows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation) {
  const std::size_t n = args.features;
  const float inverse_n = 1.0f / static_cast<float>(n);
  for (std::size_t r = 0; r < rows; ++r, z += n) {
    if (!args.gain) {
      for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
        part.store(activate(args.activation, hn::Add(part.load(z + f), part.load(args.bias + f))), z + f);
      });
      continue;
    }
    Vec sum = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = hn::Add(part.load(z + f), part.load(args.bias + f));
      part.store(x, z + f);
      sum = hn::Add(sum, x);
    });
    const Vec mean = hn::Set(d, sum_of_lanes(sum) * inverse_n);
    Vec squares = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = part.only(hn::Sub(part.load(z + f), mean));
      squares = hn::MulAdd(x, x, squares);
    });
    const float inverse = 1.0f / std::sqrt(sum_of_lanes(squares) * inverse_n + kLayerNormEpsilon);
    inverse_deviation[r] = inverse;
    const Vec scale = hn::Set(d, inverse);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = hn::Mul(hn::Sub(part.load(z + f), mean), scale);
      part.store(x, normed + r * n + f);
      part.store(activate(args.activation, hn::MulAdd(part.load(args.gain + f), x, part.load(args.shift + f))), z + f);
    });
  }
}

void UnfinishRows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                  const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift) {
  const std::size_t n = args.features;
  const float inverse_n = 1.0f / static_cast<float>(n);
  for (std::size_t r = 0; r < rows; ++r, y += n, dy += n, normed += args.gain ? n : 0, dz += n) {
    if (!args.gain) {
      for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
        const Vec g = hn::Mul(part.load(dy + f), slope(args.activation, part.load(y + f)));
        part.store(g, dz + f);
        part.store(hn::Add(part.load(dbias + f), g), dbias + f);
      });
      continue;
    }
    Vec sum = hn::Zero(d), product = hn::Zero(d);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec x = part.load(normed + f);
      const Vec g = hn::Mul(part.load(dy + f), slope(args.activation, part.load(y + f)));
      part.store(hn::MulAdd(g, x, part.load(dgain + f)), dgain + f);
      part.store(hn::Add(part.load(dshift + f), g), dshift + f);
      const Vec dx = hn::Mul(g, part.load(args.gain + f));
      part.store(dx, dz + f);
      sum = hn::Add(sum, dx);
      product = hn::MulAdd(dx, x, product);
    });
    const Vec mean = hn::Set(d, sum_of_lanes(sum) * inverse_n);
    const Vec along = hn::Set(d, sum_of_lanes(product) * inverse_n);
    const Vec scale = hn::Set(d, inverse_deviation[r]);
    for_vectors(n, [&](std::size_t f, auto part) HWY_ATTR {
      const Vec centred = hn::Sub(part.load(dz + f), mean);
      const Vec g = hn::Mul(scale, hn::NegMulAdd(part.load(normed + f), along, centred));
      part.store(g, dz + f);
      part.store(hn::Add(part.load(dbias + f), g), dbias + f);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace espalier
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(DenseRows);
HWY_EXPORT(OuterAdd);
HWY_EXPORT(GatherSum);
HWY_EXPORT(GatherRows);
HWY_EXPORT(FinishRows);
HWY_EXPORT(UnfinishRows);

void pack_columns(const float* matrix, std::size_t inner, std::size_t columns, std::size_t row_stride,
                  std::size_t column_stride, float* packed) {
  for (std::size_t tile = 0; tile < columns; tile += kTileColumns, packed += inner * kTileColumns) {
    const std::size_t width = std::min(kTileColumns, columns - tile);
    const float* from = matrix + tile * column_stride;
    if (width < kTileColumns) std::fill_n(packed, inner * kTileColumns, 0.0f);
    if (column_stride == 1) {
      for (std::size_t k = 0; k < inner; ++k) std::copy_n(from + k * row_stride, width, packed + k * kTileColumns);
    } else {  // column by column: in a transposed matrix they run along memory
      for (std::size_t c = 0; c < width; ++c)
        for (std::size_t k = 0; k < inner; ++k) packed[k * kTileColumns + c] = from[k * row_stride + c * column_stride];
    }
  }
}

void dense_rows(const Panel* panels, std::size_t num_panels, std::size_t inner, std::size_t rows, std::size_t columns,
                float* c, std::size_t c_stride) {
  HWY_DYNAMIC_DISPATCH(DenseRows)(panels, num_panels, inner, rows, columns, c, c_stride);
}

void outer_add(const float* a, std::size_t a_stride, std::size_t m, const float* b, std::size_t b_stride, std::size_t n,
               std::size_t rows, float* c) {
  HWY_DYNAMIC_DISPATCH(OuterAdd)(a, a_stride, m, b, b_stride, n, rows, c);
}

void gather_sum(const GatherArgs& args, const std::uint32_t* list, std::size_t count, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(GatherSum)(args, list, count, scale, out);
}

void gather_rows(const GatherArgs& args, const std::uint32_t* offsets, const std::uint32_t* list,
                 const float* row_scale, std::size_t most, std::size_t begin, std::size_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(GatherRows)(args, offsets, list, row_scale, most, begin, end, out);
}

void finish_rows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation) {
  HWY_DYNAMIC_DISPATCH(FinishRows)(args, rows, z, normed, inverse_deviation);
}

void unfinish_rows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                   const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift) {
  HWY_DYNAMIC_DISPATCH(UnfinishRows)(args, rows, y, dy, normed, inverse_deviation, dz, dbias, dgain, dshift);
}

}  // namespace espalier
#endif
