// The layer's tensors, its one-node reference and small matters; the passes over all nodes are in
// message_forward.cpp and message_backward.cpp.
#include "espalier/message_passing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/error.hpp"
#include "espalier/random.hpp"

namespace espalier {

Aggregation aggregation_named(std::string_view name) {
  if (name == "mean") return Aggregation::kMean;
  if (name == "sum") return Aggregation::kSum;
  if (name == "max") return Aggregation::kMax;
  fail("aggregation", fmt::format("\"{}\"", name), "mean, sum or max");
}

MessagePassingLayer::MessagePassingLayer(Parameters& p, const std::string& name, const MessagePassingOptions& o)
    : options_(o) {
  constexpr std::size_t kMaxFeatures = 1u << 16, kMaxRelations = 1u << 10;
  if (o.in == 0 || o.out == 0 || o.in > kMaxFeatures || o.out > kMaxFeatures)
    fail("message passing", fmt::format("{} -> {} features", o.in, o.out), "1 to 65536");
  if (o.relations == 0 || o.relations > kMaxRelations)
    fail("message passing", fmt::format("{} relations", o.relations), "1 to 1024");
  if (o.activation == Activation::kSigmoid) fail("message passing", "sigmoid", "linear, relu, leaky relu or tanh");
  first_offset_ = p.num_parameters();
  const auto add = [&](const char* part, std::vector<std::size_t> shape) {
    return p.tensors()[p.add(name + "." + part, std::move(shape))].offset;
  };
  self_ = add("self", {o.in, o.out});
  in_ = add("in", {o.relations, o.in, o.out});
  out_ = add("out", {o.relations, o.in, o.out});
  bias_ = add("bias", {o.out});
  if (o.layer_norm) {
    gain_ = add("gain", {o.out});
    shift_ = add("shift", {o.out});
  }
  size_ = p.num_parameters() - first_offset_;
}

void MessagePassingLayer::initialize(Parameters& p, std::uint64_t seed) const {
  const Random random(seed, Purpose::kInit);
  const double gain =
      options_.activation == Activation::kRelu || options_.activation == Activation::kLeakyRelu ? 2.0 : 1.0;
  const auto scale =
      static_cast<float>(std::sqrt(gain / static_cast<double>(options_.in * (1 + 2 * options_.relations))));
  for (std::size_t i = self_; i < bias_; ++i) p.values()[i] = scale * random.normal(i);
  std::fill_n(&p.values()[bias_], options_.out, 0.0f);
  if (!options_.layer_norm) return;
  std::fill_n(&p.values()[gain_], options_.out, 1.0f);
  std::fill_n(&p.values()[shift_], options_.out, 0.0f);
}

const float* MessagePassingLayer::panel(const Parameters& p, std::size_t index) const {
  const float* values = p.values().data();
  if (index == 0) return values + self_;
  const std::size_t side = index - 1;
  return values + (side % 2 == 0 ? in_ : out_) + side / 2 * options_.in * options_.out;
}

void MessagePassingLayer::check(const MessageGraph& graph, std::span<const float> h, std::size_t y_size) const {
  if (graph.num_relations() != options_.relations)
    fail("message passing", fmt::format("a graph of {} relations", graph.num_relations()),
         fmt::format("{}", options_.relations));
  if (h.size() != graph.num_nodes() * options_.in || y_size != graph.num_nodes() * options_.out)
    fail("message passing", fmt::format("{} and {} numbers", h.size(), y_size),
         fmt::format("{} nodes x {} and x {} features", graph.num_nodes(), options_.in, options_.out));
}

void MessagePassingLayer::forward(const Parameters& p, const MessageGraph& graph, std::span<const float> h,
                                  std::size_t node, std::span<float> out) const {
  const std::size_t in = options_.in;
  check(graph, h, graph.num_nodes() * options_.out);
  if (node >= graph.num_nodes() || out.size() != options_.out)
    fail("message passing", fmt::format("node {} and {} outputs", node, out.size()),
         fmt::format("a node below {} and {} outputs", graph.num_nodes(), options_.out));
  const auto add_product = [&](std::span<const float> x, const float* w) {
    for (std::size_t o = 0; o < options_.out; ++o)
      for (std::size_t i = 0; i < in; ++i) out[o] += x[i] * w[i * options_.out + o];
  };
  for (std::size_t o = 0; o < options_.out; ++o) out[o] = p.values()[bias_ + o];
  add_product(h.subspan(node * in, in), panel(p, 0));
  for (std::size_t s = 0; s < graph.sides().size(); ++s) {
    const MessageGraph::Side& side = graph.sides()[s];
    const auto neighbours = side.list.subspan(side.offsets[node], side.offsets[node + 1] - side.offsets[node]);
    std::vector<float> message(in);
    for (std::size_t k = 0; k < neighbours.size(); ++k)
      for (std::size_t i = 0; i < in; ++i) {
        const float x = h[neighbours[k] * in + i];
        if (options_.aggregation != Aggregation::kMax)
          message[i] += x;
        else if (k == 0 || x > message[i])
          message[i] = x;
      }
    if (options_.aggregation == Aggregation::kMean)
      for (float& m : message) m *= side.inverse_degree[node];
    add_product(message, panel(p, 1 + s));
  }
  if (options_.layer_norm) {
    float mean = 0, variance = 0;
    for (const float z : out) mean += z / static_cast<float>(out.size());
    for (const float z : out) variance += (z - mean) * (z - mean) / static_cast<float>(out.size());
    for (std::size_t o = 0; o < out.size(); ++o)
      out[o] =
          p.values()[gain_ + o] * (out[o] - mean) / std::sqrt(variance + kLayerNormEpsilon) + p.values()[shift_ + o];
  }
  for (float& z : out) {
    if (options_.activation == Activation::kRelu) z = std::max(z, 0.0f);
    if (options_.activation == Activation::kLeakyRelu) z = z > 0 ? z : kLeak * z;
    if (options_.activation == Activation::kTanh) z = std::tanh(z);
  }
}

double MessagePassingLayer::chunk_ns(const MessageGraph& graph) const {
  const auto panels = static_cast<double>(1 + 2 * options_.relations);
  const double rows = static_cast<double>(graph.num_nodes()) / static_cast<double>(graph.num_chunks());
  const double edges = 2.0 * static_cast<double>(graph.num_edges()) / static_cast<double>(graph.num_chunks());
  const auto in = static_cast<double>(options_.in), out = static_cast<double>(options_.out);
  return 0.03 * rows * panels * in * out + 0.2 * edges * in;
}

void MessagePassingLayer::zero_grad(Parameters& p, const ThreadPool& pool) const {
  const std::span<float> g = p.gradients().subspan(first_offset_, size_);
  pool.for_chunks(size_, kFlatChunk, 0.1,
                  [&](Chunk c) { std::fill(&g[c.begin], &g[c.begin] + (c.end - c.begin), 0.0f); });
}

void MessagePassingLayer::step(Parameters& p, float lr, const ThreadPool& pool) const {
  const std::span<float> w = p.values().subspan(first_offset_, size_), g = p.gradients().subspan(first_offset_, size_);
  pool.for_chunks(size_, kFlatChunk, 0.3, [&](Chunk c) {
    for (std::size_t i = c.begin; i < c.end; ++i) w[i] -= lr * g[i];
  });
}

}  // namespace espalier
