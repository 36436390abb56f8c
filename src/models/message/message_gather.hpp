// Sums over neighbours for whole chunks, with heavy nodes summed piece by piece beforehand.
#pragma once

#include "espalier/message_passing.hpp"
#include "models/message/dense_kernels.hpp"

namespace espalier {

// How one side is summed: over the lists of `lists`, neighbours weighted by `coefficient` (null: 1), the sum
// scaled by row_scale (null: 1).
struct SideGather {
  const MessageGraph::Side* lists;
  const float* coefficient;
  const float* row_scale;
};

// The sums that a forward pass needs of each side, and those of the backward pass: there, what v received with
// factor c(v) over side s goes back along the lists of the other side, each neighbour v with its own c(v).
std::vector<SideGather> forward_gathers(const MessageGraph& graph, Aggregation aggregation);
std::vector<SideGather> backward_gathers(const MessageGraph& graph, Aggregation aggregation);

// The lists of heavy nodes, cut into pieces that are worked on in parallel and put together in order.
struct HeavyPieces {
  struct Piece {
    std::size_t side;
    std::uint32_t node, begin, end;  // places begin..end of the side's list
  };
  struct Sum {
    std::size_t side;
    std::uint32_t node;
    std::size_t first, last;  // pieces
  };
  std::vector<Piece> pieces;
  std::vector<Sum> sums;
};
HeavyPieces heavy_pieces(std::span<const MessageGraph::Side* const> lists);

// Fills state.heavy with one row per heavy node, sides in order.
void gather_heavy(const std::vector<SideGather>& gathers, const float* x, std::size_t features, MessageState& state,
                  const ThreadPool& pool);

// Rows begin..end of side `index` into out [end - begin][features].
void gather_chunk(const std::vector<SideGather>& gathers, std::size_t index, const float* x, std::size_t features,
                  const MessageState& state, std::size_t begin, std::size_t end, float* out);

}  // namespace espalier
