// The soft gates of an automaton in the order in which the kernels evaluate them: probabilities and the four
// coefficients of every gate, made once per training step, and the way back from their gradients to logits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/aligned.hpp"
#include "espalier/automaton.hpp"
#include "espalier/parameters.hpp"
#include "espalier/thread_pool.hpp"
#include "logic/layer_plan.hpp"
#include "models/lattice/perceive_layers.hpp"
#include "models/lattice/perceive_tree.hpp"

namespace espalier {

// How logits become probabilities in one step.
struct SoftChoice {
  float temperature = 1;
  float gumbel_scale = 0;  // noise added to the logits
  std::uint64_t seed = 0;  // of the noise
  std::uint32_t step = 0;
  bool straight = false;  // straight through: the likeliest gate alone forward, its soft gradient backward
};

// noisy = logits + scale * Gumbel noise of the choice's seed and step.
void add_gumbel_noise(std::span<const float> logits, const SoftChoice& choice, const ThreadPool& pool,
                      AlignedVector<float>& noisy);

class SoftGates {
 public:
  explicit SoftGates(const Automaton& automaton);

  const Automaton& automaton() const { return automaton_; }
  int gates() const { return static_cast<int>(row_.size()); }
  const std::vector<LayerPlan>& update_plans() const { return update_; }
  // First gate of an update layer, in evaluation order; the gates of the perception kernels come before.
  int update_first(int layer) const { return update_offset_[layer]; }

  const float* coefficients() const { return c_.data(); }  // [gates][4]
  const float* coefficients(int first) const { return c_.data() + 4 * static_cast<std::ptrdiff_t>(first); }

  void forward(const Parameters& parameters, const SoftChoice& choice, const ThreadPool& pool);
  // Adds to parameters.gradients(); dc: [gates][4], summed over cells, samples and steps.
  void backward(const float* dc, Parameters& parameters, const ThreadPool& pool) const;

  // What all kernels see in the patches of some channels, kBlockCells cells each; dc starts at the first gate.
  //   patch: [9][channels][cells]   values: [kernels][gates][channels][cells], those that the way back fetches
  //   rows: [channels][outputs][kernels][cells]
  void perceive_forward(int channels, const float* patch, float* values, float* rows) const;
  // The rows alone, faster; what it leaves in values is of no use.
  void perceive_rows(int channels, const float* patch, float* values, float* rows) const;
  // Adds to dpatch and dc, spoils the values. spare: [perceive_spare_rows][channels][cells], to work in.
  void perceive_backward(int channels, const float* patch, float* values, const float* drows, float* spare,
                         float* dpatch, float* dc) const;
  int perceive_spare_rows() const { return espalier::perceive_spare_rows(layers_); }

 private:
  const Automaton& automaton_;
  PerceiveLayers layers_;
  std::optional<PerceiveTree> tree_;  // when the kernels are trees
  std::vector<LayerPlan> update_;
  std::vector<int> update_offset_;
  std::vector<std::int32_t> row_;  // [gates] number of the gate in the parameters
  AlignedVector<float> p_, c_, noisy_;
  float inverse_temperature_ = 1;
};

}  // namespace espalier
