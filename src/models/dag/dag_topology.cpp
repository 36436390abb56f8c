// Ids, edges and the topological order of a DagNN.
#include <fmt/format.h>

#include <algorithm>

#include "espalier/dag_nn.hpp"
#include "espalier/error.hpp"

namespace espalier {
namespace {

constexpr std::uint32_t kNoId = 0xFFFFFFFF;  // the next one would be 0 again

std::uint64_t ends(NodeId from, NodeId to) { return std::uint64_t{from} << 32 | to; }

// Nodes that can be reached from `start` by `next` without leaving the ones `inside` accepts.
template <class Next, class Inside>
std::vector<NodeId> reach(NodeId start, Next&& next, Inside&& inside) {
  std::vector<NodeId> found{start};
  std::unordered_map<NodeId, bool> seen{{start, true}};
  for (std::size_t i = 0; i < found.size(); ++i)
    next(found[i], [&](NodeId n) {
      if (inside(n) && seen.emplace(n, true).second) found.push_back(n);
    });
  return found;
}

}  // namespace

const DagNode& DagTopology::node(NodeId id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) fail("dag node", fmt::format("id {}", id), "the id of a node of this network");
  return found->second;
}

const DagEdge& DagTopology::edge(EdgeId id) const {
  const auto found = edges_.find(id);
  if (found == edges_.end()) fail("dag edge", fmt::format("id {}", id), "the id of an edge of this network");
  return found->second;
}

std::optional<EdgeId> DagTopology::find_edge(NodeId from, NodeId to) const {
  const auto found = by_ends_.find(ends(from, to));
  return found == by_ends_.end() ? std::nullopt : std::optional(found->second);
}

NodeId DagTopology::add_node(NodeKind kind, Activation activation, std::uint32_t symbol) {
  insert_node(next_node_, kind, activation, symbol);
  return next_node_ - 1;
}

void DagTopology::insert_node(NodeId id, NodeKind kind, Activation activation, std::uint32_t symbol) {
  if (nodes_.contains(id)) fail("dag node", fmt::format("id {} twice", id), "every id once");
  if (id == kNoId) fail("dag node", fmt::format("id {}", id), "a smaller one");
  if (kind != NodeKind::kInput && kind != NodeKind::kHidden && kind != NodeKind::kOutput)
    fail("dag node", fmt::format("kind {}", static_cast<int>(kind)), "an input, a hidden node or an output");
  (void)name_of(activation);  // an Error when there is no such activation
  if (kind == NodeKind::kInput && activation != Activation::kLinear)
    fail("dag node", fmt::format("an input with activation {}", name_of(activation)), "linear",
         "inputs are clamped to the sample");
  nodes_.emplace_hint(nodes_.end(), id, DagNode{kind, activation, symbol, next_order_++, {}, {}});
  next_node_ = std::max(next_node_, id + 1);
}

void DagTopology::check_edge(NodeId from, NodeId to) const {
  const DagNode& target = node(to);
  node(from);
  if (target.kind == NodeKind::kInput)
    fail("dag edge", fmt::format("{} -> {}, an input", from, to), "a hidden or output target",
         "inputs are clamped to the sample");
  if (from == to) fail("dag edge", fmt::format("{} -> {}", from, to), "two different nodes");
  if (find_edge(from, to)) fail("dag edge", fmt::format("{} -> {} twice", from, to), "every edge once");
}

EdgeId DagTopology::add_edge(NodeId from, NodeId to) {
  insert_edge(next_edge_, from, to);
  return next_edge_ - 1;
}

void DagTopology::insert_edge(EdgeId id, NodeId from, NodeId to) {
  if (edges_.contains(id)) fail("dag edge", fmt::format("id {} twice", id), "every id once");
  if (id == kNoId) fail("dag edge", fmt::format("id {}", id), "a smaller one");
  check_edge(from, to);
  make_room_in_order(from, to);
  link(id, from, to);
  next_edge_ = std::max(next_edge_, id + 1);
}

void DagTopology::reserve_ids(NodeId next_node, EdgeId next_edge) {
  next_node_ = std::max(next_node_, next_node);
  next_edge_ = std::max(next_edge_, next_edge);
}

// Only nodes whose order lies between the two ends can be out of place.
void DagTopology::make_room_in_order(NodeId from, NodeId to) {
  const std::uint32_t low = nodes_.at(to).order, high = nodes_.at(from).order;
  if (high < low) return;
  const std::vector<NodeId> after = reach(
      to,
      [&](NodeId n, auto&& visit) {
        for (const EdgeId e : nodes_.at(n).out) visit(edges_.at(e).to);
      },
      [&](NodeId n) { return nodes_.at(n).order <= high; });
  if (std::find(after.begin(), after.end(), from) != after.end())
    fail("dag edge", fmt::format("{} -> {}, which closes a cycle", from, to), "a graph without cycles");
  std::vector<NodeId> moved = reach(
      from,
      [&](NodeId n, auto&& visit) {
        for (const EdgeId e : nodes_.at(n).in) visit(edges_.at(e).from);
      },
      [&](NodeId n) { return nodes_.at(n).order >= low; });
  const auto by_order = [&](NodeId a, NodeId b) { return nodes_.at(a).order < nodes_.at(b).order; };
  std::sort(moved.begin(), moved.end(), by_order);
  std::vector<NodeId> tail = after;
  std::sort(tail.begin(), tail.end(), by_order);
  moved.insert(moved.end(), tail.begin(), tail.end());
  std::vector<std::uint32_t> places;
  for (const NodeId n : moved) places.push_back(nodes_.at(n).order);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < moved.size(); ++i) nodes_.at(moved[i]).order = places[i];
}

void DagTopology::link(EdgeId id, NodeId from, NodeId to) {
  edges_.emplace_hint(edges_.end(), id, DagEdge{from, to});
  by_ends_.emplace(ends(from, to), id);
  nodes_.at(from).out.push_back(id);
  nodes_.at(to).in.push_back(id);
}

void DagTopology::unlink(EdgeId id) {
  const DagEdge e = edge(id);
  std::erase(nodes_.at(e.from).out, id);
  std::erase(nodes_.at(e.to).in, id);
  by_ends_.erase(ends(e.from, e.to));
  edges_.erase(id);
}

void DagTopology::remove_edge(EdgeId id) { unlink(id); }

void DagTopology::remove_node(NodeId id) {
  const DagNode& n = node(id);
  const std::vector<EdgeId> in = n.in, out = n.out;
  for (const EdgeId e : in) unlink(e);
  for (const EdgeId e : out) unlink(e);
  nodes_.erase(id);
}

DagTopology::Split DagTopology::split_edge(EdgeId id) {
  const DagEdge old = edge(id);
  if (next_node_ == kNoId || next_edge_ == kNoId)  // before anything is changed
    fail("dag edge", "a split when all ids are used up", "ids left for a node and an edge");
  const NodeId middle = add_node(NodeKind::kHidden, Activation::kLinear);
  unlink(id);
  make_room_in_order(old.from, middle);
  link(id, old.from, middle);
  return {middle, add_edge(middle, old.to)};
}

DagTopology::Order DagTopology::levels() const {
  std::vector<const std::pair<const NodeId, DagNode>*> sorted;
  for (const auto& item : nodes_) sorted.push_back(&item);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->second.order < b->second.order; });
  std::unordered_map<NodeId, std::uint32_t> level;
  std::vector<std::vector<NodeId>> by_level(1);
  for (const auto* item : sorted) {
    std::uint32_t deepest = 0;
    for (const EdgeId e : item->second.in) deepest = std::max(deepest, level.at(edges_.at(e).from));
    const std::uint32_t own = item->second.kind == NodeKind::kInput ? 0 : deepest + 1;
    level.emplace(item->first, own);
    if (own >= by_level.size()) by_level.resize(own + 1);
    by_level[own].push_back(item->first);
  }
  Order order;
  for (std::vector<NodeId>& nodes : by_level) {
    std::sort(nodes.begin(), nodes.end());
    order.level_starts.push_back(static_cast<std::uint32_t>(order.nodes.size()));
    order.nodes.insert(order.nodes.end(), nodes.begin(), nodes.end());
  }
  order.level_starts.push_back(static_cast<std::uint32_t>(order.nodes.size()));
  return order;
}

}  // namespace espalier
