// What a node hears: sums over neighbours for whole chunks of rows, and the largest over neighbours with the way back
// to who it was. Nodes with many neighbours ("heavy") are worked on piece by piece beforehand, in parallel.
#pragma once

#include "espalier/message_passing.hpp"

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

// Fills tape.heavy with one row per heavy node, sides in order.
void gather_heavy(const std::vector<SideGather>& gathers, const float* x, std::size_t features, MessageTape& tape,
                  const ThreadPool& pool);
// Rows begin..end of side `index` into out [end - begin][features].
void gather_chunk(const std::vector<SideGather>& gathers, std::size_t index, const float* x, std::size_t features,
                  const MessageTape& tape, std::size_t begin, std::size_t end, float* out);

// Rows of heavy nodes into tape.maxima and tape.winners [2R][N][features], which have their size already.
void max_heavy(const MessageGraph& graph, const float* x, std::size_t features, MessageTape& tape,
               const ThreadPool& pool);
// The other rows of begin..end of side `index`. Ties go to the first neighbour; without neighbours 0, no winner.
void max_chunk(const MessageGraph& graph, std::size_t index, const float* x, std::size_t features, std::size_t begin,
               std::size_t end, MessageTape& tape);

// dh_u += what tape.routed [2R][N][features] brings to the winner u, rows begin..end but for heavy listeners' lists.
void route_chunk(const MessageGraph& graph, const MessageTape& tape, std::size_t features, std::size_t begin,
                 std::size_t end, float* dh);
// The rest of it: nodes heard by many.
void route_heavy(const MessageGraph& graph, MessageTape& tape, std::size_t features, float* dh, const ThreadPool& pool);

}  // namespace espalier
