// Balancing: a chain of ANDs (or XORs) becomes a tree whose operands join in the order in which they arrive.
#include <algorithm>
#include <queue>

#include "synth/gate_graph.hpp"
#include "synth/literal_builder.hpp"
#include "synth/passes.hpp"

namespace espalier {
namespace {

class Balancer {
 public:
  explicit Balancer(const Netlist& netlist)
      : graph_(netlist, false), result_(without_gates(netlist)), builder_(result_), now_(graph_.size()) {}

  Netlist run() {
    levels_.assign(result_.inputs.size(), 0);
    for (std::uint32_t n = 1; n <= graph_.inputs(); ++n) now_[n] = {n - 1, false};
    // An inner gate of a tree is no root: its only reader takes it in.
    const std::vector<std::uint32_t> order = graph_.topological_order();
    for (const std::uint32_t n : order)
      if (!taken_in(n)) now_[n] = joined(n);
    for (std::size_t o = 0; o < result_.outputs.size(); ++o) {
      const Edge edge = graph_.outputs()[o];
      result_.outputs[o].net = builder_.net(node_of(edge) == 0 ? Literal{kNoNet, inverted(edge)} : literal(edge));
    }
    return remove_dead(absorb_nots(result_));
  }

 private:
  Literal literal(Edge edge) const { return now_[node_of(edge)] ^ inverted(edge); }

  bool taken_in(std::uint32_t n) const {
    const GraphNode& node = graph_.node(n);
    if (node.readers.size() != 1 || node.readers[0] >= kOutputReader) return false;
    const GraphNode& reader = graph_.node(node.readers[0]);
    const Edge edge = node_of(reader.a) == n ? reader.a : reader.b;
    return reader.is_xor == node.is_xor && (node.is_xor || !inverted(edge));
  }

  std::uint32_t level(const Literal& l) const { return l.constant() ? 0 : levels_[l.net]; }

  Literal joined(std::uint32_t root) {
    const bool is_xor = graph_.node(root).is_xor;
    std::vector<Edge> open{graph_.node(root).a, graph_.node(root).b};
    bool turn = false;
    struct Operand {
      std::uint32_t level, place;
      Literal literal;
      bool operator>(const Operand& o) const { return std::pair(level, place) > std::pair(o.level, o.place); }
    };
    std::priority_queue<Operand, std::vector<Operand>, std::greater<>> operands;
    std::uint32_t places = 0;
    while (!open.empty()) {
      const Edge edge = open.back();
      open.pop_back();
      const std::uint32_t n = node_of(edge);
      if (graph_.is_gate(n) && taken_in(n)) {
        turn = turn != (is_xor && inverted(edge));
        open.push_back(graph_.node(n).a);
        open.push_back(graph_.node(n).b);
      } else {
        operands.push({level(literal(edge)), places++, literal(edge)});
      }
    }
    while (operands.size() > 1) {
      const Operand a = operands.top();
      operands.pop();
      const Operand b = operands.top();
      operands.pop();
      const Literal both = builder_.gate(is_xor ? Gate::kXor : Gate::kAnd, a.literal, b.literal);
      if (!both.constant() && both.net >= levels_.size()) levels_.push_back(1 + std::max(a.level, b.level));
      operands.push({level(both), places++, both});
    }
    return operands.top().literal ^ turn;
  }

  GateGraph graph_;
  Netlist result_;
  LiteralBuilder builder_;
  std::vector<Literal> now_;           // [node]
  std::vector<std::uint32_t> levels_;  // [net of the result]
};

}  // namespace

// A gate that outputs want in both polarities is shared, and the inverter may be one level too many.
Netlist balance(const Netlist& netlist) {
  Netlist level = Balancer(netlist).run();
  return count_netlist(level).depth <= count_netlist(netlist).depth ? level : netlist;
}

}  // namespace espalier
