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
}
DagNN::~DagNN() = default;
DagNN::DagNN(const DagNN& other)
    : options_(other.options_),
      topology_(other.topology_),
      parameters_(other.parameters_),
      training_(other.training_),
      accumulated_(other.accumulated_),
      state_(std::make_unique<State>(*other.state_)) {}
DagNN& DagNN::operator=(const DagNN& other) { return *this = DagNN(other); }
DagNN::DagNN(DagNN&&) noexcept = default;
DagNN& DagNN::operator=(DagNN&&) noexcept = default;

void DagNN::edited() {
  state_->edited = true;
  state_->ran_forward = state_->ran_backward = false;
}

NodeId DagNN::add_node(NodeKind kind, Activation activation, float bias) {
  if (kind == NodeKind::kInput && bias != 0)
    fail("add node", fmt::format("an input with bias {}", bias), "bias 0", "inputs are clamped to the sample");
  const NodeId id = topology_.add_node(kind, activation);
  if (kind != NodeKind::kInput) state_->new_biases.emplace(id, bias);
  edited();
  return id;
}

EdgeId DagNN::add_edge(NodeId from, NodeId to, float weight) {
  const EdgeId id = topology_.add_edge(from, to);
  state_->new_weights.emplace(id, weight);
  edited();
  return id;
}

void DagNN::restore_node(NodeId id, NodeKind kind, Activation activation, float bias, std::uint32_t symbol) {
  topology_.restore_node(id, kind, activation, symbol);
  if (kind != NodeKind::kInput) state_->new_biases.emplace(id, bias);
  edited();
}

void DagNN::restore_edge(EdgeId id, NodeId from, NodeId to, float weight) {
  topology_.restore_edge(id, from, to);
  state_->new_weights.emplace(id, weight);
  edited();
}

void DagNN::reserve_ids(NodeId next_node, EdgeId next_edge) { topology_.reserve_ids(next_node, next_edge); }

std::size_t DagNN::weight_index(EdgeId edge) {
  topology_.edge(edge);
  apply_edits();
  return parameters_.tensors()[kDagWeight].offset + state_->weight_at.at(edge);
}

std::size_t DagNN::bias_index(NodeId node) {
  if (topology_.node(node).kind == NodeKind::kInput)
    fail("bias", fmt::format("node {}, an input", node), "a hidden or output node");
  apply_edits();
  return parameters_.tensors()[kDagBias].offset + state_->bias_at.at(node);
}

std::size_t DagNN::num_inputs() const {
  return static_cast<std::size_t>(std::count_if(topology_.nodes().begin(), topology_.nodes().end(),
                                                [](const auto& n) { return n.second.kind == NodeKind::kInput; }));
}

std::size_t DagNN::num_outputs() const {
  return static_cast<std::size_t>(std::count_if(topology_.nodes().begin(), topology_.nodes().end(),
                                                [](const auto& n) { return n.second.kind == NodeKind::kOutput; }));
}

float& DagNN::weight_ref(EdgeId edge) {
  topology_.edge(edge);
  const auto fresh = state_->new_weights.find(edge);
  return fresh != state_->new_weights.end() ? fresh->second
                                            : parameters_.values(kDagWeight)[state_->weight_at.at(edge)];
}

float& DagNN::bias_ref(NodeId node) {
  if (topology_.node(node).kind == NodeKind::kInput)
    fail("bias", fmt::format("node {}, an input", node), "a hidden or output node");
  const auto fresh = state_->new_biases.find(node);
  return fresh != state_->new_biases.end() ? fresh->second : parameters_.values(kDagBias)[state_->bias_at.at(node)];
}

float DagNN::weight(EdgeId edge) const { return const_cast<DagNN*>(this)->weight_ref(edge); }

float DagNN::bias(NodeId node) const {
  if (topology_.node(node).kind == NodeKind::kInput) return 0;
  return const_cast<DagNN*>(this)->bias_ref(node);
}

void DagNN::set_weight(EdgeId edge, float value) { weight_ref(edge) = value; }
void DagNN::set_bias(NodeId node, float value) { bias_ref(node) = value; }

Parameters& DagNN::parameters() {
  apply_edits();
  return parameters_;
}

void DagNN::apply_edits(Optimizer* optimizer) {
  State& s = *state_;
  if (!s.edited) return;
  const std::size_t old_biases = parameters_.values(kDagBias).size();
  DagPlan plan = make_dag_plan(topology_, options_.fan_in_scaling);
  Parameters moved;
  moved.add("bias", {plan.nodes.size() - plan.num_inputs});
  moved.add("weight", {plan.edges.size()});
  std::unordered_map<NodeId, std::size_t> bias_at;
  std::unordered_map<EdgeId, std::size_t> weight_at;
  Optimizer state(optimizer ? optimizer->options() : OptimizerOptions{}, optimizer ? moved.num_parameters() : 0);
  if (optimizer) state.set_steps(optimizer->steps());
  // Copies value, gradient and optimizer state of one parameter; both indexes are into the flat arrays.
  const auto move = [&](std::size_t from, std::size_t to) {
    moved.values()[to] = parameters_.values()[from];
    moved.gradients()[to] = parameters_.gradients()[from];
    if (!optimizer) return;
    state.first_moment()[to] = optimizer->first_moment()[from];
    if (!state.second_moment().empty()) state.second_moment()[to] = optimizer->second_moment()[from];
  };
  const std::size_t new_biases = plan.nodes.size() - plan.num_inputs;
  for (std::size_t i = 0; i < new_biases; ++i) {
    const NodeId id = plan.nodes[plan.num_inputs + i];
    bias_at.emplace(id, i);
    const auto fresh = s.new_biases.find(id);
    if (fresh != s.new_biases.end())
      moved.values()[i] = fresh->second;
    else
      move(s.bias_at.at(id), i);
  }
  for (std::size_t e = 0; e < plan.edges.size(); ++e) {
    const EdgeId id = plan.edges[e];
    weight_at.emplace(id, e);
    const auto fresh = s.new_weights.find(id);
    if (fresh != s.new_weights.end())
      moved.values()[new_biases + e] = fresh->second;
    else
      move(old_biases + s.weight_at.at(id), new_biases + e);
  }
  parameters_ = std::move(moved);
  if (optimizer) *optimizer = std::move(state);
  s.plan = std::move(plan);
  s.bias_at = std::move(bias_at);
  s.weight_at = std::move(weight_at);
  s.new_biases.clear();
  s.new_weights.clear();
  s.edited = false;
}

void DagNN::zero_grad(const ThreadPool& pool) {
  parameters_.zero_grad(pool);
  accumulated_ = false;
}

void DagNN::step(float lr, const ThreadPool& pool) {
  apply_edits();
  float* values = parameters_.values().data();
  const float* gradients = parameters_.gradients().data();
  pool.for_chunks(parameters_.num_parameters(), kFlatChunk, 0.3, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) values[i] -= lr * gradients[i];
  });
}

double DagNN::gradient_norm(const ThreadPool& pool) const { return parameters_.gradient_norm(pool); }
double DagNN::clip_gradients(double max_norm, const ThreadPool& pool) {
  return parameters_.clip_gradients(max_norm, pool);
}
bool DagNN::has_gradients() const { return parameters_.has_gradients(); }

std::size_t DagNN::num_parameters() const { return topology_.edges().size() + topology_.nodes().size() - num_inputs(); }

float* DagNN::gradient_of(EdgeId edge) {
  const auto found = state_->weight_at.find(edge);
  return found == state_->weight_at.end() ? nullptr : &parameters_.gradients(kDagWeight)[found->second];
}

void DagNN::accumulate_edge_grad(NodeId from, NodeId to, float gradient) {
  const std::optional<EdgeId> edge = topology_.find_edge(from, to);
  if (!edge) fail("accumulate edge grad", fmt::format("{} -> {}", from, to), "an edge of this network");
  if (!training_) return;
  apply_edits();
  *gradient_of(*edge) += gradient;
  accumulated_ = true;
}

std::optional<float> DagNN::edge_grad(NodeId from, NodeId to) const {
  const std::optional<EdgeId> edge = topology_.find_edge(from, to);
  const float* gradient = edge ? const_cast<DagNN*>(this)->gradient_of(*edge) : nullptr;
  if (!gradient || (!accumulated_ && *gradient == 0)) return std::nullopt;
  return *gradient;
}

void DagNN::backward_and_update(std::span<const float> output_grad, float lr) {
  backward_accumulate(output_grad);
  if (!training_) return;
  step(lr);
  zero_grad();
}

// s_v w_uv is what an edge contributes; when s_v changes the weight follows, and its gradient the other way.
void DagNN::scale_incoming(NodeId node, std::size_t fan_in_before) {
  const std::vector<EdgeId>& in = topology_.node(node).in;
  if (!options_.fan_in_scaling || in.empty() || fan_in_before == 0 || in.size() == fan_in_before) return;
  const auto ratio = static_cast<float>(std::sqrt(static_cast<double>(in.size()) / static_cast<double>(fan_in_before)));
  for (const EdgeId e : in) {
    weight_ref(e) *= ratio;
    if (float* gradient = gradient_of(e)) *gradient /= ratio;
  }
}

NodeId DagNN::split_edge(EdgeId edge) {
  const DagTopology::Split split = topology_.split_edge(edge);
  state_->new_biases.emplace(split.node, 0.0f);
  state_->new_weights.emplace(split.second, 1.0f);
  edited();  // fan-in scaling: the new node has fan-in 1, the old target as many edges as before
  return split.node;
}

EdgeId DagNN::add_shortcut(NodeId from, NodeId to) {
  const std::size_t before = topology_.has_node(to) ? topology_.node(to).in.size() : 0;
  const EdgeId id = add_edge(from, to, 0.0f);
  scale_incoming(to, before);
  return id;
}

std::size_t DagNN::remove_edges(const std::vector<EdgeId>& edges) {
  std::map<NodeId, std::size_t> fan_in_before;
  for (const EdgeId e : edges) {
    const NodeId to = topology_.edge(e).to;
    fan_in_before.emplace(to, topology_.node(to).in.size());
  }
  for (const EdgeId e : edges) {
    topology_.remove_edge(e);
    state_->new_weights.erase(e);
  }
  for (const auto& [node, before] : fan_in_before) scale_incoming(node, before);
  if (!edges.empty()) edited();
  return edges.size();
}

std::size_t DagNN::prune_below(float threshold) {
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
  state_->new_biases.erase(node);
  edited();
}

}  // namespace espalier
