#include "synth/gate_graph.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "synth/literal_builder.hpp"

namespace espalier {

GateGraph::GateGraph(const Netlist& netlist, bool only_ands)
    : name_(netlist.name),
      input_names_(netlist.inputs),
      inputs_(static_cast<std::uint32_t>(netlist.inputs.size())),
      only_ands_(only_ands),
      nodes_(netlist.inputs.size() + 1) {
  known_.reserve(netlist.gates.size());
  std::vector<Edge> edges(netlist.nets() + 1, 0);
  for (Net net = 0; net < netlist.inputs.size(); ++net) edges[net] = 2 * (net + 1);
  for (std::size_t g = 0; g < netlist.gates.size(); ++g) {
    const auto& [gate, net_a, net_b] = netlist.gates[g];
    const bool constant = is_constant(gate);  // its operands may be anything
    const Edge a = constant ? 0 : edges[net_a], b = constant ? 0 : edges[net_b];
    Edge& own = edges[netlist.net_of_gate(g)];
    if (constant) {
      own = gate == Gate::kTrue;
    } else if (!reads_b(gate)) {
      own = a ^ (gate == Gate::kNotA);
    } else if (!reads_a(gate)) {
      own = b ^ (gate == Gate::kNotB);
    } else if (gate == Gate::kXor || gate == Gate::kXnor) {
      own = add(true, a, b) ^ (gate == Gate::kXnor);
    } else {
      // One of the four values differs from the others: an AND of literals that is 1 there, or its inverse.
      const bool most = (std::popcount(gate_bits(gate)) == 3);
      for (const unsigned x : {0u, 1u})
        for (const unsigned y : {0u, 1u})
          if (gate_value(gate, x, y) != most) own = add(false, a ^ (x ^ 1u), b ^ (y ^ 1u)) ^ Edge { most };
    }
  }
  for (const NetlistOutput& output : netlist.outputs) {
    output_names_.push_back(output.name);
    const Edge edge = edges[output.net];
    output_places_.push_back(read(node_of(edge), kOutputReader + static_cast<std::uint32_t>(outputs_.size())));
    outputs_.push_back(edge);
  }
  for (std::uint32_t n = static_cast<std::uint32_t>(nodes_.size()); n-- > inputs_ + 1;) drop_unread(n);
}

std::vector<std::uint32_t> GateGraph::topological_order() const {
  std::vector<std::uint32_t> order, stack;
  order.reserve(gates_);
  std::vector<char> state(nodes_.size(), 0);  // 0 new, 1 open, 2 done
  for (const Edge output : outputs_) {
    stack.push_back(node_of(output));
    while (!stack.empty()) {
      const std::uint32_t n = stack.back();
      if (!is_gate(n) || state[n] == 2) {
        stack.pop_back();
      } else if (state[n] == 1) {
        state[n] = 2;
        order.push_back(n);
        stack.pop_back();
      } else {
        state[n] = 1;
        stack.push_back(node_of(nodes_[n].b));
        stack.push_back(node_of(nodes_[n].a));
      }
    }
  }
  return order;
}

Netlist GateGraph::netlist(bool shallow) const {
  Netlist result;
  result.name = name_;
  result.inputs = input_names_;
  LiteralBuilder builder(result);
  std::vector<Literal> literals(nodes_.size());
  for (std::uint32_t n = 1; n <= inputs_; ++n) literals[n] = {n - 1, false};
  const auto literal = [&](Edge edge) { return literals[node_of(edge)] ^ inverted(edge); };
  std::vector<bool> plain(nodes_.size()), turned(nodes_.size());
  for (const Edge output : outputs_) (inverted(output) ? turned : plain)[node_of(output)] = true;
  std::vector<Net> twins(shallow ? nodes_.size() : 0, kNoNet);
  for (const std::uint32_t n : topological_order()) {
    // In the polarity that outputs want, if they all want the same.
    const GraphNode& node = nodes_[n];
    const Literal a = literal(node.a), b = literal(node.b);
    Gate gate = node.is_xor ? Gate::kXor : Gate::kAnd;
    if (a.inverted) gate = invert_a(gate);
    if (b.inverted) gate = invert_b(gate);
    const bool turn = turned[n] && !plain[n];
    literals[n] = {result.add_gate(turn ? invert_output(gate) : gate, a.net, b.net), turn};
    if (shallow && turned[n] && plain[n]) twins[n] = result.add_gate(invert_output(gate), a.net, b.net);
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const Edge edge = outputs_[o];
    const std::uint32_t n = node_of(edge);
    Net net = shallow && inverted(edge) ? twins[n] : kNoNet;
    if (net == kNoNet) net = builder.net(n == 0 ? Literal{kNoNet, inverted(edge)} : literal(edge));
    result.add_output(output_names_[o], net);
  }
  return result;
}

GateGraph::Shape GateGraph::normal(bool is_xor, Edge a, Edge b) {
  if (a > b) std::swap(a, b);
  Shape shape{is_xor, a, b, false, kNoEdge};
  if (is_xor) {
    shape.invert = inverted(a) != inverted(b);
    shape.a = a & ~Edge{1};
    shape.b = b & ~Edge{1};
    if (shape.a == 0)
      shape.trivial = shape.b ^ shape.invert;
    else if (shape.a == shape.b)
      shape.trivial = shape.invert;
  } else if (a == 0) {
    shape.trivial = 0;
  } else if (a == 1 || a == b) {
    shape.trivial = b;
  } else if ((a ^ 1u) == b) {
    shape.trivial = 0;
  }
  return shape;
}

Edge GateGraph::find(bool is_xor, Edge a, Edge b) const {
  const Shape shape = normal(is_xor, a, b);
  if (shape.trivial != kNoEdge) return shape.trivial;
  const std::uint32_t n = known_.find(key(is_xor, shape.a, shape.b));
  return n == GateTable::kNobody ? kNoEdge : (2 * n) ^ Edge { shape.invert };
}

Edge GateGraph::add(bool is_xor, Edge a, Edge b) {
  if (is_xor && only_ands_) return add(false, add(false, a, b) ^ 1u, add(false, a ^ 1u, b ^ 1u) ^ 1u);
  const Shape shape = normal(is_xor, a, b);
  if (shape.trivial != kNoEdge) return shape.trivial;
  std::uint32_t n = known_.find(key(is_xor, shape.a, shape.b));
  if (n == GateTable::kNobody) {
    n = static_cast<std::uint32_t>(nodes_.size());
    known_.insert(key(is_xor, shape.a, shape.b), n);
    GraphNode fresh;
    fresh.a = shape.a;
    fresh.b = shape.b;
    fresh.is_xor = is_xor;
    nodes_.push_back(std::move(fresh));
    ++gates_;
    link(n);
    nodes_[n].level = level_of(nodes_[n]);
  }
  return (2 * n) ^ Edge { shape.invert };
}

std::uint32_t GateGraph::level_of(const GraphNode& node) const {
  return 1 + std::max(nodes_[node_of(node.a)].level, nodes_[node_of(node.b)].level);
}

// The place of the new reader among all.
std::uint32_t GateGraph::read(std::uint32_t source, std::uint32_t reader) {
  ++nodes_[source].refs;
  nodes_[source].readers.push_back(reader);
  return static_cast<std::uint32_t>(nodes_[source].readers.size() - 1);
}

std::uint32_t& GateGraph::place_of(std::uint32_t source, std::uint32_t reader) {
  if (reader >= kOutputReader) return output_places_[reader - kOutputReader];
  GraphNode& node = nodes_[reader];
  return node_of(node.a) == source ? node.place_a : node.place_b;
}

void GateGraph::link(std::uint32_t n) {
  nodes_[n].place_a = read(node_of(nodes_[n].a), n);
  nodes_[n].place_b = read(node_of(nodes_[n].b), n);
}

// Places are known, not looked for: a net may have as many readers as there are gates, and lose them one by one.
void GateGraph::unread(std::uint32_t source, std::uint32_t reader) {
  std::vector<std::uint32_t>& readers = nodes_[source].readers;
  const std::uint32_t hole = place_of(source, reader), last = readers.back();
  readers[hole] = last;
  place_of(source, last) = hole;
  readers.pop_back();
  --nodes_[source].refs;
}

void GateGraph::forget(std::uint32_t n) {
  const std::uint64_t own = key(nodes_[n].is_xor, nodes_[n].a, nodes_[n].b);
  if (known_.find(own) == n) known_.erase(own);
}

void GateGraph::unlink(std::uint32_t n) {
  forget(n);
  unread(node_of(nodes_[n].a), n);
  unread(node_of(nodes_[n].b), n);
}

void GateGraph::kill(std::uint32_t n) {
  std::vector<std::uint32_t> stack{n};
  while (!stack.empty()) {
    const std::uint32_t top = stack.back();
    stack.pop_back();
    if (!is_gate(top) || nodes_[top].refs > 0) continue;
    unlink(top);
    nodes_[top].dead = true;
    --gates_;
    stack.push_back(node_of(nodes_[top].a));
    stack.push_back(node_of(nodes_[top].b));
  }
}

void GateGraph::drop_unread(std::uint32_t n) { kill(n); }

void GateGraph::raise(std::uint32_t n) {
  std::vector<std::uint32_t> stack{n};
  while (!stack.empty()) {
    const std::uint32_t top = stack.back();
    stack.pop_back();
    const std::uint32_t level = level_of(nodes_[top]);
    if (level <= nodes_[top].level) continue;
    nodes_[top].level = level;
    for (const std::uint32_t reader : nodes_[top].readers)
      if (reader < kOutputReader) stack.push_back(reader);
  }
}

void GateGraph::update_level(std::uint32_t n) { nodes_[n].level = level_of(nodes_[n]); }

// The lowest of what is to be replaced comes first, and what replaces a gate is looked up only then: so a gate that
// reads many of them is made again once or twice, not once for each path that leads to it.
void GateGraph::replace(std::uint32_t n, Edge by) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending;  // level and node, a heap
  std::unordered_map<std::uint32_t, Edge> becomes;               // looked up, never iterated over
  std::vector<std::uint32_t> touched;  // may be unread at the end, not before: others may still come to them
  const auto lowest = std::greater<>();
  const auto put_off = [&](std::uint32_t old, Edge instead) {
    // What `by` computes need not be what `n` did, where no output can tell: nothing may be merged into `n` now.
    if (is_gate(old)) forget(old);
    becomes[old] = instead;
    hold(node_of(instead));
    touched.insert(touched.end(), {node_of(instead), old});
    pending.emplace_back(nodes_[old].level, old);
    std::push_heap(pending.begin(), pending.end(), lowest);
  };
  put_off(n, by);
  while (!pending.empty()) {
    std::pop_heap(pending.begin(), pending.end(), lowest);
    const std::uint32_t old = pending.back().second;
    pending.pop_back();
    Edge target = becomes[old];
    for (auto it = becomes.find(node_of(target)); it != becomes.end(); it = becomes.find(node_of(target)))
      target = it->second ^ Edge { inverted(target) };
    const std::vector<std::uint32_t> readers = nodes_[old].readers;
    for (const std::uint32_t reader : readers) {
      if (reader >= kOutputReader) {
        unread(old, reader);
        Edge& output = outputs_[reader - kOutputReader];
        output = target ^ Edge { inverted(output) };
        output_places_[reader - kOutputReader] = read(node_of(target), reader);
        continue;
      }
      if (nodes_[reader].dead || becomes.contains(reader)) continue;  // the latter will not be read itself
      const Edge a = nodes_[reader].a, b = nodes_[reader].b;
      const Edge new_a = node_of(a) == old ? target ^ Edge { inverted(a) } : a;
      const Edge new_b = node_of(b) == old ? target ^ Edge { inverted(b) } : b;
      const Edge known = find(nodes_[reader].is_xor, new_a, new_b);
      const Shape shape = normal(nodes_[reader].is_xor, new_a, new_b);
      if (known != kNoEdge || shape.invert) {
        // It becomes another node; an XOR that would turn over becomes a new one, so that nobody reads it wrongly.
        put_off(reader, known != kNoEdge ? known : add(true, new_a, new_b));
        continue;
      }
      unlink(reader);
      nodes_[reader].a = shape.a;
      nodes_[reader].b = shape.b;
      known_.insert(key(shape.is_xor, shape.a, shape.b), reader);
      link(reader);
      raise(reader);
    }
  }
  for (std::size_t i = 0; i < touched.size(); i += 2) release(touched[i]);
  for (const std::uint32_t t : touched) kill(t);
}

// Gates of the cone below `n`, itself included, as far as reached(operand) says that an operand belongs to it.
template <class Reached>
std::size_t GateGraph::count_cone(std::uint32_t n, Reached reached) {
  cone_.assign(1, n);
  for (std::size_t i = 0; i < cone_.size(); ++i)
    for (const Edge edge : {nodes_[cone_[i]].a, nodes_[cone_[i]].b})
      if (reached(nodes_[node_of(edge)]) && is_gate(node_of(edge))) cone_.push_back(node_of(edge));
  return cone_.size();
}

std::size_t GateGraph::dereference(std::uint32_t n) {
  return count_cone(n, [](GraphNode& operand) { return --operand.refs == 0; });
}

std::size_t GateGraph::reference(std::uint32_t n) {
  return count_cone(n, [](GraphNode& operand) { return operand.refs++ == 0; });
}

}  // namespace espalier
