// A network that rewrites graphs: embedding of the labels -> L message-passing layers over left and right edges
// (residual where sizes agree) -> one logit per edit and node. See graph/rewrite.hpp for the edits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "espalier/embedding.hpp"
#include "espalier/message_passing.hpp"
#include "models/message/rewrite.hpp"

namespace espalier {

struct TransformOptions {
  std::size_t features = 48;
  std::size_t layers = 3;  // how far a node sees
  Aggregation aggregation = Aggregation::kMean;
  bool layer_norm = true;
  Activation activation = Activation::kRelu;
};

// Many expressions side by side as one graph with two relations: operand -> user, left and right.
struct TransformBatch {
  std::vector<std::uint32_t> symbols;     // [N]
  std::vector<std::uint32_t> first_node;  // [expressions + 1]
  MessageGraph graph;
};
// An expression with its labels looked up, ready to be batched again and again.
struct EncodedExpression {
  std::vector<std::uint32_t> symbols;
  std::vector<std::int32_t> left, right;  // -1 for none
};
EncodedExpression encode_expression(const Expression& expression, const Vocabulary& words);
TransformBatch make_batch(std::span<const EncodedExpression* const> expressions);
TransformBatch make_batch(std::span<const Expression* const> expressions, const Vocabulary& words);

// Activations of one batch; reused from call to call, one per thread.
struct TransformState {
  std::vector<AlignedVector<float>> hidden;   // [layers + 1] of [N][features]
  std::vector<AlignedVector<float>> outputs;  // [layers], before the residual is added
  std::vector<MessageState> layers;
  AlignedVector<float> logits, packed, dh, dh_next;  // [N][edits], ..., [N][features]
};

class GraphTransformNet {
 public:
  GraphTransformNet(Vocabulary words, const TransformOptions& options, std::uint64_t seed);

  const Vocabulary& words() const { return words_; }
  const TransformOptions& options() const { return options_; }
  std::size_t num_edits() const { return kBecome + words_.size(); }
  Parameters& parameters() { return *parameters_; }
  const Parameters& parameters() const { return *parameters_; }
  Embedding& embedding() { return embedding_; }

  // The last hidden features, [N][features].
  std::span<const float> encode(const TransformBatch& batch, TransformState& state, const ThreadPool& pool) const;
  // The likeliest edit of every node; the lower number wins a tie.
  std::vector<std::uint32_t> predict_edits(const TransformBatch& batch, TransformState& state,
                                           const ThreadPool& pool) const;
  std::vector<std::uint32_t> predict_edits(const Expression& expression) const;
  // One pass: predict, apply.
  Expression transform(const Expression& expression) const;
  // Passes until nothing changes, at most `most`; the expression after each pass, the first being the input.
  std::vector<Expression> rewrite(const Expression& expression, std::size_t most) const;

  // The same for many expressions, in parallel: the expression after one pass and the last one. With `share`
  // equal subexpressions become one node again after every pass.
  struct Rewritten {
    Expression once, last;
  };
  std::vector<Rewritten> rewrite_all(std::span<const Expression> expressions, std::size_t most, bool share,
                                     const ThreadPool& pool) const;

  // Cross-entropy over nodes, summed and times `scale`; its gradients are added to `gradients`.
  double loss_and_gradients(const TransformBatch& batch, std::span<const std::uint32_t> edits, double scale,
                            TransformState& state, std::span<float> gradients, const ThreadPool& pool) const;
  double loss(const TransformBatch& batch, std::span<const std::uint32_t> edits, double scale, TransformState& state,
              const ThreadPool& pool) const;

  void zero_grad(const ThreadPool& pool) { parameters_->zero_grad(pool); }
  void step(float lr, const ThreadPool& pool);  // plain SGD

 private:
  double softmax(std::span<const std::uint32_t> edits, double scale, TransformState& state, bool gradients) const;
  void head(const TransformBatch& batch, TransformState& state, const ThreadPool& pool) const;

  Vocabulary words_;
  TransformOptions options_;
  std::unique_ptr<Parameters> parameters_;
  Embedding embedding_;
  std::vector<MessagePassingLayer> layers_;
  std::size_t head_weight_, head_bias_;  // offsets
};

}  // namespace espalier
