// Values, gradients, the training contract, growth and pruning. Running is in dag_run.cpp, ready-made shapes and files
// in dag_build.cpp.
#include "espalier/dag_nn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "espalier/error.hpp"
#include "models/dag/dag_run.hpp"

namespace espalier {

DagNN::DagNN(const DagOptions& options) : options_(options), state_(std::make_unique<State>()) {
  parameters_.add("bias", {0});
  parameters_.add("weight", {0});
  parameters_.close("a DAG network");
}
DagNN::~DagNN() = default;
DagNN::DagNN(const DagNN& other)
    : options_(other.options_),
      topology_(other.topology_),
      parameters_(other.parameters_),
      training_(other.training_),
      state_(std::make_unique<State>(*other.state_)) {}
DagNN& DagNN::operator=(const DagNN& other) { return *this = DagNN(other); }
DagNN::DagNN(DagNN&&) noexcept = default;
DagNN& DagNN::operator=(DagNN&&) noexcept = default;

void DagNN::edited() {
  state_->edited = true;
  state_->last.forget();
  state_->ran_backward = state_->ran_evaluation = false;
}

namespace {

void check_finite(const char* what, float value) {
  if (!std::isfinite(value)) fail("dag network", fmt::format("a {} of {}", what, value), "a finite number");
}

void check_bias(const char* op, NodeKind kind, float bias) {
  check_finite("bias", bias);
  if (kind == NodeKind::kInput && bias != 0)
    fail(op, fmt::format("an input with bias {}", bias), "bias 0", "inputs are clamped to the sample");
}

}  // namespace

NodeId DagNN::add_node(NodeKind kind, Activation activation, float bias) {
  check_bias("add node", kind, bias);
  const NodeId id = topology_.add_node(kind, activation);
  if (kind != NodeKind::kInput) state_->values[kDagBias].fresh.emplace(id, bias);
  edited();
  return id;
}

EdgeId DagNN::add_edge(NodeId from, NodeId to, float weight) {
  check_finite("weight", weight);
  const EdgeId id = topology_.add_edge(from, to);
  state_->values[kDagWeight].fresh.emplace(id, weight);
  edited();
  return id;
}

void DagNN::insert_node(NodeId id, NodeKind kind, Activation activation, float bias, std::uint32_t symbol) {
  check_bias("restore node", kind, bias);
  topology_.insert_node(id, kind, activation, symbol);
  if (kind != NodeKind::kInput) state_->values[kDagBias].fresh.emplace(id, bias);
  edited();
}

void DagNN::insert_edge(EdgeId id, NodeId from, NodeId to, float weight) {
  check_finite("weight", weight);
  topology_.insert_edge(id, from, to);
  state_->values[kDagWeight].fresh.emplace(id, weight);
  edited();
}

void DagNN::reserve_ids(NodeId next_node, EdgeId next_edge) { topology_.reserve_ids(next_node, next_edge); }

void DagNN::check_has_bias(NodeId node) const {
  if (topology_.node(node).kind == NodeKind::kInput)
    fail("bias", fmt::format("node {}, an input", node), "a hidden or output node");
}

std::size_t DagNN::weight_index(EdgeId edge) {
  topology_.edge(edge);
  apply_edits();
  return *place_of(kDagWeight, edge);
}

std::size_t DagNN::bias_index(NodeId node) {
  check_has_bias(node);
  apply_edits();
  return *place_of(kDagBias, node);
}

std::size_t DagNN::count_nodes(NodeKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(topology_.nodes(), [&](const auto& item) { return item.second.kind == kind; }));
}

float& DagNN::value_ref(std::size_t tensor, std::uint32_t id) {
  const auto fresh = state_->values[tensor].fresh.find(id);
  return fresh != state_->values[tensor].fresh.end() ? fresh->second
                                                     : parameters_.values()[place_of(tensor, id).value()];
}

float DagNN::weight(EdgeId edge) const {
  topology_.edge(edge);
  return const_cast<DagNN*>(this)->value_ref(kDagWeight, edge);
}

float DagNN::bias(NodeId node) const {
  if (topology_.node(node).kind == NodeKind::kInput) return 0;
  return const_cast<DagNN*>(this)->value_ref(kDagBias, node);
}

void DagNN::set_weight(EdgeId edge, float value) {
  check_finite("weight", value);
  topology_.edge(edge);
  value_ref(kDagWeight, edge) = value;
}

void DagNN::set_bias(NodeId node, float value) {
  check_finite("bias", value);
  check_has_bias(node);
  value_ref(kDagBias, node) = value;
}

Parameters& DagNN::parameters() {
  apply_edits();
  return parameters_;
}

const Parameters& DagNN::parameters() const {
  if (state_->edited) fail("dag parameters", "edits that wait", "apply_edits() first");
  return parameters_;
}

void DagNN::apply_edits(Optimizer* optimizer) {
  apply_edits(std::span<Optimizer* const>(&optimizer, optimizer ? 1 : 0));
}

void DagNN::apply_edits(std::span<Optimizer* const> optimizers) {
  State& s = *state_;
  for (Optimizer* optimizer : optimizers)
    if (!optimizer) fail("apply edits", "no optimizer in the list", "optimizers alone");
  for (Optimizer* optimizer : optimizers)
    if (optimizer->first_moment().size() != parameters_.num_parameters())
      fail("apply edits", fmt::format("an optimizer of {} parameters", optimizer->first_moment().size()),
           fmt::format("{} as the network had before them", parameters_.num_parameters()),
           "apply edits before the next forward or parameters()");
  if (!s.edited) return;
  DagPlan plan = make_dag_plan(topology_, options_.fan_in_scaling);
  Parameters moved;
  moved.add("bias", {plan.nodes.size() - plan.num_inputs});
  moved.add("weight", {plan.edges.size()});
  moved.close("a DAG network");
  for (std::size_t i = 0; i < parameters_.tensors().size(); ++i) moved.freeze(i, parameters_.tensors()[i].frozen);
  std::vector<std::uint8_t> added(moved.num_parameters());
  std::vector<Optimizer> states;
  for (Optimizer* optimizer : optimizers) {
    states.emplace_back(optimizer->options(), moved.num_parameters());
    states.back().set_steps(optimizer->steps());
  }
  // Copies value, gradient and optimizer states of one parameter; both indexes are into the flat arrays.
  const auto move = [&](std::size_t from, std::size_t to) {
    moved.values()[to] = parameters_.values()[from];
    moved.gradients()[to] = parameters_.gradients()[from];
    added[to] = s.added[from];
    for (std::size_t o = 0; o < states.size(); ++o) {
      states[o].first_moment()[to] = optimizers[o]->first_moment()[from];
      if (!states[o].second_moment().empty()) states[o].second_moment()[to] = optimizers[o]->second_moment()[from];
    }
  };
  State::ById values[2];
  const auto place = [&](std::size_t tensor, std::span<const std::uint32_t> ids) {
    const std::size_t offset = moved.tensors()[tensor].offset;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      values[tensor].at.emplace(ids[i], i);
      const auto fresh = s.values[tensor].fresh.find(ids[i]);
      if (fresh != s.values[tensor].fresh.end())
        moved.values()[offset + i] = fresh->second;
      else
        move(place_of(tensor, ids[i]).value(), offset + i);
    }
  };
  place(kDagBias, std::span(plan.nodes).subspan(plan.num_inputs));
  place(kDagWeight, plan.edges);
  parameters_ = std::move(moved);
  for (std::size_t o = 0; o < states.size(); ++o) *optimizers[o] = std::move(states[o]);
  s.plan = std::move(plan);
  s.added = std::move(added);
  std::ranges::move(values, s.values);
  s.edited = false;
}

void DagNN::zero_grad(const ThreadPool& pool) {
  parameters_.zero_grad(pool);
  std::fill(state_->added.begin(), state_->added.end(), std::uint8_t{0});
}

void DagNN::step(float lr, const ThreadPool& pool) {
  apply_edits();
  sgd_step(parameters_, lr, pool);
}

double DagNN::gradient_norm(const ThreadPool& pool) const { return parameters_.gradient_norm(pool); }
double DagNN::clip_gradients(double max_norm, const ThreadPool& pool) {
  return parameters_.clip_gradients(max_norm, pool);
}
bool DagNN::has_gradients() const {
  return std::ranges::find(state_->added, std::uint8_t{1}) != state_->added.end() || parameters_.has_gradients();
}

std::size_t DagNN::num_parameters() const { return topology_.edges().size() + topology_.nodes().size() - num_inputs(); }

std::optional<std::size_t> DagNN::place_of(std::size_t tensor, std::uint32_t id) const {
  const auto found = state_->values[tensor].at.find(id);
  if (found == state_->values[tensor].at.end()) return std::nullopt;
  return parameters_.tensors()[tensor].offset + found->second;
}

void DagNN::accumulate_edge_grad(NodeId from, NodeId to, float gradient) {
  const std::optional<EdgeId> edge = topology_.find_edge(from, to);
  if (!edge) fail("accumulate edge grad", fmt::format("{} -> {}", from, to), "an edge of this network");
  check_finite("gradient", gradient);
  if (!training_) return;
  apply_edits();
  const std::size_t place = *place_of(kDagWeight, *edge);
  parameters_.gradients()[place] += gradient;
  state_->added[place] = 1;
}

// Gradients may also be written through parameters(): then there is one where it is not zero.
std::optional<float> DagNN::gradient_at(std::optional<std::size_t> place) const {
  if (!place || (!state_->added[*place] && parameters_.gradients()[*place] == 0)) return std::nullopt;
  return parameters_.gradients()[*place];
}

std::optional<float> DagNN::edge_grad(NodeId from, NodeId to) const {
  const std::optional<EdgeId> edge = topology_.find_edge(from, to);
  return edge ? gradient_at(place_of(kDagWeight, *edge)) : std::nullopt;
}

std::optional<float> DagNN::bias_grad(NodeId node) const {
  return topology_.has_node(node) ? gradient_at(place_of(kDagBias, node)) : std::nullopt;
}

void DagNN::backward_and_update(std::span<const float> output_grad, float lr) {
  if (training_) zero_grad();
  backward_accumulate(output_grad);
  if (!training_) return;
  step(lr);
  zero_grad();
}

// --- Growth and pruning. Ids, weights and gradients of what stays, stay.

// s_v w_uv is what an edge contributes; when s_v changes the weight follows, and its gradient the other way.
void DagNN::scale_incoming(NodeId node, std::size_t fan_in_before) {
  const std::vector<EdgeId>& in = topology_.node(node).in;
  if (!options_.fan_in_scaling || in.empty() || fan_in_before == 0 || in.size() == fan_in_before) return;
  const auto ratio = static_cast<float>(std::sqrt(static_cast<double>(in.size()) / static_cast<double>(fan_in_before)));
  for (const EdgeId e : in) {
    value_ref(kDagWeight, e) *= ratio;
    if (const auto place = place_of(kDagWeight, e)) parameters_.gradients()[*place] /= ratio;
  }
}

NodeId DagNN::split_edge(EdgeId edge) {
  const DagTopology::Split split = topology_.split_edge(edge);
  state_->values[kDagBias].fresh.emplace(split.node, 0.0f);
  state_->values[kDagWeight].fresh.emplace(split.second, 1.0f);
  edited();  // fan-in scaling: the new node has fan-in 1, the old target as many edges as before
  return split.node;
}

EdgeId DagNN::add_shortcut(NodeId from, NodeId to) {
  const std::size_t before = topology_.has_node(to) ? topology_.node(to).in.size() : 0;
  const EdgeId id = add_edge(from, to, 0.0f);
  scale_incoming(to, before);
  return id;
}

// What is gone until apply_edits() must count for nothing.
void DagNN::forget_gradient(std::optional<std::size_t> place) {
  if (!place) return;
  parameters_.gradients()[*place] = 0;
  state_->added[*place] = 0;
}

std::size_t DagNN::remove_edges(const std::vector<EdgeId>& edges) {
  std::map<NodeId, std::size_t> fan_in_before;
  for (const EdgeId e : edges) {
    const NodeId to = topology_.edge(e).to;
    fan_in_before.emplace(to, topology_.node(to).in.size());
  }
  for (const EdgeId e : edges) {
    topology_.remove_edge(e);
    state_->values[kDagWeight].fresh.erase(e);
    forget_gradient(place_of(kDagWeight, e));
  }
  for (const auto& [node, before] : fan_in_before) scale_incoming(node, before);
  if (!edges.empty()) edited();
  return edges.size();
}

std::size_t DagNN::prune_below(float threshold) {
  if (!(threshold >= 0)) fail("prune", fmt::format("a threshold of {}", threshold), "0 or more");
  std::vector<EdgeId> small;
  for (const auto& [id, edge] : topology_.edges())
    if (std::fabs(weight(id)) < threshold) small.push_back(id);
  return remove_edges(small);
}

std::size_t DagNN::prune_percentile(double percent) {
  if (!(percent >= 0 && percent <= 100)) fail("prune", fmt::format("{} percent", percent), "0 to 100");
  std::vector<std::pair<float, EdgeId>> sorted;
  for (const auto& [id, edge] : topology_.edges()) sorted.emplace_back(std::fabs(weight(id)), id);
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(static_cast<std::size_t>(static_cast<double>(sorted.size()) * percent / 100));
  std::vector<EdgeId> small;
  for (const auto& [size, id] : sorted) small.push_back(id);
  return remove_edges(small);
}

std::size_t DagNN::remove_unseen() {
  std::set<NodeId> seen;
  std::vector<NodeId> open;
  for (const auto& [id, node] : topology_.nodes())
    if (node.kind == NodeKind::kOutput && seen.insert(id).second) open.push_back(id);
  while (!open.empty()) {
    const NodeId v = open.back();
    open.pop_back();
    for (const EdgeId e : topology_.node(v).in)
      if (seen.insert(topology_.edge(e).from).second) open.push_back(topology_.edge(e).from);
  }
  std::vector<NodeId> unseen;
  for (const auto& [id, node] : topology_.nodes())
    if (node.kind == NodeKind::kHidden && !seen.contains(id)) unseen.push_back(id);
  for (const NodeId id : unseen) remove_node(id);
  return unseen.size();
}

void DagNN::remove_edge(EdgeId edge) {
  topology_.edge(edge);
  remove_edges({edge});
}

void DagNN::remove_node(NodeId node) {
  std::vector<EdgeId> edges = topology_.node(node).in;
  const std::vector<EdgeId>& out = topology_.node(node).out;
  edges.insert(edges.end(), out.begin(), out.end());
  remove_edges(edges);
  topology_.remove_node(node);
  state_->values[kDagBias].fresh.erase(node);
  forget_gradient(place_of(kDagBias, node));
  edited();
}

}  // namespace espalier
