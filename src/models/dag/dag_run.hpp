// What a DagNN keeps between calls beside its parameters: the plan of its shape, the last batch. Private to the files
// dag_*.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "espalier/dag_nn.hpp"
#include "espalier/thread_pool.hpp"
#include "models/dag/dag_kernels.hpp"

namespace espalier {

// A DagNN's shape as the kernels want it: nodes renumbered level by level ("ranks", inputs first), edges by
// target and by source. Rebuilt after edits, shared by every pass until then.
struct DagPlan {
  Graph graph;                              // over ranks
  std::vector<NodeId> nodes;                // [N] id of each rank
  std::vector<EdgeId> edges;                // [E] id of each edge number of the graph
  std::vector<std::uint32_t> level_starts;  // ranks; level 0 is the inputs
  std::vector<std::uint32_t> inputs;        // ranks, by id
  std::vector<std::uint32_t> outputs;       // ranks, by id
  std::vector<std::uint8_t> activation;     // [N]
  std::vector<std::uint8_t> is_output;      // [N]
  std::vector<float> scale;                 // [N] s_v
  std::size_t num_inputs = 0;
};

DagPlan make_dag_plan(const DagTopology& topology, bool fan_in_scaling);

inline constexpr std::size_t kDagBias = 0, kDagWeight = 1;  // tensors of the parameters

struct DagNN::State {
  bool edited = true;  // since the last plan: the shape is new
  // The values of a tensor by the ids of their nodes or edges.
  struct ById {
    std::unordered_map<std::uint32_t, float> fresh;     // not in the parameters yet
    std::unordered_map<std::uint32_t, std::size_t> at;  // where those of the last plan are in the tensor
  };
  ById values[2];  // of kDagBias and kDagWeight
  DagPlan plan;
  // [biases, then weights]: something was added to its gradient since zero_grad; 0 for what was removed.
  std::vector<std::uint8_t> added;

  // A batch. Lanes are cut into blocks; a block's rows lie together: [blocks][N][lanes].
  struct Batch {
    std::size_t size = 0, lanes = 0, blocks = 0;
    AlignedVector<float> activations;
    std::vector<float> outputs;  // [B][outputs]
    bool shared = false;         // over ranks: activations of this rank's blocks alone
  };
  Batch trained, evaluated;            // the last of each mode
  LastPass last;                       // in training mode
  std::uint64_t weights = 0;           // seal of the parameters in that pass
  bool ran_backward = false;           // through it
  bool ran_evaluation = false;         // since the last edit
  AlignedVector<float> deltas;         // as the activations
  std::optional<GradientSlots> slots;  // of [E] by place among the edges sorted by source, then [N] by rank
  AlignedVector<float> slot_sums;      // as a slot
  double reduction_seconds = 0;
  AlignedVector<float> out_weights;  // [E] by place

  DagView view(const Parameters& parameters, std::size_t lanes) const {
    const Graph& g = plan.graph;
    return {g.in_offsets().data(),
            g.sources().data(),
            g.out_offsets().data(),
            g.targets().data(),
            parameters.values(kDagWeight).data(),
            out_weights.data(),
            parameters.values(kDagBias).data(),
            plan.scale.data(),
            plan.activation.data(),
            plan.is_output.data(),
            static_cast<std::uint32_t>(g.num_edges()),
            plan.num_inputs,
            lanes};
  }
};

}  // namespace espalier
