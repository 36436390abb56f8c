// Embedding, vocabulary and GraphTransformNet.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/arrays.hpp"
#include "base/clock.hpp"
#include "base/hash.hpp"
#include "espalier/error.hpp"
#include "espalier/fields.hpp"
#include "espalier/message_passing.hpp"
#include "espalier/optimizer.hpp"
#include "espalier/random.hpp"
#include "models/message/message_kernels.hpp"
#include "train/losses.hpp"

namespace espalier {
namespace {

constexpr std::size_t kHeadRows = kOuterRows;  // rows of a chunk

}  // namespace

Embedding::Embedding(Parameters& p, const std::string& name, std::size_t rows, std::size_t features)
    : rows_(rows), features_(features) {
  if (rows == 0 || features == 0 || rows > (std::size_t{1} << 31) / features)
    fail("embedding", fmt::format("{} rows x {}", rows, features), "1 or more of each, fewer than 2^31 numbers");
  tensor_ = p.add(name, {rows, features});
  offset_ = p.tensors()[tensor_].offset;
}

void Embedding::check_own(const Parameters& p) const {
  if (tensor_ >= p.tensors().size() || p.tensors()[tensor_].offset != offset_ ||
      p.tensors()[tensor_].size != rows_ * features_)
    fail("embedding", fmt::format("{} parameters", p.num_parameters()), "the Parameters it was made in");
}

void Embedding::freeze(Parameters& p, bool on) const {
  check_own(p);
  p.freeze(tensor_, on);
}

bool Embedding::frozen(const Parameters& p) const {
  check_own(p);
  return p.tensors()[tensor_].frozen;
}

void Embedding::initialize(Parameters& p, std::uint64_t seed) const {
  check_own(p);
  const Random random(seed, Purpose::kInit);
  for (std::size_t i = offset_; i < offset_ + rows_ * features_; ++i) p.values()[i] = random.normal(i);
}

// parameters: how long the flat array is that holds the rows; floats: what belongs to the symbols.
void Embedding::check(std::size_t parameters, std::span<const std::uint32_t> symbols, std::size_t floats) const {
  if (parameters < offset_ + rows_ * features_)
    fail("embedding", fmt::format("{} parameters", parameters), "the Parameters it was made in, or as many numbers");
  if (floats != symbols.size() * features_)
    fail("embedding", fmt::format("{} numbers", floats),
         fmt::format("{} symbols x {} features", symbols.size(), features_));
  for (const std::uint32_t s : symbols)
    if (s >= rows_) fail("embedding", fmt::format("symbol {}", s), fmt::format("0 to {}", rows_ - 1));
}

void Embedding::lookup(const Parameters& p, std::span<const std::uint32_t> symbols, std::span<float> out,
                       const ThreadPool& pool) const {
  check_own(p);
  check(p.num_parameters(), symbols, out.size());
  refuse_overlap("embedding", out, {p.values()});
  const float* table = p.values().data() + offset_;
  pool.for_chunks(symbols.size(), 256, 0.1 * static_cast<double>(features_), [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i)
      std::copy_n(table + symbols[i] * features_, features_, &out[i * features_]);
  });
}

void Embedding::backward(const Parameters& p, std::span<const std::uint32_t> symbols, std::span<const float> dout,
                         std::span<float> gradients, const ThreadPool& pool) const {
  check_own(p);
  check(gradients.size(), symbols, dout.size());
  refuse_overlap("embedding", gradients, {dout, p.values()});
  if (frozen(p) || symbols.empty()) return;
  // Places sorted by symbol: each row has one owner.
  std::vector<std::uint32_t> starts(rows_ + 1), places(symbols.size());
  for (const std::uint32_t s : symbols) ++starts[s + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (std::uint32_t i = 0; i < symbols.size(); ++i) places[next[symbols[i]]++] = i;
  const double row_ns = 0.1 * static_cast<double>(symbols.size() * features_) / static_cast<double>(rows_);
  pool.for_chunks(rows_, 1, row_ns, [&](Chunk c) {
    float* row = gradients.data() + offset_ + c.index * features_;
    for (std::uint32_t k = starts[c.index]; k < starts[c.index + 1]; ++k) {
      const float* from = &dout[places[k] * features_];
      for (std::size_t f = 0; f < features_; ++f) row[f] += from[f];
    }
  });
}

void Embedding::check_rows(const Parameters& p, std::span<const std::uint32_t> symbols,
                           std::span<const float> samples) const {
  std::vector<float> rows(symbols.size() * features_);
  lookup(p, symbols, rows);
  if (!std::ranges::equal(rows, samples))
    fail("embedding", "symbols whose rows are not the samples of the forward pass", "those that it looked up",
         "another forward pass may have followed it, or the rows have changed");
}

void Embedding::zero_grad(Parameters& p, const ThreadPool& pool) const {
  check_own(p);
  float* g = p.gradients().data() + offset_;
  pool.for_chunks(rows_ * features_, kFlatChunk, 0.1, [&](Chunk c) { std::fill(g + c.begin, g + c.end, 0.0f); });
}

void Embedding::step(Parameters& p, float lr, const ThreadPool& pool) const {
  check_own(p);
  sgd_step(p, offset_, offset_ + rows_ * features_, lr, pool);
}

std::uint32_t Embedding::row_of_code_point(std::uint32_t x, std::size_t rows) {
  if (rows == 0 || rows > (std::size_t{1} << 32)) fail("embedding", fmt::format("{} rows", rows), "1 to 2^32");
  x ^= x >> 16;
  x *= 0x85ebca6b;
  x ^= x >> 13;
  x *= 0xc2b2ae35;
  x ^= x >> 16;
  return static_cast<std::uint32_t>(std::uint64_t{x} * rows >> 32);
}

Vocabulary::Vocabulary(std::vector<std::string> labels) : labels_(std::move(labels)) {
  for (std::size_t i = 0; i < labels_.size(); ++i)
    if (!numbers_.emplace(labels_[i], static_cast<std::uint32_t>(i)).second)
      fail("vocabulary", fmt::format("\"{}\" twice", labels_[i]), "every label once");
}

const std::string& Vocabulary::label(std::size_t number) const {
  if (number >= labels_.size())
    fail("vocabulary", fmt::format("label {}", number), fmt::format("one of {}", labels_.size()));
  return labels_[number];
}

std::uint32_t Vocabulary::number(const std::string& label) const {
  const auto found = numbers_.find(label);
  if (found == numbers_.end())
    fail("vocabulary", fmt::format("\"{}\"", label), fmt::format("one of {}", fmt::join(labels_, " ")),
         "the model never saw this label");
  return found->second;
}

Fields fields_of(TransformOptions& o) {
  Fields f;
  f.add("features", o.features, "width of the hidden layers", 1, 4096);
  f.add("layers", o.layers, "message-passing layers: how far a node sees", 0, 64);
  f.add("aggregation", o.aggregation, "how messages are combined", {"mean", "sum", "max"});
  f.add("norm",
        {[&o] { return o.layer_norm ? "layer" : "none"; },
         [&o](const std::string& value) { o.layer_norm = value == "layer"; }},
        "normalisation", {"layer", "none"});
  f.add("activation",
        {[&o] { return std::string(name_of(o.activation)); },
         [&o](const std::string& value) { o.activation = activation_named(value); }},
        "activation", {"linear", "relu", "leaky-relu", "tanh"});
  return f;
}

GraphTransformNet::GraphTransformNet(Vocabulary node_labels, Vocabulary edge_labels, std::size_t num_edits,
                                     const TransformOptions& o, std::uint64_t seed)
    : words_(std::move(node_labels)),
      edge_labels_(std::move(edge_labels)),
      num_edits_(num_edits),
      options_(o),
      embedding_(parameters_, "embedding", words_.size(), o.features) {
  constexpr std::size_t kMaxEdits = 1u << 20;
  if (o.layers > 64) fail("graph transform net", fmt::format("{} layers", o.layers), "at most 64");
  if (num_edits == 0 || num_edits > kMaxEdits)
    fail("graph transform net", fmt::format("{} edits", num_edits), fmt::format("1 to {}", kMaxEdits));
  if (edge_labels_.size() == 0) fail("graph transform net", "no edge label", "one or more; an empty text is one too");
  Hasher hash;
  for (const Vocabulary* labels : {&words_, &edge_labels_}) {
    const std::size_t count = labels->size();
    hash.add(&count, sizeof count);
    for (const std::string& label : labels->labels()) {
      const std::size_t length = label.size();
      hash.add(&length, sizeof length).add(label);
    }
  }
  labels_ = hash.number();
  Parameters& p = parameters_;
  for (std::size_t l = 0; l < o.layers; ++l)
    layers_.emplace_back(
        p, "layer" + std::to_string(l),
        MessagePassingOptions{o.features, o.features, edge_labels_.size(), o.aggregation, o.layer_norm, o.activation});
  head_weight_ = p.tensors()[p.add("head.weight", {o.features, num_edits})].offset;
  head_bias_ = p.tensors()[p.add("head.bias", {num_edits})].offset;
  embedding_.initialize(p, seed);
  for (const MessagePassingLayer& layer : layers_) layer.initialize(p, seed);
  const Random random(seed, Purpose::kInit);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(o.features)));
  for (std::size_t i = head_weight_; i < head_bias_; ++i) p.values()[i] = scale * random.normal(i);
}

void GraphTransformNet::check_labels(std::uint64_t labels) const {
  if (labels != labels_)
    fail("graph transform net", "graphs made ready for a net with other labels, or for none", "those of this net",
         "call batch() of the net that they are for");
}

NumberedGraph GraphTransformNet::number(const LabelledGraph& graph) const {
  graph.check();
  NumberedGraph numbered;
  numbered.labels = labels_;
  for (const std::string& label : graph.labels) numbered.symbols.push_back(words_.number(label));
  for (const LabelledEdge& e : graph.edges) {
    const std::uint32_t relation = edge_labels_.number(e.label);
    numbered.edges.push_back({e.from, e.to, relation});
    if (!graph.directed && e.from != e.to) numbered.edges.push_back({e.to, e.from, relation});
  }
  return numbered;
}

TransformBatch GraphTransformNet::batch(std::span<const LabelledGraph> graphs) const {
  std::vector<NumberedGraph> numbered;
  for (const LabelledGraph& g : graphs) numbered.push_back(number(g));
  std::vector<const NumberedGraph*> pointers;
  for (const NumberedGraph& g : numbered) pointers.push_back(&g);
  return batch(pointers);
}

TransformBatch GraphTransformNet::batch(std::span<const NumberedGraph* const> graphs) const {
  std::vector<std::uint32_t> symbols, first_node{0};
  std::vector<std::vector<Edge>> edges(edge_labels_.size());
  for (const NumberedGraph* g : graphs) {
    if (!g) fail("graph batch", "a pointer to no graph", "graphs");
    check_labels(g->labels);
    const std::uint32_t base = first_node.back();
    const std::size_t nodes = g->symbols.size();
    symbols.insert(symbols.end(), g->symbols.begin(), g->symbols.end());
    for (const NumberedGraph::Arc& e : g->edges) {
      if (e.relation >= edges.size() || e.from >= nodes || e.to >= nodes)
        fail("graph batch", fmt::format("an edge from {} to {} of kind {}", e.from, e.to, e.relation),
             fmt::format("nodes below {} and kinds below {}", nodes, edges.size()));
      edges[e.relation].push_back({base + e.from, base + e.to});
    }
    first_node.push_back(static_cast<std::uint32_t>(symbols.size()));
  }
  std::vector<Graph> relations;
  for (const std::vector<Edge>& list : edges) relations.emplace_back(symbols.size(), list);
  return {std::move(symbols), std::move(first_node), MessageGraph(std::move(relations)), labels_};
}

std::span<const float> GraphTransformNet::encode(const TransformBatch& batch, TransformState& s,
                                                 const ThreadPool& pool) const {
  check_labels(batch.labels);
  if (batch.graph.num_relations() != edge_labels_.size())
    fail("graph transform net", fmt::format("a graph of {} relations", batch.graph.num_relations()),
         fmt::format("{}, one for each edge label", edge_labels_.size()));
  if (batch.symbols.size() != batch.graph.num_nodes())
    fail("graph transform net", fmt::format("{} symbols", batch.symbols.size()),
         fmt::format("one for each of {} nodes", batch.graph.num_nodes()));
  const std::size_t size = batch.symbols.size() * options_.features;
  s.hidden.resize(layers_.size() + 1);
  s.outputs.resize(layers_.size());
  s.tapes.resize(layers_.size());
  s.hidden[0].resize(size);
  embedding_.lookup(parameters_, batch.symbols, s.hidden[0], pool);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    s.outputs[l].resize(size);
    s.hidden[l + 1].resize(size);
    layers_[l].run_forward(parameters_, batch.graph, s.hidden[l], s.outputs[l], s.tapes[l], pool);
    const float *before = s.hidden[l].data(), *added = s.outputs[l].data();
    float* after = s.hidden[l + 1].data();
    pool.for_chunks(size, kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) after[i] = before[i] + added[i];
    });
  }
  return s.hidden.back();
}

void GraphTransformNet::head(const TransformBatch& batch, TransformState& s, const ThreadPool& pool) const {
  const std::size_t nodes = batch.symbols.size(), edits = num_edits_, features = options_.features;
  encode(batch, s, pool);
  s.logits.resize(nodes * edits);
  s.packed.resize(packed_size(features, edits));
  const float* values = parameters_.values().data();
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
    const float* row = &s.logits[v * num_edits_];
    best[v] = static_cast<std::uint32_t>(std::max_element(row, row + num_edits_) - row);
  }
  return best;
}

// Sum of the cross-entropies; with `gradients` the logits become their gradients, times scale.
double GraphTransformNet::softmax(std::span<const std::uint32_t> edits, double scale, TransformState& s,
                                  bool gradients) const {
  const std::size_t n = num_edits_;
  if (!std::isfinite(scale)) fail("transform loss", fmt::format("a scale of {}", scale), "a finite number");
  if (edits.size() * n != s.logits.size())
    fail("transform loss", fmt::format("{} edits", edits.size()),
         fmt::format("{}, one for each node", s.logits.size() / n));
  double loss = 0;
  for (std::size_t v = 0; v < edits.size(); ++v) {
    float* row = &s.logits[v * n];
    if (edits[v] >= n) fail("transform loss", fmt::format("edit {}", edits[v]), fmt::format("0 to {}", n - 1));
    loss += cross_entropy_in_floats({row, n}, edits[v], static_cast<float>(scale), gradients ? row : nullptr);
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
  if (gradients.size() != parameters_.num_parameters())
    fail("transform loss", fmt::format("room for {} gradients", gradients.size()),
         fmt::format("{}", parameters_.num_parameters()));
  refuse_overlap("transform loss", gradients, {parameters_.values()});
  const double start = seconds_now();
  head(batch, s, pool);
  const double loss = softmax(edits, scale, s, true);
  const double middle = seconds_now();
  const std::size_t nodes = batch.symbols.size(), n = num_edits_, features = options_.features;
  const float* h = s.hidden.back().data();
  for (std::size_t begin = 0; begin < nodes; begin += kHeadRows) {
    const std::size_t rows = std::min(kHeadRows, nodes - begin);
    outer_add(h + begin * features, features, features, &s.logits[begin * n], n, n, rows,
              gradients.data() + head_weight_);
    for (std::size_t v = begin; v < begin + rows; ++v)
      for (std::size_t e = 0; e < n; ++e) gradients[head_bias_ + e] += s.logits[v * n + e];
  }
  s.packed.resize(packed_size(n, features));
  pack_columns(parameters_.values().data() + head_weight_, n, features, 1, n, s.packed.data());
  s.dh.resize(nodes * features);
  s.dh_next.resize(nodes * features);
  pool.for_chunks(nodes, kHeadRows, 0.05 * static_cast<double>(n * features), [&](Chunk c) {
    const Panel panel{&s.logits[c.begin * n], n, s.packed.data()};
    dense_rows(&panel, 1, n, c.end - c.begin, features, &s.dh[c.begin * features], features);
  });
  for (std::size_t l = layers_.size(); l-- > 0;) {
    layers_[l].run_backward(parameters_, batch.graph, s.hidden[l], s.outputs[l], s.dh, s.tapes[l], gradients, s.dh_next,
                            pool);
    pool.for_chunks(s.dh.size(), kFlatChunk, 0.2, [&](Chunk c) {
      for (std::size_t i = c.begin; i < c.end; ++i) s.dh[i] += s.dh_next[i];
    });
  }
  embedding_.backward(parameters_, batch.symbols, s.dh, gradients, pool);
  s.forward_seconds = middle - start;
  s.backward_seconds = seconds_now() - middle;
  return loss;
}

void GraphTransformNet::step(float lr, const ThreadPool& pool) { sgd_step(parameters_, lr, pool); }

}  // namespace espalier
