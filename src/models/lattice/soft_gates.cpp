#include "models/lattice/soft_gates.hpp"

#include <algorithm>

#include "espalier/gates.hpp"
#include "logic/gate_kernels.hpp"
#include "logic/gumbel_kernel.hpp"

namespace espalier {
namespace {

constexpr std::size_t kGateChunk = 256;
constexpr double kForwardNs = 20, kBackwardNs = 15, kGumbelNs = 60;  // a gate

}  // namespace

SoftGates::SoftGates(const Automaton& automaton)
    : automaton_(automaton), layers_(perceive_layers(automaton)), tree_(perceive_tree(automaton, layers_)) {
  for (int k = 0; k < automaton.shape().kernels; ++k)
    for (std::size_t l = 0; l < layers_.plans.size(); ++l)
      for (const std::int32_t g : layers_.plans[l].gate)
        row_.push_back(automaton.perceive_gate(k, static_cast<int>(l), g));
  for (const Wiring& w : automaton.update()) {
    update_.push_back(plan_layer(w));
    update_offset_.push_back(static_cast<int>(row_.size()));
    for (const std::int32_t g : update_.back().gate)
      row_.push_back(automaton.update_gate(static_cast<int>(update_.size()) - 1, g));
  }
  p_.resize(row_.size() * kGates);
  c_.resize(row_.size() * 4);
}

void SoftGates::forward(const Parameters& parameters, const SoftChoice& choice, const ThreadPool& pool) {
  inverse_temperature_ = 1.0f / choice.temperature;
  if (choice.gumbel_scale > 0) add_gumbel_noise(parameters.values(), choice, pool, noisy_);
  const float* logits = choice.gumbel_scale > 0 ? noisy_.data() : parameters.values().data();
  pool.for_chunks(row_.size(), kGateChunk, kForwardNs, [&](Chunk chunk) {
    gate_softmax_forward(static_cast<int>(chunk.end - chunk.begin), logits, &row_[chunk.begin], inverse_temperature_,
                         &p_[chunk.begin * kGates], &c_[chunk.begin * 4]);
    if (choice.straight)
      for (std::size_t g = chunk.begin; g < chunk.end; ++g) {
        const float* p = &p_[g * kGates];
        std::ranges::copy(kGateCoefficients[std::max_element(p, p + kGates) - p], &c_[g * 4]);
      }
  });
}

void add_gumbel_noise(std::span<const float> logits, const SoftChoice& choice, const ThreadPool& pool,
                      AlignedVector<float>& noisy) {
  constexpr std::size_t kGroup = 32;  // numbers a group of the noise kernel
  noisy.resize((logits.size() + kGroup - 1) / kGroup * kGroup);
  pool.for_chunks(noisy.size() / kGroup, kGateChunk / 2, 2 * kGumbelNs, [&](Chunk chunk) {
    gumbel_noise(choice.seed, choice.step, static_cast<std::uint32_t>(chunk.begin),
                 static_cast<int>(chunk.end - chunk.begin), &noisy[chunk.begin * kGroup]);
    const std::size_t end = std::min(chunk.end * kGroup, logits.size());
    for (std::size_t i = chunk.begin * kGroup; i < end; ++i) noisy[i] = logits[i] + choice.gumbel_scale * noisy[i];
  });
}

void SoftGates::backward(const float* dc, Parameters& parameters, const ThreadPool& pool) const {
  float* gradients = parameters.gradients().data();
  pool.for_chunks(row_.size(), kGateChunk, kBackwardNs, [&](Chunk chunk) {
    gate_softmax_backward(static_cast<int>(chunk.end - chunk.begin), &p_[chunk.begin * kGates], dc + chunk.begin * 4,
                          &row_[chunk.begin], inverse_temperature_, gradients);
  });
}

void SoftGates::perceive_forward(int channels, const float* patch, float* values, float* rows) const {
  const int kernels = automaton_.shape().kernels;
  if (tree_)
    perceive_tree_forward(*tree_, kernels, coefficients(), channels, patch, values, rows);
  else
    perceive_layers_forward(layers_, kernels, coefficients(), channels, patch, values, rows);
}

void SoftGates::perceive_rows(int channels, const float* patch, float* values, float* rows) const {
  perceive_forward(channels, patch, tree_ ? nullptr : values, rows);
}

void SoftGates::perceive_backward(int channels, const float* patch, float* values, const float* drows, float* spare,
                                  float* dpatch, float* dc) const {
  if (tree_ && tree_->depth > 1)
    return perceive_tree_backward(*tree_, automaton_.shape().kernels, coefficients(), channels, patch, values, drows,
                                  spare, dpatch, dc);
  perceive_layers_backward(layers_, automaton_.shape().kernels, coefficients(), channels, patch, values, drows, spare,
                           dpatch, dc);
}

}  // namespace espalier
