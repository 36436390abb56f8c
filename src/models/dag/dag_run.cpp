// The plan of a DagNN's shape, and a batch through it, forward and backward. Lanes are cut into blocks that depend on
// the batch alone. With enough blocks each runs through the whole graph by itself; with few, the nodes of a level are
// shared out instead. Both ways make every sum in the same order, so the choice may depend on the pool and the bits may
// not.
#include "models/dag/dag_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/arrays.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/rank_bytes.hpp"
#include "espalier/error.hpp"

namespace espalier {

DagPlan make_dag_plan(const DagTopology& topology, bool fan_in_scaling) {
  DagPlan plan;
  DagTopology::Order order = topology.levels();
  plan.nodes = std::move(order.nodes);
  plan.level_starts = std::move(order.level_starts);
  std::unordered_map<NodeId, std::uint32_t> rank;
  for (std::uint32_t r = 0; r < plan.nodes.size(); ++r) {
    const DagNode& node = topology.node(plan.nodes[r]);
    rank.emplace(plan.nodes[r], r);
    plan.activation.push_back(static_cast<std::uint8_t>(node.activation));
    plan.is_output.push_back(node.kind == NodeKind::kOutput);
    plan.scale.push_back(fan_in_scaling && !node.in.empty()
                             ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(node.in.size())))
                             : 1.0f);
  }
  std::vector<Edge> edges;
  std::vector<EdgeId> ids;
  for (const auto& [id, edge] : topology.edges()) {
    edges.push_back({rank.at(edge.from), rank.at(edge.to)});
    ids.push_back(id);
  }
  plan.graph = Graph(plan.nodes.size(), edges);
  for (const std::uint32_t given : plan.graph.given()) plan.edges.push_back(ids[given]);
  for (const auto& [id, node] : topology.nodes()) {
    if (node.kind == NodeKind::kInput) plan.inputs.push_back(rank.at(id));
    if (node.kind == NodeKind::kOutput) plan.outputs.push_back(rank.at(id));
  }
  plan.num_inputs = plan.inputs.size();
  return plan;
}

namespace {

constexpr std::size_t kMaxLanes = 64;  // of a block: 256 bytes a row
constexpr std::size_t kMaxSlots = 16;  // private gradient arrays
constexpr std::size_t kNodeChunk = 16;
constexpr double kEdgeNs = 6;  // one edge, one block, one pass

std::size_t slots_of(std::size_t blocks) { return std::min(blocks, kMaxSlots); }
std::size_t blocks_per_slot(std::size_t blocks) { return (blocks + slots_of(blocks) - 1) / slots_of(blocks); }

bool shares_blocks(std::size_t blocks, const ThreadPool& pool) {
  return pool.ranks() && pool.ranks()->size() > 1 && slots_of(blocks) > 1;
}
// Blocks of whole slots over the ranks of a pool; with one slot every rank runs everything.
RankShare own_blocks(std::size_t blocks, const ThreadPool& pool) {
  if (!shares_blocks(blocks, pool)) return {0, blocks};
  const RankShare slots = share_of(slots_of(blocks), 1, pool.ranks()->rank(), pool.ranks()->size());
  const std::size_t per_slot = blocks_per_slot(blocks);
  return {std::min(blocks, slots.begin * per_slot), std::min(blocks, slots.end * per_slot)};
}

// Runs body(first, last) for every level from the first hidden one, or downward from the last; a level's nodes in
// parallel.
template <class Body>
void for_levels(const DagPlan& plan, bool upward, double node_ns, const ThreadPool& pool, Body&& body) {
  const auto& starts = plan.level_starts;
  const std::size_t levels = starts.size() - 1;
  for (std::size_t i = 0; i < levels; ++i) {
    const std::size_t level = upward ? i : levels - 1 - i;
    const std::size_t first = starts[level];
    pool.for_chunks(starts[level + 1] - first, kNodeChunk, node_ns,
                    [&](Chunk c) { body(first + c.begin, first + c.end); });
  }
}

}  // namespace

DagOutputs DagNN::forward(std::span<const float> samples, std::size_t batch, const ThreadPool& pool) {
  apply_edits();
  State::Batch& s = training_ ? state_->trained : state_->evaluated;
  const DagPlan& p = state_->plan;
  const std::size_t nodes = p.nodes.size(), inputs = p.inputs.size(), outputs = p.outputs.size();
  constexpr std::size_t kMaxBatch = std::size_t{1} << 32;  // so that products of sizes fit
  if (batch > kMaxBatch || samples.size() != batch * inputs)
    fail("dag forward", fmt::format("{} numbers", samples.size()),
         fmt::format("{} samples x {} inputs", batch, inputs));
  if (!all_finite(samples)) fail("dag forward", "a sample with a value that is not finite", "numbers");
  std::vector<float> fed_back;  // outputs that become samples, whose memory is about to be written
  if (overlap(samples, s.outputs)) {
    fed_back.assign(samples.begin(), samples.end());
    samples = fed_back;
  }
  if (training_) {  // should this pass be cancelled
    state_->last.forget();
    state_->ran_backward = false;
  }
  s.size = batch;
  s.lanes = std::min(kMaxLanes, (batch + kDagLaneStep - 1) / kDagLaneStep * kDagLaneStep);
  s.blocks = batch == 0 ? 0 : (batch + s.lanes - 1) / s.lanes;
  s.activations.resize(s.blocks * nodes * s.lanes);
  s.outputs.resize(batch * outputs);
  const std::size_t lanes = s.lanes, block_size = nodes * lanes;
  const DagView view = state_->view(parameters_, lanes);
  const double block_ns = kEdgeNs * static_cast<double>(p.edges.size() + nodes);

  const auto load = [&](std::size_t block) {
    float* a = s.activations.data() + block * block_size;
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t sample = block * lanes + lane;
        a[p.inputs[i] * lanes + lane] = sample < batch ? samples[sample * inputs + i] : 0.0f;
      }
  };
  const auto store = [&](std::size_t block) {
    const float* a = s.activations.data() + block * block_size;
    for (std::size_t lane = 0; lane < lanes && block * lanes + lane < batch; ++lane)
      for (std::size_t o = 0; o < outputs; ++o)
        s.outputs[(block * lanes + lane) * outputs + o] = a[p.outputs[o] * lanes + lane];
  };
  const RankShare own = own_blocks(s.blocks, pool);
  s.shared = shares_blocks(s.blocks, pool);
  if (own.end - own.begin >= 2 * static_cast<std::size_t>(pool.workers()) || pool.workers() == 1) {
    pool.for_chunks(own.end - own.begin, 1, block_ns, [&](Chunk c) {
      const std::size_t block = own.begin + c.index;
      load(block);
      dag_forward(view, p.num_inputs, nodes, s.activations.data() + block * block_size);
      store(block);
    });
  } else {
    for (std::size_t block = own.begin; block < own.end; ++block) {
      load(block);
      for_levels(p, true, block_ns / static_cast<double>(nodes), pool, [&](std::size_t first, std::size_t last) {
        if (first >= p.num_inputs) dag_forward(view, first, last, s.activations.data() + block * block_size);
      });
      store(block);
    }
  }
  if (s.shared) {
    std::vector<std::size_t> starts = share_starts(slots_of(s.blocks), 1, pool.ranks()->size(),
                                                   blocks_per_slot(s.blocks) * lanes * outputs * sizeof(float));
    for (std::size_t& start : starts) start = std::min(start, s.outputs.size() * sizeof(float));
    pool.ranks()->all_gather(std::as_writable_bytes(std::span(s.outputs)), starts);
  }
  if (!training_) {
    state_->ran_evaluation = true;
    return {s.outputs, {}};
  }
  state_->weights = seal_of(parameters_.values());
  return {s.outputs, state_->last.begin()};
}

void DagNN::backward_accumulate(std::span<const float> output_grad, const ThreadPool& pool) {
  accumulate(nullptr, output_grad, pool);
}

void DagNN::backward_accumulate(const ForwardPass& pass, std::span<const float> output_grad, const ThreadPool& pool) {
  accumulate(&pass, output_grad, pool);
}

void DagNN::accumulate(const ForwardPass* pass, std::span<const float> output_grad, const ThreadPool& pool) {
  constexpr const char* kOp = "backward accumulate";
  State& s = *state_;
  const State::Batch& b = s.trained;
  const DagPlan& p = s.plan;
  const std::size_t nodes = p.nodes.size(), outputs = p.outputs.size(), edges = p.edges.size();
  const auto check_size = [&](std::size_t batch) {
    if (output_grad.size() != batch * outputs)
      fail(kOp, fmt::format("{} numbers", output_grad.size()), fmt::format("{} samples x {} outputs", batch, outputs));
  };
  if (!training_) {
    if (!s.ran_evaluation && !s.last.get()) fail(kOp, "no forward pass since the last change", "a forward pass first");
    check_size(s.ran_evaluation ? s.evaluated.size : b.size);
    s.ran_backward = false;  // input_gradients() would be those of another pass
    return;
  }
  if (pass)
    s.last.check(kOp, *pass);
  else
    s.last.check(
        kOp, "give the pass or tape of that forward, or evaluate in evaluation mode, which leaves training as it is");
  if (s.weights != seal_of(parameters_.values())) {
    s.last = {};  // nothing waits any more
    fail(kOp, "weights that have changed since the forward pass", "a new forward pass");
  }
  check_size(b.size);
  std::fill(s.added.begin(), s.added.end(), std::uint8_t{1});
  s.ran_backward = b.blocks == 0;
  if (b.blocks == 0) return s.last.went_back();
  const std::size_t lanes = b.lanes, block_size = nodes * lanes;
  const std::size_t slots = slots_of(b.blocks), per_slot = blocks_per_slot(b.blocks);
  s.deltas.resize(b.blocks * block_size);
  if (!s.slots || s.slots->count() != slots || s.slot_sums.size() != edges + nodes) {
    s.slots.emplace(slots, edges + nodes);
    s.slot_sums.resize(edges + nodes);
  }
  // The slots of the blocks that forward() ran here.
  if (b.shared != shares_blocks(b.blocks, pool))
    fail("backward accumulate", "a different pool from the forward pass", "the same ranks");
  const GradientSlots::Share own = s.slots->share(pool);
  s.slots->zero(own, pool);
  s.out_weights.resize(edges);
  const std::span<const float> weights = parameters_.values(kDagWeight);
  for (std::size_t k = 0; k < edges; ++k)
    s.out_weights[k] = p.scale[p.graph.targets()[k]] * weights[p.graph.out_edges()[k]];
  const DagView view = s.view(parameters_, lanes);
  const double block_ns = 2 * kEdgeNs * static_cast<double>(edges + nodes);

  const auto seed = [&](std::size_t block) {
    float* g = s.deltas.data() + block * block_size;
    for (std::size_t o = 0; o < outputs; ++o)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t sample = block * lanes + lane;
        g[p.outputs[o] * lanes + lane] = sample < b.size ? output_grad[sample * outputs + o] : 0.0f;
      }
  };
  const auto run = [&](std::size_t block, std::size_t first, std::size_t last) {
    float* slot = s.slots->slot(block / per_slot).data();
    dag_backward(view, first, last, b.activations.data() + block * block_size, s.deltas.data() + block * block_size,
                 slot, slot + edges);
  };
  const RankShare blocks = own_blocks(b.blocks, pool);
  if (own.end - own.begin >= 2 * static_cast<std::size_t>(pool.workers()) || pool.workers() == 1) {
    pool.for_chunks(blocks.end - blocks.begin, per_slot, block_ns, [&](Chunk c) {
      for (std::size_t block = blocks.begin + c.begin; block < blocks.begin + c.end; ++block) {
        seed(block);
        run(block, 0, nodes);
      }
    });
  } else {
    for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
      seed(block);
      for_levels(p, false, block_ns / static_cast<double>(nodes), pool,
                 [&](std::size_t first, std::size_t last) { run(block, first, last); });
    }
  }

  std::fill(s.slot_sums.begin(), s.slot_sums.end(), 0.0f);
  PhaseClock book;
  s.slots->add_shared(s.slot_sums, own, pool);
  book(s.reduction_seconds);
  const std::span<float> dw = parameters_.gradients(kDagWeight), db = parameters_.gradients(kDagBias);
  const float* sums = s.slot_sums.data();
  pool.for_chunks(edges, kFlatChunk / 4, 2, [&](Chunk c) {
    for (std::size_t k = c.begin; k < c.end; ++k) dw[p.graph.out_edges()[k]] += p.scale[p.graph.targets()[k]] * sums[k];
  });
  for (std::size_t v = p.num_inputs; v < nodes; ++v) db[v - p.num_inputs] += sums[edges + v];
  s.ran_backward = true;
  s.last.went_back();
}

std::vector<float> DagNN::input_rows(std::span<const float> blocks, const char* op) const {
  const State::Batch& b = state_->trained;
  const DagPlan& p = state_->plan;
  if (b.shared) fail(op, "a pass shared out over ranks", "one of this rank alone", "a pool without ranks");
  std::vector<float> rows(b.size * p.inputs.size());
  for (std::size_t sample = 0; sample < b.size; ++sample)
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      rows[sample * p.inputs.size() + i] =
          blocks[sample / b.lanes * p.nodes.size() * b.lanes + p.inputs[i] * b.lanes + sample % b.lanes];
  return rows;
}

double DagNN::reduction_seconds() const { return state_->reduction_seconds; }

std::vector<float> DagNN::input_gradients() const {
  if (!state_->ran_backward)
    fail("input gradients", "no backward pass", "backward_accumulate first",
         "in training mode: in evaluation mode it does nothing");
  return input_rows(state_->deltas, "input gradients");
}

std::vector<float> DagNN::samples() const {
  if (!state_->last.get()) fail("samples", "no forward pass in training mode", "one first");
  return input_rows(state_->trained.activations, "samples");
}

}  // namespace espalier
