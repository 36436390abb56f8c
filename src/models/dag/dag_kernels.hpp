// The vector kernels of DagNN: a block of lanes (samples) through a range of ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier {

// Lanes of a block are a multiple of this, and every sum over lanes is made in this many running sums.
inline constexpr std::size_t kDagLaneStep = 8;

struct DagView {
  const std::uint32_t* in_offsets;   // [N+1]
  const std::uint32_t* sources;      // [E] by edge number
  const std::uint32_t* out_offsets;  // [N+1]
  const std::uint32_t* targets;      // [E] by place among the edges sorted by source
  const float* weights;              // [E] by edge number
  const float* out_weights;          // [E] by place, s_v w_uv
  const float* bias;                 // [N - num_inputs]
  const float* scale;                // [N]
  const std::uint8_t* activation;    // [N]
  const std::uint8_t* is_output;     // [N]
  std::uint32_t num_edges;
  std::size_t num_inputs;
  std::size_t lanes;
};

// a [N][lanes]: fills ranks first..last; sources are below them.
void dag_forward(const DagView& view, std::size_t first, std::size_t last, float* a);

// g [N][lanes]: in, the loss gradient at outputs; out, delta. Ranks last-1 down to first; targets are done.
// dw [E] by place and db [N] by rank are added to; dw is without the factor s_v.
void dag_backward(const DagView& view, std::size_t first, std::size_t last, const float* a, float* g, float* dw,
                  float* db);

}  // namespace espalier
