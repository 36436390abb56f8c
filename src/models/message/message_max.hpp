// The largest over neighbours, and back to who it was. Nodes with many neighbours are cut into pieces, as sums are.
#pragma once

#include "models/message/message_gather.hpp"

namespace espalier {

// Rows of heavy nodes into state.maxima and state.winners [2R][N][features], which have their size already.
void max_heavy(const MessageGraph& graph, const float* x, std::size_t features, MessageState& state,
               const ThreadPool& pool);
// The other rows of begin..end of side `index`. Ties go to the first neighbour; without neighbours 0, no winner.
void max_chunk(const MessageGraph& graph, std::size_t index, const float* x, std::size_t features, std::size_t begin,
               std::size_t end, MessageState& state);

// dh_u += what state.routed [2R][N][features] brings to the winner u, rows begin..end but for heavy listeners' lists.
void route_chunk(const MessageGraph& graph, const MessageState& state, std::size_t features, std::size_t begin,
                 std::size_t end, float* dh);
// The rest of it: nodes heard by many.
void route_heavy(const MessageGraph& graph, MessageState& state, std::size_t features, float* dh,
                 const ThreadPool& pool);

}  // namespace espalier
