// A circuit while it is rewritten: gates as AND or XOR of literals, equal gates shared, readers known. Any of the
// two-input functions is one node here, since inversions lie on the edges. Nodes are never renumbered; those that
// nobody reads any more are dead.
#pragma once

#include "espalier/netlist.hpp"
#include "synth/gate_table.hpp"

namespace espalier {

// 2 * node + inverted. Node 0 is the constant 0, then come the inputs, then gates in no particular order.
using Edge = std::uint32_t;
inline constexpr Edge kNoEdge = ~Edge{0};
constexpr std::uint32_t node_of(Edge edge) { return edge >> 1; }
constexpr bool inverted(Edge edge) { return edge & 1; }

struct GraphNode {
  Edge a = 0, b = 0;  // ascending
  bool is_xor = false, dead = false;
  std::uint32_t level = 0;                 // above those of a and b; exact at first, later perhaps too high
  std::uint32_t refs = 0;                  // readers, outputs and holds
  std::vector<std::uint32_t> readers;      // nodes, or kOutputReader + index of an output; no node twice
  std::uint32_t place_a = 0, place_b = 0;  // among the readers of a and of b
};
inline constexpr std::uint32_t kOutputReader = std::uint32_t{1} << 31;

class GateGraph {
 public:
  // XORs become three ANDs when `only_ands`, here and in add().
  GateGraph(const Netlist& netlist, bool only_ands);
  // The live gates in topological order, inversions absorbed. Where outputs want a gate in both polarities one of them
  // reads an inverter or, if the circuit is to be `shallow`, another gate: as many gates, but no level more.
  Netlist netlist(bool shallow = false) const;

  std::size_t size() const { return nodes_.size(); }
  const GraphNode& node(std::uint32_t n) const { return nodes_[n]; }
  bool is_gate(std::uint32_t n) const { return n > inputs_ && !nodes_[n].dead; }
  std::uint32_t inputs() const { return inputs_; }  // nodes 1 .. inputs()
  std::size_t gates() const { return gates_; }
  bool only_ands() const { return only_ands_; }
  std::vector<std::uint32_t> topological_order() const;  // live gates
  const std::vector<Edge>& outputs() const { return outputs_; }

  // What (is_xor, a, b) comes down to without a new gate, or kNoEdge. Never asked for an XOR of a graph of ANDs.
  Edge find(bool is_xor, Edge a, Edge b) const;
  Edge add(bool is_xor, Edge a, Edge b);
  // Every reader of `n` reads `by` instead, whose cone must not hold `n`. Gates that become equal are merged, gates
  // that nobody reads go.
  void replace(std::uint32_t n, Edge by);
  // A gate that was added and is not read after all goes, with what only it reads.
  void drop_unread(std::uint32_t n);

  // Makes the level of a gate exact, when those of what it reads are.
  void update_level(std::uint32_t n);

  // Gates that go when `n` goes. Between dereference and reference the readers' counts are those without it.
  std::size_t dereference(std::uint32_t n);
  std::size_t reference(std::uint32_t n);
  void hold(std::uint32_t n) { ++nodes_[n].refs; }
  void release(std::uint32_t n) { --nodes_[n].refs; }

 private:
  template <class Reached>
  std::size_t count_cone(std::uint32_t n, Reached reached);
  struct Shape {
    bool is_xor = false;
    Edge a = 0, b = 0;
    bool invert = false;  // of the node of that shape
    Edge trivial = kNoEdge;
  };
  static Shape normal(bool is_xor, Edge a, Edge b);
  static std::uint64_t key(bool is_xor, Edge a, Edge b) {
    return std::uint64_t{is_xor} << 63 | std::uint64_t{a} << 32 | b;
  }
  std::uint32_t level_of(const GraphNode& node) const;
  std::uint32_t read(std::uint32_t source, std::uint32_t reader);
  std::uint32_t& place_of(std::uint32_t source, std::uint32_t reader);
  void link(std::uint32_t n);
  void forget(std::uint32_t n);
  void unlink(std::uint32_t n);
  void unread(std::uint32_t source, std::uint32_t reader);
  void kill(std::uint32_t n);
  void raise(std::uint32_t n);

  std::string name_;
  std::vector<std::string> input_names_, output_names_;
  std::uint32_t inputs_ = 0;
  bool only_ands_;
  std::vector<GraphNode> nodes_;
  std::vector<Edge> outputs_;
  std::vector<std::uint32_t> output_places_;  // [output], among the readers of its node
  std::size_t gates_ = 0;
  GateTable known_;
  std::vector<std::uint32_t> cone_;  // scratch
};

}  // namespace espalier
