// Values, gradients and the training contract; running is in dag_nn_run.cpp, shapes in dag_nn_build.cpp and
// dag_nn_edit.cpp, files in dag_nn_file.cpp.
#include "espalier/dag_nn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "models/dag/dag_nn_state.hpp"

namespace espalier {

const ThreadPool& this_thread_only() {
  static const ThreadPool one(1);
  return one;
}

DagNN::DagNN(const DagOptions& options) : options_(options), state_(std::make_unique<State>()) {
  parameters_.add("bias", {0});
  parameters_.add("weight", {0});
}
DagNN::~DagNN() = default;
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

const DagPlan& DagNN::plan() {
  apply_edits();
  return state_->plan;
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

}  // namespace espalier
