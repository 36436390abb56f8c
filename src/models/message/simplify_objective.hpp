// `simplify` for the trainer: examples in fixed chunks, each with its own gradient slot.
#pragma once

#include <memory>
#include <vector>

#include "base/scratch.hpp"
#include "data/rows.hpp"
#include "espalier/parameters.hpp"
#include "espalier/trainer.hpp"
#include "models/message/simplify_data.hpp"

namespace espalier {

struct SimplifyTaskOptions {
  SimplifyDataOptions data;
  TransformOptions net;
  std::size_t batch_size = 128;
  bool reference = false;  // the plain sequential code instead of the fast one
};
Fields fields_of(SimplifyTaskOptions& options);

class SimplifyObjective : public Objective {
 public:
  SimplifyObjective(const SimplifyTaskOptions& options, std::uint64_t seed);

  Parameters& parameters() override { return net_.parameters(); }
  double accumulate(std::uint64_t batch, const ThreadPool& pool, PhaseSeconds& phases) override;
  Evaluation evaluate(const ThreadPool& pool) override;
  std::unique_ptr<Model> snapshot(std::span<const float> weights, const SafetensorsFile& state) const override;
  Verdict judge(const Model& best, const ThreadPool& pool) const override;
  Facts report(const Model& best, const ThreadPool& pool) const override;

  const GraphTransformNet& net() const { return net_; }
  const SimplifyData& data() const { return data_; }

 private:
  struct Example {
    NumberedGraph input;
    std::vector<std::uint32_t> edits;
  };
  struct Batch {
    TransformBatch graphs;
    std::vector<std::uint32_t> edits;  // the right ones
  };
  std::vector<Example> make_examples() const;
  Batch batch_of(std::span<const std::uint32_t> members) const;
  double accumulate_reference(std::span<const std::uint32_t> members, PhaseSeconds& phases);

  SimplifyTaskOptions options_;
  SimplifyData data_;
  GraphTransformNet net_;
  std::vector<Example> examples_;              // of data_.train
  EpochOrder order_;                           // of the examples
  std::vector<Expression> validation_normal_;  // what the engine says
  GradientSlots slots_;
  ScratchPool<TransformState> states_;  // one per worker, so that it stays in the cache of its core
};

}  // namespace espalier
