// The shape of a DagNN: nodes and edges with ids that are never reused, and a topological order that is kept
// up to date edge by edge (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
// graphs", 2006). A call that fails changes nothing. Weights live elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "espalier/activation.hpp"

namespace espalier {

using NodeId = std::uint32_t;
using EdgeId = std::uint32_t;

// Values are part of the file format.
enum class NodeKind : std::uint8_t { kInput = 0, kHidden = 1, kOutput = 2 };

inline constexpr std::uint32_t kNoSymbol = 0xFFFFFFFF;

struct DagNode {
  NodeKind kind = NodeKind::kHidden;
  Activation activation = Activation::kLinear;
  std::uint32_t symbol = kNoSymbol;  // Unicode code point of networks made from text
  std::uint32_t order = 0;           // sources before targets
  std::vector<EdgeId> in, out;
};

struct DagEdge {
  NodeId from, to;
};

class DagTopology {
 public:
  const std::map<NodeId, DagNode>& nodes() const { return nodes_; }
  const std::map<EdgeId, DagEdge>& edges() const { return edges_; }
  bool has_node(NodeId id) const { return nodes_.contains(id); }
  bool has_edge(EdgeId id) const { return edges_.contains(id); }
  const DagNode& node(NodeId id) const;  // Errors for unknown ids
  const DagEdge& edge(EdgeId id) const;
  std::optional<EdgeId> find_edge(NodeId from, NodeId to) const;

  NodeId add_node(NodeKind kind, Activation activation, std::uint32_t symbol = kNoSymbol);
  // Errors: unknown ids, an edge into an input, the same edge twice, an edge that closes a cycle.
  EdgeId add_edge(NodeId from, NodeId to);
  void remove_edge(EdgeId id);
  void remove_node(NodeId id);  // with its edges
  // Puts a new linear node into the edge: the edge keeps its id and now ends at the node; the second edge,
  // from the node to the old target, is new.
  struct Split {
    NodeId node;
    EdgeId second;
  };
  Split split_edge(EdgeId id);

  // Ids in topological order; equal for equal graphs with equal ids (by level, then by id), inputs first.
  struct Order {
    std::vector<NodeId> nodes;
    std::vector<std::uint32_t> level_starts;  // level 0 is the inputs; [levels + 1]
  };
  Order levels() const;

  // For files: ids as they were, and the ids the next additions get.
  void restore_node(NodeId id, NodeKind kind, Activation activation, std::uint32_t symbol);
  void restore_edge(EdgeId id, NodeId from, NodeId to);
  void reserve_ids(NodeId next_node, EdgeId next_edge);
  NodeId next_node() const { return next_node_; }
  EdgeId next_edge() const { return next_edge_; }

 private:
  void check_edge(NodeId from, NodeId to) const;
  void make_room_in_order(NodeId from, NodeId to);
  void link(EdgeId id, NodeId from, NodeId to);
  void unlink(EdgeId id);

  std::map<NodeId, DagNode> nodes_;
  std::map<EdgeId, DagEdge> edges_;
  std::unordered_map<std::uint64_t, EdgeId> by_ends_;  // looked up, never walked
  NodeId next_node_ = 0;
  EdgeId next_edge_ = 0;
  std::uint32_t next_order_ = 0;
};

}  // namespace espalier
