#include "espalier/graph_transform_net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "espalier/random.hpp"
#include "models/message/dense_kernels.hpp"

namespace espalier {
namespace {

constexpr std::size_t kHeadRows = kOuterRows;  // rows of a chunk

const ThreadPool& one_thread() {
  static const ThreadPool pool(1);
  return pool;
}

}  // namespace

EncodedExpression encode_expression(const Expression& expression, const Vocabulary& words) {
  EncodedExpression encoded;
  for (const ExpressionNode& n : expression.nodes) {
    encoded.symbols.push_back(words.number(n.label));
    encoded.left.push_back(n.left);
    encoded.right.push_back(n.right);
  }
  return encoded;
}

TransformBatch make_batch(std::span<const EncodedExpression* const> expressions) {
  std::vector<std::uint32_t> symbols, first_node{0};
  std::vector<Edge> left, right;
  for (const EncodedExpression* e : expressions) {
    const std::uint32_t base = first_node.back();
    symbols.insert(symbols.end(), e->symbols.begin(), e->symbols.end());
    for (std::uint32_t i = 0; i < e->symbols.size(); ++i) {
      if (e->left[i] >= 0) left.push_back({base + static_cast<std::uint32_t>(e->left[i]), base + i});
      if (e->right[i] >= 0) right.push_back({base + static_cast<std::uint32_t>(e->right[i]), base + i});
    }
    first_node.push_back(static_cast<std::uint32_t>(symbols.size()));
  }
  std::vector<Graph> relations;
  relations.emplace_back(symbols.size(), left);
  relations.emplace_back(symbols.size(), right);
  return {std::move(symbols), std::move(first_node), MessageGraph(std::move(relations))};
}

TransformBatch make_batch(std::span<const Expression* const> expressions, const Vocabulary& words) {
  std::vector<EncodedExpression> encoded;
  for (const Expression* e : expressions) encoded.push_back(encode_expression(*e, words));
  std::vector<const EncodedExpression*> pointers;
  for (const EncodedExpression& e : encoded) pointers.push_back(&e);
  return make_batch(pointers);
}

GraphTransformNet::GraphTransformNet(Vocabulary words, const TransformOptions& o, std::uint64_t seed)
    : words_(std::move(words)),
      options_(o),
      parameters_(std::make_unique<Parameters>()),
      embedding_(*parameters_, "embedding", words_.size(), o.features) {
  if (o.layers > 64) fail("graph transform net", fmt::format("{} layers", o.layers), "at most 64");
  for (std::size_t l = 0; l < o.layers; ++l)
    layers_.emplace_back(*parameters_, "layer" + std::to_string(l),
                         MessagePassingOptions{o.features, o.features, 2, o.aggregation, o.layer_norm, o.activation});
  Parameters& p = *parameters_;
  head_weight_ = p.tensors()[p.add("head.weight", {o.features, num_edits()})].offset;
  head_bias_ = p.tensors()[p.add("head.bias", {num_edits()})].offset;
  embedding_.initialize(p, seed);
  for (const MessagePassingLayer& layer : layers_) layer.initialize(p, seed);
  const Random random(seed, Purpose::kInit);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(o.features)));
  for (std::size_t i = head_weight_; i < head_bias_; ++i) p.values()[i] = scale * random.normal(i);
}

std::span<const float> GraphTransformNet::encode(const TransformBatch& batch, TransformState& s,
                                                 const ThreadPool& pool) const {
  const std::size_t size = batch.symbols.size() * options_.features;
  s.hidden.resize(layers_.size() + 1);
  s.outputs.resize(layers_.size());
  s.layers.resize(layers_.size());
  s.hidden[0].resize(size);
  embedding_.lookup(*parameters_, batch.symbols, s.hidden[0], pool);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    s.outputs[l].resize(size);
    s.hidden[l + 1].resize(size);
    layers_[l].forward_batch(*parameters_, batch.graph, s.hidden[l], s.outputs[l], s.layers[l], pool);
    const float *before = s.hidden[l].data(), *added = s.outputs[l].data();
    float* after = s.hidden[l + 1].data();
    pool.for_chunks(size, kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) after[i] = before[i] + added[i];
    });
  }
  return s.hidden.back();
}

void GraphTransformNet::head(const TransformBatch& batch, TransformState& s, const ThreadPool& pool) const {
  const std::size_t nodes = batch.symbols.size(), edits = num_edits(), features = options_.features;
  encode(batch, s, pool);
  s.logits.resize(nodes * edits);
  s.packed.resize(packed_size(features, edits));
  const float* values = parameters_->values().data();
  pack_columns(values + head_weight_, features, edits, edits, 1, s.packed.data());
  pool.for_chunks(nodes, kHeadRows, 0.05 * static_cast<double>(edits * features), [&](Chunk c) {
    const Panel panel{&s.hidden.back()[c.begin * features], features, s.packed.data()};
    dense_rows(&panel, 1, features, c.end - c.begin, edits, &s.logits[c.begin * edits], edits);
    for (std::size_t v = c.begin; v < c.end; ++v)
      for (std::size_t e = 0; e < edits; ++e) s.logits[v * edits + e] += values[head_bias_ + e];
  });
}

std::vector<std::uint32_t> GraphTransformNet::predict_edits(const TransformBatch& batch, TransformState& s,
                                                            const ThreadPool& pool) const {
  head(batch, s, pool);
  std::vector<std::uint32_t> best(batch.symbols.size());
  for (std::size_t v = 0; v < best.size(); ++v) {
    const float* row = &s.logits[v * num_edits()];
    best[v] = static_cast<std::uint32_t>(std::max_element(row, row + num_edits()) - row);
  }
  return best;
}

std::vector<std::uint32_t> GraphTransformNet::predict_edits(const Expression& expression) const {
  const Expression* const one[] = {&expression};
  TransformState state;
  return predict_edits(make_batch(one, words_), state, one_thread());
}

Expression GraphTransformNet::transform(const Expression& expression) const {
  return apply_edits(expression, predict_edits(expression), words_);
}

std::vector<Expression> GraphTransformNet::rewrite(const Expression& expression, std::size_t most) const {
  std::vector<Expression> passes{expression};
  while (passes.size() <= most && !passes.back().nodes.empty()) {
    Expression next = transform(passes.back());
    if (to_text(next) == to_text(passes.back())) break;
    passes.push_back(std::move(next));
  }
  return passes;
}

std::vector<GraphTransformNet::Rewritten> GraphTransformNet::rewrite_all(std::span<const Expression> expressions,
                                                                         std::size_t most, bool share,
                                                                         const ThreadPool& pool) const {
  constexpr std::size_t kTogether = 32;
  std::vector<Rewritten> results(expressions.size());
  pool.for_chunks(expressions.size(), kTogether, 1e5, [&](Chunk c) {
    TransformState state;
    std::vector<std::size_t> open;
    for (std::size_t i = c.begin; i < c.end; ++i) {
      results[i] = {expressions[i], expressions[i]};
      open.push_back(i);
    }
    for (std::size_t pass = 0; pass < most && !open.empty(); ++pass) {
      std::vector<const Expression*> inputs;
      for (const std::size_t i : open) inputs.push_back(&results[i].last);
      const TransformBatch batch = make_batch(inputs, words_);
      const std::vector<std::uint32_t> edits = predict_edits(batch, state, one_thread());
      std::vector<std::size_t> still;
      for (std::size_t k = 0; k < open.size(); ++k) {
        Expression& last = results[open[k]].last;
        const std::size_t begin = batch.first_node[k], count = batch.first_node[k + 1] - begin;
        Expression next = apply_edits(last, std::span(edits).subspan(begin, count), words_);
        if (share) next = shared(next);
        const bool changed = to_text(next) != to_text(last);
        if (pass == 0) results[open[k]].once = next;
        last = std::move(next);
        if (changed && !last.nodes.empty()) still.push_back(open[k]);
      }
      open = std::move(still);
    }
  });
  return results;
}

// Sum of the cross-entropies; with `gradients` the logits become their gradients, times scale.
double GraphTransformNet::softmax(std::span<const std::uint32_t> edits, double scale, TransformState& s,
                                  bool gradients) const {
  const std::size_t n = num_edits();
  if (edits.size() * n != s.logits.size())
    fail("transform loss", fmt::format("{} edits", edits.size()), fmt::format("{}", s.logits.size() / n));
  double loss = 0;
  for (std::size_t v = 0; v < edits.size(); ++v) {
    float* row = &s.logits[v * n];
    if (edits[v] >= n) fail("transform loss", fmt::format("edit {}", edits[v]), fmt::format("below {}", n));
    const float most = *std::max_element(row, row + n), right = row[edits[v]];
    float sum = 0;
    for (std::size_t e = 0; e < n; ++e) {
      const float x = std::exp(row[e] - most);
      if (gradients) row[e] = x;
      sum += x;
    }
    loss += std::log(static_cast<double>(sum)) + static_cast<double>(most) - static_cast<double>(right);
    if (!gradients) continue;
    const float factor = static_cast<float>(scale) / sum;
    for (std::size_t e = 0; e < n; ++e) row[e] *= factor;
    row[edits[v]] -= static_cast<float>(scale);
  }
  return loss * scale;
}

double GraphTransformNet::loss(const TransformBatch& batch, std::span<const std::uint32_t> edits, double scale,
                               TransformState& s, const ThreadPool& pool) const {
  head(batch, s, pool);
  return softmax(edits, scale, s, false);
}

double GraphTransformNet::loss_and_gradients(const TransformBatch& batch, std::span<const std::uint32_t> edits,
                                             double scale, TransformState& s, std::span<float> gradients,
                                             const ThreadPool& pool) const {
  head(batch, s, pool);
  const double loss = softmax(edits, scale, s, true);
  const std::size_t nodes = batch.symbols.size(), n = num_edits(), features = options_.features;
  const float* h = s.hidden.back().data();
  for (std::size_t begin = 0; begin < nodes; begin += kHeadRows) {
    const std::size_t rows = std::min(kHeadRows, nodes - begin);
    outer_add(h + begin * features, features, features, &s.logits[begin * n], n, n, rows,
              gradients.data() + head_weight_);
    for (std::size_t v = begin; v < begin + rows; ++v)
      for (std::size_t e = 0; e < n; ++e) gradients[head_bias_ + e] += s.logits[v * n + e];
  }
  s.packed.resize(packed_size(n, features));
  pack_columns(parameters_->values().data() + head_weight_, n, features, 1, n, s.packed.data());
  s.dh.resize(nodes * features);
  s.dh_next.resize(nodes * features);
  pool.for_chunks(nodes, kHeadRows, 0.05 * static_cast<double>(n * features), [&](Chunk c) {
    const Panel panel{&s.logits[c.begin * n], n, s.packed.data()};
    dense_rows(&panel, 1, n, c.end - c.begin, features, &s.dh[c.begin * features], features);
  });
  for (std::size_t l = layers_.size(); l-- > 0;) {
    layers_[l].backward(*parameters_, batch.graph, s.hidden[l], s.outputs[l], s.dh, s.layers[l], gradients, s.dh_next,
                        pool);
    pool.for_chunks(s.dh.size(), kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) s.dh[i] += s.dh_next[i];
    });
  }
  embedding_.backward(batch.symbols, s.dh, gradients, pool);
  return loss;
}

void GraphTransformNet::step(float lr, const ThreadPool& pool) {
  float* w = parameters_->values().data();
  const float* g = parameters_->gradients().data();
  pool.for_chunks(parameters_->num_parameters(), kFlatChunk, 0.3, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) w[i] -= lr * g[i];
  });
}

}  // namespace espalier
