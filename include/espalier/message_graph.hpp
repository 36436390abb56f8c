// A graph as message passing wants it: R relations (kinds of edges) over the same nodes, each with its neighbour
// lists both ways, and the work cut into chunks of about equal cost. Built once, used by every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/graph.hpp"

namespace espalier {

class MessageGraph {
 public:
  // One way of one relation: side 2r gathers from sources (u -> v), side 2r+1 from targets (v -> w).
  struct Side {
    std::span<const std::uint32_t> offsets, list;  // [N+1], [E]
    std::vector<float> inverse_degree;             // [N]; 0 without neighbours
    // Nodes with more neighbours than one piece holds: their lists are worked on in pieces, in parallel.
    std::vector<std::uint32_t> heavy;  // ascending
  };

  explicit MessageGraph(std::vector<Graph> relations);
  MessageGraph(MessageGraph&&) = default;
  MessageGraph& operator=(MessageGraph&&) = default;

  std::size_t num_nodes() const { return nodes_; }
  std::size_t num_relations() const { return relations_.size(); }
  std::size_t num_edges() const;
  const std::vector<Graph>& relations() const { return relations_; }
  const std::vector<Side>& sides() const { return sides_; }  // [2R]
  // Rows chunk_starts()[i] .. [i+1]: at most kRows of them and about kChunkEdges neighbours.
  const std::vector<std::uint32_t>& chunk_starts() const { return chunk_starts_; }
  std::size_t num_chunks() const { return chunk_starts_.size() - 1; }
  // Chunks are dealt to this many private gradient arrays, in runs of chunks_per_slot.
  std::size_t num_slots() const { return slots_; }
  std::size_t chunks_per_slot() const { return chunks_per_slot_; }

  static constexpr std::size_t kRows = 64;
  static constexpr std::size_t kChunkEdges = 4096;
  static constexpr std::size_t kPiece = 1024;
  static constexpr std::size_t kMaxSlots = 32;

 private:
  std::size_t nodes_ = 0, slots_ = 0, chunks_per_slot_ = 1;
  std::vector<Graph> relations_;
  std::vector<Side> sides_;
  std::vector<std::uint32_t> chunk_starts_;
};

}  // namespace espalier
