// What a model's outputs are worth: losses with their gradients, and scores.
#pragma once

#include <span>
#include <vector>

#include "espalier/trainer.hpp"

namespace espalier {

// Probabilities in place of logits.
void softmax(std::span<double> logits);

// Minus the logarithm of the probability of class `right`, from the logits of one sample; with `gradient` also `scale`
// times its gradient. One sums doubles, the other floats, and then `gradient` may be the logits themselves: a model
// that is trained with one of them has other bits with the other.
double cross_entropy(std::span<const float> logits, std::size_t right, float scale, float* gradient);
double cross_entropy_in_floats(std::span<const float> logits, std::size_t right, float scale, float* gradient);

// Of samples [B]: targets are classes and outputs their logits [B][classes], or both are numbers [B].
// The mean of the cross-entropy, or of half the squared error, with its gradient when wanted.
double mean_loss(bool classifies, std::span<const float> outputs, std::span<const float> targets,
                 std::vector<float>* gradient);
// Fraction of classes right, or R squared.
double score_of(bool classifies, std::span<const float> outputs, std::span<const float> targets);
Evaluation judge_outputs(bool classifies, std::span<const float> outputs, std::span<const float> targets);

}  // namespace espalier
