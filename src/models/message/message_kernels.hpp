// The arithmetic of message passing: small dense products on blocks of rows, sums of gathered rows, and what happens to
// a row after the products. Why not Eigen: see docs/graphs.md. Each output element of a product is one chain of fused
// multiply-adds in ascending order of the inner index, so the bits do not depend on how rows are cut into blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/graph.hpp"

namespace espalier {

// Columns of a packed tile.
inline constexpr std::size_t kTileColumns = 16;

// Floats that pack_columns needs for a [inner][columns] matrix.
constexpr std::size_t packed_size(std::size_t inner, std::size_t columns) {
  return (columns + kTileColumns - 1) / kTileColumns * kTileColumns * inner;
}

// One factor of a sum of products: rows [rows][inner] with a stride, times a packed matrix of the same inner
// size.
struct Panel {
  const float* rows;
  std::size_t stride;
  const float* packed;
};

// [inner][columns] (element k, c at matrix[k * row_stride + c * column_stride]) into tiles [tile][inner][16],
// padded with zeros.
void pack_columns(const float* matrix, std::size_t inner, std::size_t columns, std::size_t row_stride,
                  std::size_t column_stride, float* packed);

// c [rows][columns] = sum over panels of rows_p * matrix_p.
void dense_rows(const Panel* panels, std::size_t num_panels, std::size_t inner, std::size_t rows, std::size_t columns,
                float* c, std::size_t c_stride);

// c [m][n] += a^T b for at most kOuterRows rows of a [rows][m] and b [rows][n].
inline constexpr std::size_t kTileRows = 6;  // 6 x 16 sums fill twelve of AVX2's sixteen registers
inline constexpr std::size_t kOuterRows = 64;
void outer_add(const float* a, std::size_t a_stride, std::size_t m, const float* b, std::size_t b_stride, std::size_t n,
               std::size_t rows, float* c);

// out [features] = scale * sum_i coefficient[list[i]] * x[list[i]]; coefficient may be null (all 1).
struct GatherArgs {
  const float* x;  // [N][features]
  std::size_t features;
  const float* coefficient;  // [N] or null
};
void gather_sum(const GatherArgs& args, const std::uint32_t* list, std::size_t count, float scale, float* out);
// The same for rows begin..end of a list with offsets; row_scale may be null (all 1). Rows with more than
// `most` neighbours are left alone.
void gather_rows(const GatherArgs& args, const std::uint32_t* offsets, const std::uint32_t* list,
                 const float* row_scale, std::size_t most, std::size_t begin, std::size_t end, float* out);

// Bias, layer norm and activation, and back.
struct RowArgs {
  std::size_t features;
  Activation activation;
  const float* bias;   // [features]
  const float* gain;   // [features]; null without layer norm
  const float* shift;  // [features]
};

// z [rows][features] becomes y in place. With layer norm, normed [rows][features] and inverse_deviation [rows]
// are kept.
void finish_rows(const RowArgs& args, std::size_t rows, float* z, float* normed, float* inverse_deviation);

// dz [rows][features] from dy and y; dbias, dgain and dshift [features] are added to.
void unfinish_rows(const RowArgs& args, std::size_t rows, const float* y, const float* dy, const float* normed,
                   const float* inverse_deviation, float* dz, float* dbias, float* dgain, float* dshift);

}  // namespace espalier
