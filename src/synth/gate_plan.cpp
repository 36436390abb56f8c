#include "synth/gate_plan.hpp"

#include <algorithm>

namespace espalier {

PlanWeigher::Value PlanWeigher::step(bool is_xor, Value a, Value b, int& added) {
  if (is_xor && graph_.only_ands()) {
    const auto turned = [](Value v) { return Value{v.edge == kNoEdge ? kNoEdge : v.edge ^ 1u, v.level}; };
    const Value both = step(false, a, b, added), neither = step(false, turned(a), turned(b), added);
    return step(false, turned(both), turned(neither), added);
  }
  if (a.edge != kNoEdge && b.edge != kNoEdge) {
    const Edge known = graph_.find(is_xor, a.edge, b.edge);
    if (known != kNoEdge) {
      const GraphNode& node = graph_.node(node_of(known));
      meets_target_ = meets_target_ || node_of(known) == target_;
      if (graph_.is_gate(node_of(known)) && node.refs == 0) ++added;  // would have gone
      return {known, node.level};
    }
  }
  ++added;
  return {kNoEdge, 1 + std::max(a.level, b.level)};
}

PlanWeigher::Weight PlanWeigher::weigh(std::uint32_t n, const GatePlan& plan) {
  Weight weight;
  if (plan.constant != kNoEdge) {
    weight.gain = static_cast<int>(graph_.dereference(n));
    graph_.reference(n);
    return weight;
  }
  begin(n, {plan.base.begin(), plan.base.end()});
  weight = weigh_next(plan);
  end({plan.base.begin(), plan.base.end()});
  return weight;
}

void PlanWeigher::begin(std::uint32_t n, std::span<const Edge> base) {
  for (const Edge edge : base) graph_.hold(node_of(edge));
  freed_ = static_cast<int>(graph_.dereference(n));
  target_ = n;
}

void PlanWeigher::end(std::span<const Edge> base) {
  graph_.reference(target_);
  for (const Edge edge : base) graph_.release(node_of(edge));
}

PlanWeigher::Weight PlanWeigher::weigh_next(const GatePlan& plan, int most_added) {
  Weight weight;
  if (plan.constant != kNoEdge) {
    weight.gain = freed_;
    return weight;
  }
  int added = 0;
  meets_target_ = false;
  values_.clear();
  for (const Edge edge : plan.base) values_.push_back({edge, graph_.node(node_of(edge)).level});
  const auto value = [&](std::uint32_t literal) {
    Value v = values_[literal / 2];
    if (v.edge != kNoEdge) v.edge ^= literal & 1u;
    return v;
  };
  for (const GatePlan::Step& s : plan.steps) {
    values_.push_back(step(s.is_xor, value(s.a), value(s.b), added));
    if (added > most_added) {
      weight.possible = false;
      return weight;
    }
  }
  const Value& result = values_[plan.result / 2];
  weight.level = result.level;
  weight.possible = !meets_target_;
  weight.gain = freed_ - added;
  return weight;
}

void PlanWeigher::carry_out(std::uint32_t n, const GatePlan& plan) {
  if (plan.constant != kNoEdge) return graph_.replace(n, plan.constant);
  std::vector<Edge> edges(plan.base.begin(), plan.base.end());
  const auto edge = [&](std::uint32_t literal) { return edges[literal / 2] ^ (literal & 1u); };
  for (const GatePlan::Step& s : plan.steps) edges.push_back(graph_.add(s.is_xor, edge(s.a), edge(s.b)));
  const Edge result = edge(plan.result);
  if (node_of(result) == n) return;
  graph_.replace(n, result);
  for (std::size_t i = edges.size(); i-- > plan.base.size();) graph_.drop_unread(node_of(edges[i]));
}

}  // namespace espalier
